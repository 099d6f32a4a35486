import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listDiskFiles, readDiskFile, readText } from '../../../config/yaml/yaml-files.ts'
import type { InitData } from '../../json/author-outputs.ts'
import { type ExitCode, type Given, type Io, print } from '../../process/io.ts'
import { programName } from '../../process/program-name.ts'
import { misused } from '../../process/refusal.ts'
import {
  besideConfig,
  type Content,
  cdLines,
  configSteps,
  contentsOf,
  isForCalls,
  makesCallsOf,
  type Steps,
  sandboxSteps,
  variablesOf,
  withAnswers,
} from './init/contents.ts'
import { type AnswerFlags, type Answers, gatherAnswers } from './init/init-answers.ts'
import { gatherLive, LIVE_FLAGS, type LiveAnswers } from './init/live-answers.ts'
import { type Written, writeFolder } from './init/write-files.ts'

export type InitOptions = AnswerFlags & LiveAnswers & { readonly force?: boolean }

/** `tranched init`: writes a starter folder. On a terminal asks for answers that flags do not give. Keeps existing files. */
export async function init(options: InitOptions, io: Io): Promise<ExitCode> {
  const answered = await gatherAnswers(options, io)
  if (!answered.ok) throw misused(answered.text)
  const { value: answers } = answered
  const root = packageRoot()
  const shipped = async (path: string) => {
    const text = await readFile(join(root, path), 'utf8')
    return path === ECOSYSTEM ? withProgram(text, join(root, 'dist/tranched.js')) : text
  }
  const live = answers.mode === 'live' ? await liveAnswersOf(options, answers, { shipped, io }) : {}
  const contents = await contentsOf(answers, shipped, live)
  const dir = resolve(answers.dir)
  const done = await writeFolder(dir, contents, { force: options.force === true })
  const on = answers.mode === 'live' ? strategiesThatAreOn(dir) : []
  const given = { dir, contents, program: programName(io, dir) }
  const missing = missingOf(answers, given)
  const steps = stepsOf(answers, given)
  const data: Given<InitData> = {
    dir,
    written: done.written,
    kept: done.kept.map(({ file }) => file),
    saved: done.saved,
    appended: done.appended ?? [],
    on,
    next: steps.flatMap(({ lines }) => lines),
    missing,
  }
  return print<InitData>(io, options, data, () => [
    `in ${dir}:`,
    ...outcomeLines(done),
    ...on.map((file) => `  on     ${file}: config/live.yaml trades it with real money`),
    ...steps.flatMap(({ said, lines }) => ['', ...said, '', ...lines.map((line) => `    ${line}`)]),
    ...(missing.length === 0 ? [] : ['', 'Still missing, each with the command that checks it:']),
    ...missing.flatMap(({ what, check }) => [`- ${what}:`, `    ${check}`]),
  ])
}

const ECOSYSTEM = 'ecosystem.config.cjs'

/** Names the program for a folder whose PATH has none, such as one made from a clone. */
function withProgram(ecosystem: string, program: string): string {
  return ecosystem.replace('const madeBy = undefined', `const madeBy = ${JSON.stringify(program)}`)
}

/** With `yes` or `json` only flags count. */
async function liveAnswersOf(
  options: InitOptions,
  answers: Answers,
  { shipped, io }: { readonly shipped: (path: string) => Promise<string>; readonly io: Io },
): Promise<LiveAnswers> {
  if (isForCalls(answers)) {
    const given = LIVE_FLAGS.find((name) => options[name] !== undefined)
    if (given === undefined) return {}
    throw misused(`flag --${given}: only swaps need it; fill in config/live.yaml for calls`)
  }
  const { text } = await besideConfig({ kinds: answers.kinds, mode: 'live' }, shipped)
  const mayAsk = options.yes !== true && options.json !== true
  const found = await gatherLive(options, {
    ask: mayAsk ? io.ask : async () => undefined,
    env: io.env,
    say: (line) => void io.stderr.write(`${line}\n`),
    config: (answers) => withAnswers(text, answers),
  })
  if (!found.ok) throw misused(found.text)
  return found.value
}

