import { resolve } from 'node:path'
import {
  BASE_SEQUENCER_FEED,
  BASE_TOKENS,
  type KnownToken,
} from '../../../../chain/base-contracts.ts'
import type { Mode } from '../../../../domain/settings.ts'
import { shellWord } from '../../../../domain/text/shell-word.ts'
import { type KindName, kindNamed } from '../../../../strategies/registry.ts'
import { SCHEMAS } from '../../../../strategies/schemas.ts'
import type { Answers, Read } from './init-answers.ts'
import type { LiveAnswers } from './live-answers.ts'

/** The config with the given answers in the places of the example's values. */
export function withAnswers(text: string, answers: LiveAnswers): Read<string> {
  const { rpc, service, spender, perOrder, perDay } = answers
  const names = (answers.tokens ?? '').split(/[\s,]+/).filter((name) => name !== '')
  const known = (name: string) =>
    BASE_TOKENS.find(({ symbol }) => symbol.toLowerCase() === name.toLowerCase())
  const strange = names.find((name) => known(name) === undefined)
  if (strange !== undefined) {
    const all = BASE_TOKENS.map(({ symbol }) => symbol).join(', ')
    return { ok: false, text: `no address of ${strange} is known here; expected some of: ${all}` }
  }
  const tokens = BASE_TOKENS.filter(
    (each) => names.some((name) => known(name) === each) && !text.includes(`${each.address}"`),
  )
  const edits: readonly (readonly [from: string, to: string | undefined])[] = [
    [quoted('BASE_RPC_URL'), rpc && JSON.stringify(rpc)],
    [quoted('GASLESS_URL'), service && JSON.stringify(service)],
    [quoted('GASLESS_SPENDER'), spender && JSON.stringify(spender)],
    ['perOrder: { USDC: "250" }', perOrder && `perOrder: { USDC: ${JSON.stringify(perOrder)} }`],
    ['perDay: { USDC: "1000" }', perDay && `perDay: { USDC: ${JSON.stringify(perDay)} }`],
    ...['\n\n# An independent price', '\n\n# Caps over all'].map((from, index) => {
      const lines = tokens.map(index === 0 ? tokenLine : priceLine)
      return [from, lines.length === 0 ? undefined : `\n${lines.join('\n')}${from}`] as const
    }),
  ]
  const edit = (so: string, [from, to]: (typeof edits)[number]) => {
    if (!so.includes(from)) throw new Error(`the shipped example has no ${from}`)
    return to === undefined ? so : so.replace(from, () => to)
  }
  return { ok: true, value: edits.reduce(edit, text) }
}

const quoted = (variable: string) => `"\${${variable}}"`

function tokenLine({ symbol, address, decimals }: KnownToken): string {
  return `  ${symbol}: { chain: base, address: "${address}", decimals: ${decimals} }`
}

function priceLine({ symbol, feed, maxAge }: KnownToken): string {
  const terms = `chain: base, maxAge: ${maxAge}, sequencerFeed: "${BASE_SEQUENCER_FEED}"`
  return `  ${symbol}/USDC: { feed: "${feed}", ${terms} }`
}

export type Content = { readonly to: string; readonly text: string }

type ReadShipped = (path: string) => Promise<string>

const SAME = [
  'config/sandbox.yaml',
  'config/schema/config.json',
  'config/schema/strategy.json',
  'config/schema/sandbox-settings.json',
  'strategies/modules/buy-below-average.mjs',
  'strategies/modules/tranched.d.ts',
  'strategies/modules/jsconfig.json',
  'ecosystem.config.cjs',
]

const EXAMPLE_CONFIG = 'config/live.example.yaml'
const CALLS_CONFIG = 'config/calls.example.yaml'

/** Calls alone are decided by the calendar. */
export function makesCallsOf(kind: KindName): boolean {
  return kindNamed(kind).decision.by === 'calendar'
}

/** Whether the config gets no swap service. On paper, both services are shown. */
export function isForCalls({ kinds, mode }: Pick<Answers, 'kinds' | 'mode'>): boolean {
  return mode === 'live' && kinds.length > 0 && kinds.every(makesCallsOf)
}

type Edit = readonly [from: RegExp, to: string]

