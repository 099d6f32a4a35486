import { expect, test } from 'vitest'
import { checkGas } from '../../../../src/cli/commands/doctor/check-chains.ts'
import type { GasLimits } from '../../../../src/domain/money/gas.ts'
import { findings } from './verdicts.ts'

const GWEI = 10n ** 9n
const ETHER = 10n ** 18n
const LIMITS: GasLimits = {
  maxFeePerGas: 50n * GWEI,
  maxPriorityFeePerGas: 2n * GWEI,
  perTransaction: ETHER / 100n,
  perDay: ETHER / 20n,
}
const FEES = { baseFeePerGas: 9n * GWEI, maxPriorityFeePerGas: GWEI }
const RAISE =
  'no approval, wrapping or deposit is sent until gas is cheaper: raise the limit in `chains.base.gas`'

function check(limits: Partial<GasLimits>, fees = FEES) {
  return checkGas({ name: 'base', gas: { ...LIMITS, ...limits } }, fees)
}

test('limits above the cost of gas pass, and the cost is shown', () => {
  expect(check({})).toMatchObject({
    ...{ id: 'gas-limits', section: 'chains', verdict: 'fine' },
    says: 'base: gas costs 10 gwei, including a tip of 1 gwei; up to 50 gwei is allowed',
  })
})

const COSTS = 'base: gas costs 10 gwei, including a tip of 1 gwei'

test.each<[string, Partial<GasLimits>, string]>([
  [
    'fee',
    { maxFeePerGas: 9n * GWEI },
    `${COSTS}; gas would cost 9.000000001 gwei; chains.base.gas.maxFeePerGas allows 9 gwei -> ${RAISE}`,
  ],
  [
    'tip',
    { maxPriorityFeePerGas: GWEI / 2n },
    `${COSTS}; chains.base.gas.maxPriorityFeePerGas allows 0.5 gwei -> transactions may wait long for a block: raise \`chains.base.gas.maxPriorityFeePerGas\``,
  ],
  [
    'cost of one transaction',
    { perTransaction: ETHER / 10_000n },
    `${COSTS}; gas would cost 0.000756000000084 ETH; chains.base.gas.perTransaction allows 0.0001 ETH -> ${RAISE}`,
  ],
  [
    'cost of a day',
    { perDay: ETHER / 10_000n },
    `${COSTS}; gas would cost 0.000756000000084 ETH beside 0 ETH of the last 24 hours; chains.base.gas.perDay allows 0.0001 ETH -> ${RAISE}`,
  ],
])('a limit on the %s below the cost of gas is a warning that names it', (_, limits, says) => {
  expect(findings([check(limits)])).toEqual([`warning gas-limits: ${says}`])
})

test('a limit a hundred times above the cost of gas passes with a remark', () => {
  const cheap = { baseFeePerGas: GWEI / 10n, maxPriorityFeePerGas: GWEI / 10n }
  expect(check({}, cheap)).toMatchObject({
    verdict: 'fine',
    says: 'base: gas costs 0.2 gwei, including a tip of 0.1 gwei; up to 50 gwei is allowed, 250 times that, which a lying node could make us pay',
  })
  expect(check({ maxFeePerGas: 19n * GWEI }, cheap).says).toMatch(/up to 19 gwei is allowed$/)
})
