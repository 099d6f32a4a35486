import { expect, test } from 'vitest'
import { aggregatorSettings } from '../../../src/sandbox/aggregator/aggregator-settings.ts'
import { type SandboxOptions, withReading } from '../../../src/sandbox/options.ts'

function settingsOf(options: SandboxOptions) {
  const { listDomainType = true, aggregator } = withReading(options)
  const { gasTank, gasLimit, domain } = aggregatorSettings(aggregator)
  return { listDomainType, gasTank, gasLimit, domain }
}

const DEPLOYED = { listDomainType: true, gasTank: 'balances', gasLimit: 'whole', domain: 'account' }
const DESCRIBED = {
  ...{ listDomainType: false, gasTank: 'balanceOf', gasLimit: 'target', domain: 'proposer' },
}

test('a sandbox matches real deployments unless set to follow the description', () => {
  expect(settingsOf({})).toEqual(DEPLOYED)
  expect(settingsOf({ reading: 'deployed' })).toEqual(DEPLOYED)
  expect(settingsOf({ reading: 'described' })).toEqual(DESCRIBED)
})

test('single settings override the reading', () => {
  const own = { listDomainType: true, aggregator: { gasTank: 'balances', feeBps: 7 } } as const
  expect(settingsOf({ reading: 'described', ...own })).toEqual({
    ...{ ...DESCRIBED, listDomainType: true, gasTank: 'balances' },
  })
  expect(withReading({ reading: 'described', ...own }).aggregator?.feeBps).toBe(7)
})