const CONFIG_EDITS: Readonly<Record<Exclude<Mode, 'sandbox'>, readonly Edit[]>> = {
  live: [
    [/^(# A config for real trading\.) Copy it, fill in the values/m, '$1 Fill in the values'],
    [/--config your\.yaml {5}/g, '--config config/live.yaml  '],
  ],
  'dry-run': [
    [
      /^# A config for real trading\. Copy it, fill in the values/m,
      '# A config for trading on paper. Fill in the values',
    ],
    [/--config your\.yaml {5}/g, '--config config/dry-run.yaml  '],
    [
      /^# Write `mode: dry-run` for paper trading: [\s\S]*?^mode: live$/m,
      [
        '# Real quotes are requested and checked as if for signing, but nothing is ever signed. `tranched init --mode live` writes',
        '# the config for real money beside this one.',
        'mode: dry-run',
        'paper: { USDC: "5000", WETH: "1" } # starting balances on paper, whatever the wallet holds',
      ].join('\n'),
    ],
    [/^stateDir: \.\.\/data\/live$/m, 'stateDir: ../data/dry-run'],
  ],
}

const OFF: Edit = [
  /^enabled: true\b.*$/m,
  'enabled: false # set to true once you have checked the file',
]
const ON: Edit = [
  /^enabled: false\b.*$/m,
  'enabled: true # on paper. With `mode: live` this trades real money',
]

/** All files that `init` writes for these answers except `.gitignore`, in report order. */
export async function contentsOf(
  answers: Answers,
  shipped: ReadShipped,
  live: LiveAnswers = {},
): Promise<readonly Content[]> {
  const { kinds, mode } = answers
  const found = mode === 'sandbox' ? undefined : await besideConfig({ kinds, mode }, shipped)
  const isFilled = found !== undefined && !isForCalls(answers)
  const text = isFilled ? withAnswers(found.text, live) : undefined
  const beside = found && { to: found.to, text: text?.ok ? text.value : found.text }
  const fast = await Promise.all(
    kinds.map(async (kind) => {
      const to = `strategies/sandbox/${SCHEMAS[kind].examples.fast}.yaml`
      return { to, text: await shipped(to) }
    }),
  )
  const { amount } = live
  const slowKinds = mode === 'sandbox' ? [] : kinds
  const slow = await Promise.all(
    slowKinds.map((kind) => slowStrategy(kind, { mode, shipped, amount })),
  )
  const same = await Promise.all(SAME.map(async (to) => ({ to, text: await shipped(to) })))
  const variables = variablesOf(beside?.text ?? '')
  const wallet = isForCalls(answers) ? 'operator' : 'trader'
  const readme = folderReadme(beside && { config: beside.to, variables, wallet })
  return [...(beside ? [beside] : []), ...slow, ...fast, ...same, { to: 'README.md', text: readme }]
}

export async function besideConfig(
  { kinds, mode }: Pick<Answers, 'kinds'> & { readonly mode: Exclude<Mode, 'sandbox'> },
  shipped: ReadShipped,
): Promise<Content> {
  const text = await shipped(isForCalls({ kinds, mode }) ? CALLS_CONFIG : EXAMPLE_CONFIG)
  return { to: `config/${mode}.yaml`, text: CONFIG_EDITS[mode].reduce(edited, text) }
}

/** Disabled if it would trade real money, or must be completed first. */
async function slowStrategy(
  kind: KindName,
  given: {
    readonly mode: Mode
    readonly shipped: ReadShipped
    readonly amount: string | undefined
  },
): Promise<Content> {
  const { mode, shipped, amount } = given
  const { slow, runsAsIs } = SCHEMAS[kind].examples
  const to = `strategies/${slow}.yaml`
  const example = await shipped(to)
  const text =
    amount === undefined
      ? example
      : example
          .replace(/^amount: "25"/m, `amount: "${amount}"`)
          .replaceAll('25 USDC', `${amount} USDC`)
  const isOn = mode === 'dry-run' && runsAsIs
  const edit = isOn ? ON : OFF
  return { to, text: edit[0].test(text) ? edited(text, edit) : text }
}

function edited(text: string, [from, to]: Edit): string {
  if (text.search(from) < 0) throw new Error(`the shipped example has no ${from}`)
  return text.replace(from, to)
}

/** Lines to type verbatim, and the text above them. Lines have no comments, because not every shell accepts them. */
export type Steps = { readonly said: readonly string[]; readonly lines: readonly string[] }

export function sandboxSteps(program: string): Steps {
  return {
    said: [
      'In the sandbox, which needs no key and no network. `run` trades within seconds, Ctrl-C stops it, and `report` shows the result:',
    ],
    lines: ['validate', 'run', 'report'].map((command) => `${program} ${command}`),
  }
}

/** The config beside the sandbox's, its environment variables, and the wallet whose key it needs. */
export type BesideConfig = {
  readonly config: string
  readonly variables: readonly string[]
  readonly wallet: string
}

/** Steps before a run with the config beside the sandbox's. */
export function configSteps(program: string, { config, variables, wallet }: BesideConfig): Steps {
  const password = `keys/${wallet}.pass`
  return {
    said: [
      `With ${config}, once it is filled in.`,
      ...(variables.length === 0 ? [] : [`It reads ${listed(variables)} from the environment.`]),
      'The first line creates a password and the second a key; `validate` lists what is missing, `doctor` checks chains and services:',
    ],
    lines: [
      // `set -C` protects existing files: a keystore is lost without its password.
      `(umask 077; set -C; head -c 24 /dev/urandom | base64 > ${password})`,
      `${program} wallet new --out keys/${wallet}.json --password-file ${password}`,
      `${program} validate --config ${config}`,
      `${program} doctor --config ${config}`,
    ],
  }
}

/** Enters the folder; empty if it is the working directory. */
export function cdLines(dir: string, workingDirectory: string): readonly string[] {
  if (resolve(workingDirectory, dir) === resolve(workingDirectory)) return []
  return [`cd ${shellWord(dir.startsWith('-') ? `./${dir}` : dir)}`]
}

/** Environment variables that a config reads, except in comments. */
export function variablesOf(text: string): readonly string[] {
  const stated = text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .map((line) => line.replace(/ # .*$/, ''))
    .join('\n')
  return [...new Set([...stated.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name))]
}

function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

const PROGRAM = 'tranched'

const HEADING = `# A folder for tranched

If the program is not on the \`PATH\`, \`tranched\` stands for \`npx tranched\`, or for \`node\` and the path of its
\`dist/tranched.js\`.`

const MORE = `## More

\`tranched plan\` shows what each strategy would do now, \`tranched run\` starts the daemon, \`tranched --help\` lists all commands;
each takes \`--config FILE\`. \`tranched init\` adds other kinds and another config to this folder, and keeps what is here.
The package's documentation explains the rest: \`docs/strategies.md\` every field, \`docs/operate.md\` how to keep it running.`

const BESIDE: Readonly<Record<string, string>> = {
  'config/live.yaml': 'real money. Its strategies are `enabled: false` until you turn them on',
  'config/dry-run.yaml': 'real prices and quotes on paper; it signs nothing',
}

/** The folder's README. `beside` is the config beside the sandbox's, with its environment variables. */
function folderReadme(beside: BesideConfig | undefined): string {
  const config = beside?.config
  const parts = [
    HEADING,
    tableOf(config),
    section('The sandbox', sandboxSteps(PROGRAM)),
    ...(beside === undefined ? [] : [section(beside.config, configSteps(PROGRAM, beside))]),
    MORE,
  ]
  return `${parts.join('\n\n')}\n`
}

function section(title: string, { said, lines }: Steps): string {
  return [`## ${title}`, '', ...said, '', ...lines.map((line) => `    ${line}`)].join('\n')
}

function tableOf(config: string | undefined): string {
  type Row = readonly [path: string, is: string]
  const its: Row = ['strategies/', `the strategies of \`${config}\`, one per file`]
  const rows: readonly Row[] = [
    ...(config === undefined ? [] : [[config, BESIDE[config] ?? ''] as const, its]),
    [
      'config/sandbox.yaml',
      'play money: chains and services on this machine. Commands use it by default',
    ],
    ['strategies/sandbox/', 'its strategies; they trade every few seconds'],
    [
      'strategies/modules/',
      'modules that decide for `kind: custom`: an example, `tranched.d.ts` with the types, `jsconfig.json` for editors',
    ],
    ['config/schema/', 'schemas for editors with a YAML language server'],
    ['ecosystem.config.cjs', 'for pm2: `npx pm2 start ecosystem.config.cjs`'],
    [
      'keys/',
      'keystores and passwords. Back them up, and commit none: `.gitignore` keeps them out',
    ],
    ['data/', 'the state of each daemon, created by its first run'],
  ]
  return [
    '| path | is |',
    '|---|---|',
    ...rows.map(([path, is]) => `| \`${path}\` | ${is} |`),
  ].join('\n')
}