const VARIABLES: Readonly<Record<string, string>> = {
  BASE_RPC_URL: 'a node of Base',
  GASLESS_URL: "the swap service's URL, from its operator",
  GASLESS_SPENDER: "the service's settlement spender, from its operator",
  ETHEREUM_RPC_URL: 'a node of Ethereum',
  AGGREGATOR_RPC_URL: "the aggregation service's URL, from its operator",
}

/** What calls need, and the command that checks it; see docs/calls.md. */
const CALL_NEEDS = [
  ['the contract to call, under `aggregator.targets`', 'validate'],
  ['ether, and with it a GasTank deposit, of the calling wallet', 'gastank status'],
  ['its delegation to the proposer', 'delegation status'],
] as const
const AGGREGATOR_NEED = [
  '`aggregator` in the config, with its chain, its contracts and a wallet of its own',
  'gastank status',
] as const

type Made = {
  readonly dir: string
  readonly contents: readonly Content[]
  readonly program: string
}

/** What a first order still needs. */
function missingOf(
  { mode, kinds }: Answers,
  { dir, contents, program }: Made,
): Given<InitData>['missing'] {
  if (mode === 'sandbox') return []
  const config = `config/${mode}.yaml`
  const text = contents.find(({ to }) => to === config)?.text ?? ''
  const run = (command: string) => `${program} ${command} --config ${config}`
  const contract = 'a contract that the service publishes'
  const variables = variablesOf(text).map((name) => ({
    what: `${name}, ${VARIABLES[name] ?? contract}`,
    check: run('doctor'),
  }))
  const onlyCalls = isForCalls({ mode, kinds })
  const keyFile = `keys/${onlyCalls ? 'operator' : 'trader'}.json`
  const key = { what: `${keyFile}, the wallet`, check: run('validate') }
  const needs = [...(onlyCalls ? [] : [AGGREGATOR_NEED]), ...CALL_NEEDS]
  const rest = [
    ...(onlyCalls
      ? []
      : [
          { what: 'ether for gas and tokens to sell, in the wallet on Base', check: run('doctor') },
        ]),
    ...(kinds.some(makesCallsOf)
      ? needs.map(([what, check]) => ({ what, check: run(check) }))
      : []),
    { what: '`enabled: true` in a strategy', check: run('plan') },
  ]
  const hasKey = existsSync(join(dir, keyFile))
  return [...variables, ...(hasKey ? [] : [key]), ...(mode === 'live' ? rest : [])]
}

/**
 * Kept strategies that a live config in this folder would trade; `init` writes its own as disabled. Reads only the text, so
 * that a mistake in a file hides nothing.
 */
function strategiesThatAreOn(dir: string): readonly string[] {
  const names = listDiskFiles(join(dir, 'strategies')).toSorted()
  const files = names.filter((name) => /^[^.].*\.ya?ml$/.test(name))
  return files
    .map((name) => `strategies/${name}`)
    .filter((file) => {
      // An unreadable file counts as enabled.
      const read = readText(join(dir, file), readDiskFile)
      return !read.ok || !/^enabled: +false\b/m.test(read.text)
    })
}

function outcomeLines({ written, kept, saved, appended }: Written): readonly string[] {
  return [
    ...written.map((file) => `  wrote  ${file}`),
    ...kept.map(({ file, why }) => `  kept   ${file} (${why})`),
    ...saved.map((file) => `  saved  ${file}, as it was before`),
    ...(appended === undefined ? [] : [`  added  to .gitignore: ${appended.join(' ')}`]),
  ]
}

function stepsOf({ dir, mode, kinds }: Answers, { contents, program }: Made): readonly Steps[] {
  const first = sandboxSteps(program)
  const rehearsal = { ...first, lines: [...cdLines(dir, process.cwd()), ...first.lines] }
  const config = `config/${mode}.yaml`
  const variables = variablesOf(contents.find(({ to }) => to === config)?.text ?? '')
  const wallet = isForCalls({ mode, kinds }) ? 'operator' : 'trader'
  return mode === 'sandbox'
    ? [rehearsal]
    : [rehearsal, configSteps(program, { config, variables, wallet })]
}

/** The directory of this package, found from its sources or from the bundle. */
function packageRoot(): string {
  let dir = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(dir, ECOSYSTEM))) {
    const parent = dirname(dir)
    if (parent === dir) throw new Error('the files of this package are incomplete: reinstall it')
    dir = parent
  }
  return dir
}
