import { expect, test } from 'vitest'
import {
  AGGREGATOR_DEFAULTS,
  type AggregatorSettings,
} from '../../../src/sandbox/aggregator/aggregator-settings.ts'
import { MARKET_DEFAULTS, type MarketSettings } from '../../../src/sandbox/market/market.ts'
import type { SandboxOptions } from '../../../src/sandbox/options.ts'
import { SETTING_ROWS } from '../../../src/sandbox/settings/flags.ts'
import { loadSandboxOptions } from '../../../src/sandbox/settings/load-sandbox-settings.ts'
import { load, optionsOf } from './sandbox-settings-fixture.ts'

const EVERYTHING = `
reading: described
seed: 7
blockInterval: 2s
ports: { rpc: 8545, gasless: 8080, admin: 8081, aggregatorRpc: 8546, aggregator: 8082 }
market:
  feedInterval: 500ms
  ownDepthUsd: 1000
  ownShareMaxBps: 100
  externalDepthUsd: 5000
  externalSpreadBps: 20
gasless:
  quoteLifetime: 2m
  feeBps: 7
  listDomainType: false
  logoURI: "https://icons.example/{symbol}.svg"
  rateLimits: { tokens: 1/1s, quote: { limit: 2, window: 2s }, orders: 3/3s, order: 4/4s }
  rateLimitReset: duration
  wire: { preferOwn: preferHouse, onlyOwn: onlyHouse }
  ordersPerTransaction: 2
  sameOwnerInTransaction: false
aggregator:
  chainId: 1
  gasTank: balanceOf
  gasLimit: target
  domain: proposer
  blobCost: "0.000000000000000001"
  passthrough: true
  window: 50ms
  callsPerBatch: 4
  feeBps: 500
  indexingDelay: 0s
  settleEvery: 1m
  traffic: { participants: 5, every: 0s, patience: 10s }
  rateLimit: { limit: 9, window: 1m }
  wire: { methodPrefix: "", signatureHeader: X-Sig }
faults: { seed: 2, rules: [{ kind: slow, delayMs: 5, probability: 1e-1 }, { kind: batchReverted, retry: false }] }
`

/** Not settings: the log, the node's binary (an environment variable), and keys, which users cannot supply. */
type NoSettings = 'log' | 'anvilBin' | 'traderKey' | 'operatorKey'
/** A new option of the sandbox must also become a setting, or this does not compile. */
type EveryOption = Required<Omit<SandboxOptions, NoSettings>> & {
  readonly ports: Required<NonNullable<SandboxOptions['ports']>>
  readonly market: Omit<MarketSettings, 'seed'>
  readonly rateLimits: Required<NonNullable<SandboxOptions['rateLimits']>>
  readonly routingWords: Required<NonNullable<SandboxOptions['routingWords']>>
  readonly settlement: Required<NonNullable<SandboxOptions['settlement']>>
  readonly aggregator: AggregatorSettings
}

const EVERY_OPTION: EveryOption = {
  reading: 'described',
  seed: 7,
  blockIntervalMs: 2_000,
  ports: { rpc: 8545, gasless: 8080, admin: 8081, aggregatorRpc: 8546, aggregator: 8082 },
  feedIntervalMs: 500,
  market: {
    ownDepthUsd: 1_000,
    ownShareMaxBps: 100,
    externalDepthUsd: 5_000,
    externalSpreadBps: 20,
  },
  quoteLifetimeSeconds: 120,
  feeBps: 7,
  listDomainType: false,
  logoURI: 'https://icons.example/{symbol}.svg',
  rateLimits: {
    tokens: { limit: 1, windowMs: 1_000 },
    quote: { limit: 2, windowMs: 2_000 },
    orders: { limit: 3, windowMs: 3_000 },
    order: { limit: 4, windowMs: 4_000 },
  },
  rateLimitReset: 'duration',
  routingWords: { preferOwn: 'preferHouse', onlyOwn: 'onlyHouse' },
  settlement: { ordersPerTransaction: 2, sameOwnerInTransaction: false },
  aggregator: {
    chainId: 1,
    gasTank: 'balanceOf',
    gasLimit: 'target',
    domain: 'proposer',
    blobCostWei: 1n,
    passthrough: true,
    windowMs: 50,
    callsPerBatch: 4,
    feeBps: 500,
    indexingDelayMs: 0,
    settleEveryMs: 60_000,
    traffic: { participants: 5, everyMs: 0, patienceMs: 10_000 },
    rateLimit: { limit: 9, windowMs: 60_000 },
    wire: { methodPrefix: '', signatureHeader: 'X-Sig' },
  },
  faults: {
    seed: 2,
    rules: [
      { kind: 'slow', delayMs: 5, probability: 0.1 },
      { kind: 'batchReverted', retry: false },
    ],
  },
}

test('every key of a settings file reaches the sandbox, and every option has a key', () => {
  expect(optionsOf(EVERYTHING)).toEqual(EVERY_OPTION)
})

test("unset options are left to the sandbox's defaults", () => {
  const nothing = { ports: {}, market: {}, rateLimits: {}, routingWords: {}, settlement: {} }
  const aggregator = { traffic: {}, wire: {} }
  for (const text of ['', '# nothing yet\n', '{}'])
    expect(optionsOf(text)).toStrictEqual({ ...nothing, aggregator })
  expect(loadSandboxOptions({ typed: [] })).toEqual(load('{}'))
})

test('the defaults in the flag table equal those of the parts', () => {
  const flags = SETTING_ROWS.filter(({ byDefault }) => byDefault !== '').map(
    ({ flag, entry, byDefault }) =>
      `${flag} ${entry === undefined ? byDefault : `${entry}=${byDefault}`}`,
  )
  const { aggregator, market } = optionsOf('{}', flags)
  expect(aggregator).toEqual(AGGREGATOR_DEFAULTS)
  expect(market).toEqual(MARKET_DEFAULTS)
})

test('a flag overrides the file and earlier flags of its kind, and leaves other settings', () => {
  const flags = [
    '--fee-bps 1',
    '--fee-bps 9',
    '--rate-limit quote=5/1s',
    '--aggregator-domain account',
  ]
  const { feeBps, rateLimits, aggregator, quoteLifetimeSeconds } = optionsOf(EVERYTHING, flags)
  expect(feeBps).toBe(9)
  expect(rateLimits?.quote).toEqual({ limit: 5, windowMs: 1_000 })
  expect(rateLimits?.orders).toEqual({ limit: 3, windowMs: 3_000 })
  expect([aggregator?.domain, aggregator?.gasTank]).toEqual(['account', 'balanceOf'])
  expect(quoteLifetimeSeconds).toBe(120)
})
