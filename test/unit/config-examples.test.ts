import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { jsonSchemas } from '../../src/config/json-schema.ts'
import { loadSettings, peekMode } from '../../src/config/load-settings.ts'
import { loadStrategies } from '../../src/config/load-strategies.ts'
import { plain } from './config-fixture.ts'

const ENV = {
  BASE_RPC_URL: 'https://rpc.example',
  GASLESS_URL: 'https://swap.example',
  GASLESS_SPENDER: '0x00000000000000000000000000000000000000aa',
}

/** What a sandbox yields, as far as the example strategies need it. */
const SANDBOX = {
  chains: { base: { chainId: 8453, rpcUrls: ['http://127.0.0.1:8545'] } },
  wallets: { trader: { privateKeyFile: '/tmp/sandbox/trader.hex' } },
  gasless: {
    baseUrl: 'http://127.0.0.1:8080',
    chain: 'base',
    wallet: 'trader',
    spenders: ['0x00000000000000000000000000000000000000aa'],
  },
  tokens: {
    USDC: { chain: 'base', address: '0x00000000000000000000000000000000000000a1', decimals: 6 },
    DAI: { chain: 'base', address: '0x00000000000000000000000000000000000000a2', decimals: 18 },
    WETH: { chain: 'base', address: '0x4200000000000000000000000000000000000006', decimals: 18 },
  },
  prices: {
    'WETH/USDC': { feed: '0x00000000000000000000000000000000000000b1', chain: 'base' },
    'WETH/DAI': { feed: '0x00000000000000000000000000000000000000b2', chain: 'base' },
  },
}

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
      'custom',
      'dai-to-eth',
      'eth-to-usdc',
      'rebalance',
      'threshold',
      'twap',
    ],
  ],
])('%s and its strategies load without a warning', (file, mode, names) => {
  expect(peekMode({ file })).toEqual({ ok: true, mode })
  const loaded = loadSettings({ file, env: ENV, sandbox: SANDBOX })
  if (!loaded.ok) throw new Error(loaded.problems.map(plain).join('\n'))
  const { settings } = loaded
  const strategies = loadStrategies({ dir: settings.strategiesDir, settings })
  if (!strategies.ok) throw new Error(strategies.problems.map(plain).join('\n'))
  expect(strategies.strategies.map((strategy) => strategy.name)).toEqual(names)
  expect([...loaded.warnings, ...strategies.warnings].map(plain)).toEqual([])
})

test('the committed JSON Schemas are what the schemas say', () => {
  for (const [name, schema] of Object.entries(jsonSchemas()))
    expect(JSON.parse(readFileSync(`config/schema/${name}`, 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(schema)),
    )
})

test('the commented sections of config/live.example.yaml are right as soon as the marks are taken off', () => {
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
