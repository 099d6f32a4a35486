import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { jsonSchemas } from '../../../scripts/schema/json-schema.ts'
import { loadSettings, peekMode } from '../../../src/config/settings/load-settings.ts'
import { listDiskFiles } from '../../../src/config/yaml/yaml-files.ts'
import { hasSwaps, type Settings } from '../../../src/domain/settings.ts'
import type { StrategyMemory } from '../../../src/domain/strategy-memory.ts'
import { SANDBOX_TEMPLATE } from '../../../src/sandbox/template.ts'
import { decideCustom, moduleView } from '../../../src/strategies/custom/custom-kind.ts'
import type { MarketView } from '../../../src/strategies/decision/decision.ts'
import { loadModules } from '../../../src/strategies/files/load-modules.ts'
import { loadStrategies } from '../../../src/strategies/files/load-strategies.ts'
import { SCHEMAS } from '../../../src/strategies/schemas.ts'
import { moduleHost } from '../../support/modules.ts'
import { plain } from './config-fixture.ts'

const ENV = {
  BASE_RPC_URL: 'https://rpc.example',
  GASLESS_URL: 'https://swap.example',
  GASLESS_SPENDER: '0x00000000000000000000000000000000000000aa',
}

test('config/calls.example.yaml loads, and has nothing for swaps', () => {
  const contract = '0x00000000000000000000000000000000000000aa'
  const env = {
    ETHEREUM_RPC_URL: 'https://rpc.example',
    AGGREGATOR_RPC_URL: 'https://agg.example',
    AGGREGATOR_GASTANK: contract,
    AGGREGATOR_MULTICALL: contract,
    AGGREGATOR_TRUSTED_PROPOSER: contract,
    AGGREGATOR_TRUSTLESS_PROPOSER: contract,
  }
  const loaded = loadSettings({ file: 'config/calls.example.yaml', env })
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  expect(hasSwaps(loaded.settings)).toBe(false)
  expect(loaded.warnings).toEqual([])
})

