import { expect, test } from 'vitest'
import { type SandboxOptions, settingsOf } from '../../../src/sandbox/options.ts'

function readingOf(options: SandboxOptions) {
  const { gasless, aggregator } = settingsOf(options)
  const { gasTank, gasLimit, domain } = aggregator
  return { listDomainType: gasless.listDomainType, gasTank, gasLimit, domain }
}

const DEPLOYED = { listDomainType: true, gasTank: 'balances', gasLimit: 'whole', domain: 'account' }
const DESCRIBED = {
  ...{ listDomainType: false, gasTank: 'balanceOf', gasLimit: 'target', domain: 'proposer' },
}

test('a sandbox matches real deployments unless set to follow the description', () => {
  expect(readingOf({})).toEqual(DEPLOYED)
  expect(readingOf({ reading: 'deployed' })).toEqual(DEPLOYED)
  expect(readingOf({ reading: 'described' })).toEqual(DESCRIBED)
})

test('single settings override the reading', () => {
  const own = {
    gasless: { listDomainType: true },
    aggregator: { gasTank: 'balances', feeBps: 7 },
  } as const
  expect(readingOf({ reading: 'described', ...own })).toEqual({
    ...{ ...DESCRIBED, listDomainType: true, gasTank: 'balances' },
  })
  expect(settingsOf({ reading: 'described', ...own }).aggregator.feeBps).toBe(7)
})

test('a setting leaves the others of its section at their defaults', () => {
  const { aggregator, gasless } = settingsOf({
    gasless: { rateLimits: { quote: { limit: 1, windowMs: 2_000 } } },
    aggregator: { traffic: { every: 0 } },
  })
  expect(aggregator.traffic).toEqual({ participants: 3, every: 0, patience: 3_000 })
  expect(gasless.rateLimits.quote).toEqual({ limit: 1, windowMs: 2_000 })
  expect(gasless.rateLimits.orders).toEqual({ limit: 600, windowMs: 10_000 })
  expect([gasless.quoteLifetime, gasless.logoURI]).toEqual([60, undefined])
})
