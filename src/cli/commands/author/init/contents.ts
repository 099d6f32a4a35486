import type { Mode } from '../../../../domain/settings.ts'
import type { Answers, Kind } from './answers.ts'
import { variablesOf } from './next.ts'
import { folderReadme } from './readme.ts'

/** A file of the folder: its path from there, and its text. */
export type Content = { readonly to: string; readonly text: string }

/** Reads a file of this package by its path in it. */
export type ReadShipped = (path: string) => Promise<string>

/** The shipped example of each kind: for the config beside the sandbox's, and one that trades within seconds. */
const EXAMPLES: Readonly<Record<Kind, { readonly slow: string; readonly fast: string }>> = {
  dca: { slow: 'weekly-eth', fast: 'buy-weth' },
  rebalance: { slow: 'rebalance-60-40', fast: 'rebalance' },
  threshold: { slow: 'take-profit-stop-loss', fast: 'threshold' },
  twap: { slow: 'twap-day', fast: 'twap' },
  call: { slow: 'claim-weekly', fast: 'call' },
  custom: { slow: 'buy-below-average', fast: 'custom' },
}

/** The same in every folder, wherever it stands in this package. */
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

type Edit = readonly [from: RegExp, to: string]

/** What makes a config of the example. */
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
        '# Real quotes are asked for and checked as if for signing, and nothing is ever signed. `tranched init --mode live` writes',
        '# the config for real money beside this one.',
        'mode: dry-run',
        'paper: { USDC: "5000", WETH: "1" } # what the wallet is taken to begin with, whatever it holds',
      ].join('\n'),
    ],
    [/^stateDir: \.\.\/data\/live$/m, 'stateDir: ../data/dry-run'],
  ],
}

const OFF: Edit = [/^enabled: true\b.*$/m, 'enabled: false # true once all of it is as you want it']
const ON: Edit = [
  /^enabled: false\b.*$/m,
  'enabled: true # on paper. With `mode: live` this trades real money',
]

/** Every file that `init` writes for these answers, but for `.gitignore`, in the order in which they are told. */
export async function contentsOf(
  { kinds, mode }: Answers,
  shipped: ReadShipped,
): Promise<readonly Content[]> {
  const beside = mode === 'sandbox' ? undefined : await besideConfig(mode, shipped)
  const fast = await Promise.all(
    kinds.map(async (kind) => {
      const to = `strategies/sandbox/${EXAMPLES[kind].fast}.yaml`
      return { to, text: await shipped(to) }
    }),
  )
  const slow =
    mode === 'sandbox'
      ? []
      : await Promise.all(kinds.map((kind) => slowStrategy(kind, { mode, shipped })))
  const same = await Promise.all(SAME.map(async (to) => ({ to, text: await shipped(to) })))
  const readme = folderReadme(beside && { config: beside.to, variables: variablesOf(beside.text) })
  return [...(beside ? [beside] : []), ...slow, ...fast, ...same, { to: 'README.md', text: readme }]
}

async function besideConfig(
  mode: Exclude<Mode, 'sandbox'>,
  shipped: ReadShipped,
): Promise<Content> {
  const text = await shipped(EXAMPLE_CONFIG)
  return { to: `config/${mode}.yaml`, text: CONFIG_EDITS[mode].reduce(edited, text) }
}

/**
 * Off where it would trade real money. On paper it is on, but for one that calls a contract: the config has no contract
 * until somebody names one.
 */
async function slowStrategy(
  kind: Kind,
  { mode, shipped }: { readonly mode: Mode; readonly shipped: ReadShipped },
): Promise<Content> {
  const to = `strategies/${EXAMPLES[kind].slow}.yaml`
  const text = await shipped(to)
  const isOn = mode === 'dry-run' && kind !== 'call'
  const edit = isOn ? ON : OFF
  return { to, text: edit[0].test(text) ? edited(text, edit) : text }
}

function edited(text: string, [from, to]: Edit): string {
  if (text.search(from) < 0) throw new Error(`the shipped example has no ${from}`)
  return text.replace(from, to)
}
