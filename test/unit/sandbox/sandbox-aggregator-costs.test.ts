import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitCosts } from '../../../src/sandbox/aggregator/account/account-costs.ts'

const TENTH = 1_000
const callsOf = (directGases: readonly bigint[], blobCost = 0n) =>
  directGases.map((directGas) => ({ directGas, blobCost }))

test('two equal calls halve the cost, and the fee is a tenth of their savings', () => {
  const split = splitCosts(
    { gasUsed: 60_000n, effectiveGasPrice: 2n },
    callsOf([40_000n, 40_000n]),
    TENTH,
  )
  expect(split).toEqual(
    Array(2).fill({
      executionGas: 30_000n,
      directGas: 40_000n,
      effectiveGasPrice: 2n,
      executionCost: 60_000n,
      blobCost: 0n,
      directCost: 80_000n,
      fee: 2_000n,
      charged: 62_000n,
      savings: 18_000n,
    }),
  )
})

test('a batch without savings charges the direct cost, without a fee', () => {
  const [alone] = splitCosts({ gasUsed: 60_000n, effectiveGasPrice: 3n }, callsOf([40_000n]), TENTH)
  expect(alone).toMatchObject({
    ...{ executionGas: 40_000n, executionCost: 120_000n },
    ...{ fee: 0n, charged: 120_000n, savings: 0n },
  })
})

test('shares and fee are rounded down', () => {
  const split = splitCosts({ gasUsed: 10n, effectiveGasPrice: 1n }, callsOf([7n, 7n, 7n]), 999)
  expect(split.map(({ executionCost }) => executionCost)).toEqual([3n, 3n, 3n])
  expect(split.map(({ fee }) => fee)).toEqual([0n, 0n, 0n])
})

test('each call is charged its own blob gas alone', () => {
  const calls = [
    { directGas: 40_000n, blobCost: 9_000n },
    { directGas: 40_000n, blobCost: 0n },
  ]
  const [first, second] = splitCosts({ gasUsed: 60_000n, effectiveGasPrice: 2n }, calls, TENTH)
  expect(first?.charged).toBe(71_000n)
  expect(second?.charged).toBe(62_000n)
})

test('blob gas is charged in full, counts in the direct cost, and bears no fee', () => {
  const batch = { gasUsed: 60_000n, effectiveGasPrice: 2n }
  const [plain] = splitCosts(batch, callsOf([40_000n, 40_000n]), TENTH)
  const [blob] = splitCosts(batch, callsOf([40_000n, 40_000n], 5_000n), TENTH)
  expect(blob).toEqual({ ...plain, blobCost: 5_000n, directCost: 85_000n, charged: 67_000n })
})

test('no call pays more than directly, parts add up, and shares never exceed the cost', () => {
  const gas = fc.bigInt({ min: 21_000n, max: 10_000_000n })
  const batches = fc.record({
    gasUsed: gas,
    effectiveGasPrice: fc.bigInt({ min: 1n, max: 10n ** 12n }),
    directGases: fc.array(gas, { minLength: 1, maxLength: 16 }),
    feeBps: fc.integer({ min: 0, max: 10_000 }),
    perBlobs: fc.bigInt({ min: 0n, max: 10n ** 18n }),
  })
  fc.assert(
    fc.property(batches, ({ directGases, feeBps, perBlobs, ...batch }) => {
      const split = splitCosts(batch, callsOf(directGases, perBlobs), feeBps)
      const sum = (part: (costs: (typeof split)[number]) => bigint): bigint =>
        split.reduce((total, costs) => total + part(costs), 0n)
      const cost = batch.gasUsed * batch.effectiveGasPrice
      const shares = sum(({ executionCost }) => executionCost)
      expect(shares).toBeLessThanOrEqual(cost)
      // If the batch saved gas, its cost is paid down to the indivisible remainder.
      if (sum(({ savings, fee }) => savings + fee) > 0n)
        expect(cost - shares).toBeLessThan(BigInt(split.length))
      for (const { charged, directCost, savings, fee, executionCost, blobCost } of split) {
        expect(charged).toBe(executionCost + fee + blobCost)
        expect(charged).toBeLessThanOrEqual(directCost)
        expect(savings).toBe(directCost - charged)
      }
    }),
  )
})
