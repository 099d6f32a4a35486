import type { ConfigSettings } from '../../../src/config/settings/build.ts'
import {
  type LoadSettingsOptions,
  loadSettings,
} from '../../../src/config/settings/load-settings.ts'
import type { Problem } from '../../../src/config/yaml/problem.ts'
import { renderProblem } from '../../../src/config/yaml/problem.ts'
import type { DcaStrategy } from '../../../src/strategies/dca/dca-kind.ts'
import { loadStrategies, type StrategyPut } from '../../../src/strategies/files/load-strategies.ts'

export const CONFIG = `mode: dry-run
wallets:
  trader: { privateKeyEnv: TRADER_KEY }
chains:
  base: { chainId: 8453, rpcUrls: ["https://rpc.example"] }
gasless:
  baseUrl: https://swap.example/
  chain: base
  wallet: trader
  spenders: [0x00000000000000000000000000000000000000aa]
tokens:
  USDC: { chain: base, address: 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913, decimals: 6 }
  WETH: { chain: base, address: 0x4200000000000000000000000000000000000006, decimals: 18 }
  DAI: { chain: base, address: 0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb, decimals: 18 }
prices:
  WETH/USDC: { feed: 0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70, chain: base }
  DAI/WETH: { feed: 0x00000000000000000000000000000000000000bb, chain: base }
limits:
  perOrder: { USDC: 250 }
  perDay: { USDC: "1000", DAI: "1000", WETH: "1" }
`

export const STRATEGY = `name: weekly-eth
kind: dca
schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }
sell: USDC
buy: WETH
amount: "25"
`

/** Replaces one piece of a text; throws if it is missing, since the test would then prove nothing. */
export function edit(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the fixture has no ${from}`)
  return text.replace(from, () => to)
}

type Rest = Omit<Partial<LoadSettingsOptions>, 'file' | 'readFile'>

export function loadText(text: string, rest: Rest = {}) {
  return loadSettings({ file: '/etc/tranched/config.yaml', env: {}, readFile: () => text, ...rest })
}

export function settingsOf(text = CONFIG, rest: Rest = {}): ConfigSettings {
  const loaded = loadText(text, rest)
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  return loaded.settings
}

export function problemsOf(text: string, rest: Rest = {}): readonly Problem[] {
  const loaded = loadText(text, rest)
  return loaded.ok ? [] : loaded.problems
}

/** Loads strategies from texts by file name. */
export function loadTexts(
  texts: Readonly<Record<string, string>>,
  settings = settingsOf(),
  puts: readonly StrategyPut[] = [],
) {
  return loadStrategies({
    dir: 'strategies',
    settings,
    puts,
    listFiles: () => Object.keys(texts),
    readFile: (path) => texts[path.replace('strategies/', '')] ?? '',
  })
}

export function strategyOf(text: string, settings = settingsOf()): DcaStrategy {
  const loaded = loadTexts({ 'one.yaml': text }, settings)
  const strategy = loaded.ok ? loaded.strategies[0] : undefined
  if (strategy === undefined)
    throw new Error(loaded.ok ? 'nothing loaded' : loaded.problems.map(plain).join('\n'))
  if (strategy.kind !== 'dca') throw new Error(`a strategy of kind ${strategy.kind}`)
  return strategy
}

export function strategyProblems(text: string, settings = settingsOf()): readonly Problem[] {
  const loaded = loadTexts({ 'one.yaml': text }, settings)
  return loaded.ok ? [] : loaded.problems
}

export function plain(problem: Problem): string {
  return renderProblem(problem, { color: false })
}

/** `line:column path: message`, short enough for lists. */
export function brief(problem: Problem): string {
  return `${problem.line}:${problem.column} ${problem.path}: ${problem.message}`
}
