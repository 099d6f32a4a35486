import { expect, test } from 'vitest'
import { type AllSettings, settingsOf } from '../../../src/sandbox/options.ts'
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

const EVERY_SETTING = {
  reading: 'described',
  seed: 7,
  blockInterval: 2_000,
  ports: { rpc: 8545, gasless: 8080, admin: 8081, aggregatorRpc: 8546, aggregator: 8082 },
  market: {
    feedInterval: 500,
    ownDepthUsd: 1_000,
    ownShareMaxBps: 100,
    externalDepthUsd: 5_000,
    externalSpreadBps: 20,
  },
  gasless: {
    quoteLifetime: 120,
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
    wire: { preferOwn: 'preferHouse', onlyOwn: 'onlyHouse' },
    ordersPerTransaction: 2,
    sameOwnerInTransaction: false,
  },
  aggregator: {
    chainId: 1,
    gasTank: 'balanceOf',
    gasLimit: 'target',
    domain: 'proposer',
    blobCost: 1n,
    passthrough: true,
    window: 50,
    callsPerBatch: 4,
    feeBps: 500,
    indexingDelay: 0,
    settleEvery: 60_000,
    traffic: { participants: 5, every: 0, patience: 10_000 },
    rateLimit: { limit: 9, windowMs: 60_000 },
    wire: { methodPrefix: '', signatureHeader: 'X-Sig' },
  },
} satisfies AllSettings

const FAULTS = {
  seed: 2,
  rules: [
    { kind: 'slow', delayMs: 5, probability: 0.1 },
    { kind: 'batchReverted', retry: false },
  ],
}

test('every key of a settings file reaches the sandbox', () => {
  expect(optionsOf(EVERYTHING)).toEqual({ ...EVERY_SETTING, faults: FAULTS })
  expect(settingsOf(optionsOf(EVERYTHING))).toMatchObject(EVERY_SETTING)
})

test("unset options are left to the sandbox's defaults", () => {
  for (const text of ['', '# nothing yet\n', '{}']) expect(optionsOf(text)).toStrictEqual({})
  expect(loadSandboxOptions({ typed: [] })).toEqual(load('{}'))
})

test('the defaults in the flag table are those of the sandbox', () => {
  const flags = SETTING_ROWS.filter(({ byDefault }) => byDefault !== '').map(
    ({ flag, entry, byDefault }) =>
      `${flag} ${entry === undefined ? byDefault : `${entry}=${byDefault}`}`,
  )
  expect(optionsOf('{}', flags)).toEqual(settingsOf({}))
})

test('a flag overrides the file and earlier flags of its kind, and leaves other settings', () => {
  const flags = [
    '--fee-bps 1',
    '--fee-bps 9',
    '--rate-limit quote=5/1s',
    '--aggregator-domain account',
  ]
  const { gasless, aggregator } = optionsOf(EVERYTHING, flags)
  expect(gasless?.feeBps).toBe(9)
  expect(gasless?.rateLimits?.quote).toEqual({ limit: 5, windowMs: 1_000 })
  expect(gasless?.rateLimits?.orders).toEqual({ limit: 3, windowMs: 3_000 })
  expect([aggregator?.domain, aggregator?.gasTank]).toEqual(['account', 'balanceOf'])
  expect(gasless?.quoteLifetime).toBe(120)
})
