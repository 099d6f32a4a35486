import fc from 'fast-check'
import { expect, test } from 'vitest'
import { splitCosts } from '../../../src/sandbox/aggregator/account/costs.ts'

test('two calls alike halve the cost and a tenth of what they saved is the fee', () => {
  const split = splitCosts({ gasUsed: 60_000n, effectiveGasPrice: 2n }, [40_000n, 40_000n], 1_000)
  expect(split).toEqual(
    Array(2).fill({
      executionGas: 30_000n,
      directGas: 40_000n,
      effectiveGasPrice: 2n,
      executionCost: 60_000n,
      directCost: 80_000n,
      fee: 2_000n,
      charged: 62_000n,
      savings: 18_000n,
    }),
  )
})

test('a batch that saved nothing charges what direct submission costs, without a fee', () => {
  const [alone] = splitCosts({ gasUsed: 60_000n, effectiveGasPrice: 3n }, [40_000n], 1_000)
  expect(alone).toMatchObject({ fee: 0n, charged: 120_000n, savings: 0n })
})

test('shares are rounded down, and so is the fee', () => {
  const split = splitCosts({ gasUsed: 10n, effectiveGasPrice: 1n }, [7n, 7n, 7n], 999)
  expect(split.map(({ executionCost }) => executionCost)).toEqual([3n, 3n, 3n])
  expect(split.map(({ fee }) => fee)).toEqual([0n, 0n, 0n])
})

test('nobody ever pays more than directly, and the shares never exceed the cost', () => {
  const gas = fc.bigInt({ min: 21_000n, max: 10_000_000n })
  const batches = fc.record({
    gasUsed: gas,
    effectiveGasPrice: fc.bigInt({ min: 1n, max: 10n ** 12n }),
    directGases: fc.array(gas, { minLength: 1, maxLength: 16 }),
    feeBps: fc.integer({ min: 0, max: 10_000 }),
  })
  fc.assert(
    fc.property(batches, ({ directGases, feeBps, ...batch }) => {
      const split = splitCosts(batch, directGases, feeBps)
      const shares = split.reduce((sum, { executionCost }) => sum + executionCost, 0n)
      const cost = batch.gasUsed * batch.effectiveGasPrice
      expect(shares).toBeLessThanOrEqual(cost)
      expect(cost - shares).toBeLessThan(BigInt(split.length))
      for (const { charged, directCost, savings, fee } of split) {
        expect(charged).toBeLessThanOrEqual(directCost)
        expect(savings).toBe(directCost - charged)
        if (savings === 0n) expect(charged).toBe(directCost)
        if (fee > 0n) expect(charged - fee).toBeLessThan(directCost)
      }
    }),
  )
})