/** The sandbox's values, as far as the example strategies need them. */
test.each([
  [
    'config/live.example.yaml',
    'live',
    [
      'buy-below-average',
      'claim-weekly',
      'dip-buyer',
      'ladder',
      'rebalance-60-40',
      'take-profit-stop-loss',
      'twap-day',
      'weekly-eth',
    ],
  ],
  [
    'config/sandbox.yaml',
    'sandbox',
    [
      'buy-exact-weth',
      'buy-weth',
      'call',
      'custom',
      'dai-to-eth',
      'eth-to-usdc',
      'rebalance',
      'threshold',
      'twap',
    ],
  ],
])('%s, its strategies and their modules load without a warning', async (file, mode, names) => {
  expect(peekMode({ file })).toEqual({ ok: true, mode })
  const loaded = loadSettings({ file, env: ENV, sandbox: SANDBOX_TEMPLATE })
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  const { settings } = loaded
  const strategies = loadStrategies({ dir: settings.strategiesDir, settings })
  if (!strategies.ok) throw new Error(strategies.problems.map(plain).join('\n'))
  expect(strategies.strategies.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
  expect([...loaded.warnings, ...strategies.warnings].map(plain)).toEqual([])
  const { start } = await moduleHost()
  const problems = await loadModules(strategies.strategies, settings, start)
  expect(problems.map(plain)).toEqual([])
})

test.each([
  ['strategies', '../config/schema/strategy.json'],
  ['strategies/sandbox', '../../config/schema/strategy.json'],
])('every example in %s names its schema for the editor', (dir, schema) => {
  for (const name of listDiskFiles(dir))
    expect(readFileSync(`${dir}/${name}`, 'utf8').split('\n')[0], name).toBe(
      `# yaml-language-server: $schema=${schema}`,
    )
})

test('every kind has an example, and only the weekly strategy is enabled', () => {
  const settings = settingsOfExample()
  const loaded = loadStrategies({ dir: settings.strategiesDir, settings })
  const strategies = loaded.ok ? loaded.strategies : []
  expect(new Set(strategies.map(({ kind }) => kind))).toEqual(new Set(Object.keys(SCHEMAS)))
  expect(strategies.filter(({ enabled }) => enabled).map(({ name }) => name)).toEqual([
    'weekly-eth',
  ])
})

describe('the example module', () => {
  const NOW = 1_800_000_000
  async function example(params = {}) {
    const settings = settingsOfExample()
    const loaded = loadStrategies({ dir: settings.strategiesDir, settings })
    const found = (loaded.ok ? loaded.strategies : []).find(({ kind }) => kind === 'custom')
    if (found?.kind !== 'custom') throw new Error('there is no custom example')
    const strategy = { ...found, params: { ...(found.params as object), ...params } }
    const modules = await moduleHost()
    expect(await loadModules([strategy], settings, modules.start)).toEqual([])
    return { strategy, modules }
  }

  /** Its decision at the given price of WETH in USDC, and its memory afterwards. */
  async function decideAt(
    { strategy, modules }: Awaited<ReturnType<typeof example>>,
    price: number,
    memory: StrategyMemory = {},
  ) {
    const ratio = { num: BigInt(price) * 10n ** 6n, den: 10n ** 18n }
    // The strategy sells its first token.
    const balances = [...strategy.assets.values()].map(
      ({ token }, index) => [token.address, index === 0 ? 1_000_000_000n : 0n] as const,
    )
    const market: MarketView = {
      slotSeconds: NOW,
      nowSeconds: NOW,
      startSeconds: undefined,
      owner: '0x00000000000000000000000000000000000000d1',
      available: new Map(balances),
      prices: new Map([
        ['USDC/WETH', { ok: true, price: { ratio, updatedAtSeconds: NOW, pairs: [] } }],
      ]),
      held: new Map(),
      orderCaps: new Map(),
      memory,
      spent: new Map(),
      promised: new Map(),
    }
    const view = moduleView(strategy, market)
    if ('tag' in view) throw new Error(view.detail)
    const reply = await modules.decide(strategy, view)
    const decision = decideCustom(strategy, market, reply)
    return { decision, memory: decision.memory ?? memory }
  }

  test('collects its samples, then buys once the price is below their average by its discount', async () => {
    const strategy = await example()
    let memory: StrategyMemory = {}
    for (let seen = 0; seen < 30; seen += 1) {
      const waiting = await decideAt(strategy, 1_000, memory)
      expect(waiting.decision).toMatchObject({ reason: 'module-skipped' })
      memory = waiting.memory
    }
    expect((await decideAt(strategy, 986, memory)).decision).toMatchObject({
      reason: 'module-skipped',
    })
    expect((await decideAt(strategy, 985, memory)).decision).toMatchObject({
      tag: 'trade',
      intents: [{ maxSell: 20_000_000n }],
    })
  })

  test('stays within the memory limit with the maximum number of samples', async () => {
    const strategy = await example({ discount: '1', samples: '300' })
    let memory: StrategyMemory = {}
    for (let seen = 0; seen < 305; seen += 1) {
      const { decision, memory: after } = await decideAt(strategy, 100_000 + seen, memory)
      expect(decision).toMatchObject({ reason: 'module-skipped' })
      memory = after
    }
    expect(memory['prices']?.split(',')).toHaveLength(300)
  })
})

function settingsOfExample(): Settings {
  const loaded = loadSettings({ file: 'config/live.example.yaml', env: ENV })
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  return loaded.settings
}

test('the committed JSON Schemas match the zod schemas', () => {
  for (const [name, schema] of Object.entries(jsonSchemas()))
    expect(JSON.parse(readFileSync(`config/schema/${name}`, 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(schema)),
    )
})

test('the commented sections of config/live.example.yaml load once uncommented', () => {
  const file = 'config/live.example.yaml'
  const lines = readFileSync(file, 'utf8').split('\n')
  const from = lines.indexOf('# aggregator:')
  const to = lines.indexOf('', from)
  const isMarked = (line: string, index: number) =>
    (index >= from && index < to) || /^ {2}# (sepolia|operator: \{ privateKeyFile)/.test(line)
  const text = lines
    .map((line, index) => (isMarked(line, index) ? line.replace('# ', '') : line))
    .join('\n')
  const named = ['GASTANK', 'MULTICALL', 'TRUSTED_PROPOSER', 'TRUSTLESS_PROPOSER']
  const contracts = named.map((name, index) => [
    `AGGREGATOR_${name}`,
    `0x${'0'.repeat(38)}a${index}`,
  ])
  const env = {
    ...ENV,
    ...Object.fromEntries(contracts),
    SEPOLIA_RPC_URL: 'https://s.example',
    AGGREGATOR_RPC_URL: 'https://agg.example',
  }
  const loaded = loadSettings({ file, env, readFile: () => text })
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  expect(loaded.warnings).toEqual([])
  expect(loaded.settings.aggregator).toMatchObject({ wallet: 'operator', proposer: 'trustless' })
  const strategies = loadStrategies({ dir: 'strategies', settings: loaded.settings })
  expect(strategies.ok && strategies.warnings).toEqual([])
})
