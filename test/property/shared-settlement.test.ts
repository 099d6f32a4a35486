import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { BaseUnits, Hex } from '../../src/domain/money/units.ts'
import type { Permit } from '../../src/domain/order/permit.ts'
import type { TransactionTrace } from '../../src/ports.ts'
import { names, proveFill } from '../../src/venues/swap/prove.ts'
import { POOL, settlementInput } from '../simulation/chain/ledger.ts'
import { USDC, WALLET, WETH } from '../simulation/stage.ts'
import { aPermit, milliWeth } from '../support/builders.ts'

const HASH: Hex = `0x${'11'.repeat(32)}`

type Order = { readonly permit: Permit; readonly paid: bigint }

/** Orders that pay a little less than their permits allow. Amounts are small, so that many fit several orders. */
const orders: fc.Arbitrary<readonly Order[]> = fc
  .array(
    fc.record({ allowed: fc.integer({ min: 1, max: 6 }), saved: fc.integer({ min: 0, max: 3 }) }),
    {
      minLength: 2,
      maxLength: 4,
    },
  )
  .map((all) =>
    all.map(({ allowed, saved }, n) => ({
      permit: aPermit({ nonce: BigInt(n + 1) << 200n, amount: BigInt(allowed) as BaseUnits }),
      paid: BigInt(Math.max(1, allowed - saved)),
    })),
  )

/** Sorts by the random key of each value. */
function shuffled<Value>(values: readonly Value[], keys: readonly number[]): readonly Value[] {
  const key = new Map(values.map((value, at) => [value, keys[at] ?? 0]))
  return values.toSorted((a, b) => (key.get(a) ?? 0) - (key.get(b) ?? 0))
}

function traceOf(executed: readonly Order[], input: Hex): TransactionTrace {
  const transfers = executed.flatMap(({ paid }, n) => [
    { token: USDC.address, from: WALLET, to: POOL, amount: paid, logIndex: 2 * n },
    { token: WETH.address, from: POOL, to: WALLET, amount: milliWeth(20), logIndex: 2 * n + 1 },
  ])
  const block = { hash: HASH, blockNumber: 7n, blockHash: HASH }
  return { ...block, success: true, transfers, input }
}

/** Proven amount of each order when the orders are proven one after the other. */
function provenAmounts(
  trace: TransactionTrace,
  checked: readonly Order[],
): ReadonlyMap<Order, bigint> {
  const claimed = new Map<string, number>()
  const amounts = new Map<Order, bigint>()
  for (const [at, order] of checked.entries()) {
    const mates = checked
      .slice(at + 1)
      .map(({ permit }) => permit)
      .filter((permit) => names(trace, permit))
    const fill = proveFill({ permit: order.permit, trace, mates, claimed })
    if (fill === undefined) continue
    amounts.set(order, fill.paid)
    for (const claim of fill.transfers) claimed.set(claim, 0)
  }
  return amounts
}

const keys = fc.array(fc.nat(), { minLength: 4, maxLength: 4 })

test('orders of one settlement are recorded at the amount each paid when the calldata is genuine', () => {
  fc.assert(
    fc.property(orders, keys, (settled, order) => {
      const trace = traceOf(settled, settlementInput(settled))
      const amounts = provenAmounts(trace, shuffled(settled, order))
      for (const each of settled) expect(amounts.get(each)).toBe(each.paid)
    }),
    { numRuns: 300 },
  )
})

/** Forged data behind a settlement: its orders with other amounts, their permits, or amounts alone. */
const forgery = fc.record({
  order: keys,
  rotated: fc.integer({ min: 0, max: 3 }),
  parts: fc.array(fc.constantFrom('orders', 'amounts', 'permits'), { maxLength: 3 }),
  hidesAmounts: fc.boolean(),
})

test('orders of one settlement are together recorded at no less than was paid, for any calldata', () => {
  fc.assert(
    fc.property(orders, keys, forgery, (settled, order, { rotated, parts, ...forged }) => {
      const moved = shuffled(settled, forged.order)
      const fake = settled.map(({ permit }, n) => {
        const paid = settled[(n + rotated) % settled.length]?.paid ?? 0n
        return { permit, paid }
      })
      const digits = {
        orders: settlementInput(fake),
        permits: settlementInput(fake, { hidesAmounts: true }),
        amounts: `0x00000000${fake.map(({ paid }) => paid.toString(16).padStart(64, '0')).join('')}`,
      }
      const head = settlementInput(forged.hidesAmounts ? settled : fake, forged)
      const input: Hex = `${head}${parts.map((part) => digits[part].slice(10)).join('')}`
      const amounts = provenAmounts(traceOf(moved, input), shuffled(settled, order))
      let [total, paid] = [0n, 0n]
      for (const [each, amount] of amounts) {
        expect(amount).toBeLessThanOrEqual(each.permit.amount)
        total += amount
      }
      for (const each of settled) paid += each.paid
      if (amounts.size === settled.length) expect(total).toBeGreaterThanOrEqual(paid)
    }),
    { numRuns: 1_000 },
  )
})
