import { describe, expect, test } from 'vitest'
import {
  type Outgoing,
  type OutgoingCap,
  runwaySeconds,
} from '../../../src/journal/projections/runway.ts'

const DAY = 86_400
const NOW = 1_000_000

/** An amount every `seconds` seconds, with `named` slots read from the calendar. */
function every(seconds: number, amount: bigint, { named = 1_000, ...rest }: Every = {}): Outgoing {
  const slots = Array.from({ length: named }, (_, index) => NOW + (index + 1) * seconds)
  return { amount, slots, untilSeconds: slots.at(-1), ...rest }
}
type Every = Partial<Outgoing> & { readonly named?: number }

const lasts = (funds: bigint, ...outgoings: Outgoing[]) => runwaySeconds(funds, outgoings, NOW)

describe('the runway of funds', () => {
  test('ends at the first slot that they do not cover', () => {
    expect(lasts(10n, every(600, 3n))).toBe(4 * 600)
    expect(lasts(2n, every(600, 3n))).toBe(600)
    expect(lasts(-2n, every(600, 3n))).toBe(600)
  })

  test('counts all outgoings in the order of their slots', () => {
    expect(lasts(10n, every(600, 3n), every(1_000, 4n))).toBe(1_800)
  })

  test("extrapolates each calendar's rate past its last read slot", () => {
    expect(lasts(10_000n, every(60, 1n))).toBe(10_000 * 60)
    const weekly = every(7 * DAY, 700n, { named: 52 })
    const seconds = lasts(100_000n, every(60, 1n), weekly) ?? 0
    const perDay = 1_440 + 100
    expect(seconds / ((100_000 / perDay) * DAY)).toBeCloseTo(1, 1)
  })

  test('is unlimited if nothing is due or everything ever due is covered', () => {
    expect(lasts(1n)).toBeUndefined()
    const three = every(60, 5n, { named: 3, untilSeconds: undefined })
    expect(lasts(15n, three)).toBeUndefined()
    expect(lasts(14n, three)).toBe(180)
  })

  test('does not charge outgoings past their end', () => {
    const three = every(60, 5n, { named: 3, untilSeconds: undefined })
    expect(lasts(25n, three, every(600, 1n))).toBe(11 * 600)
  })

  test('omits the slots that a cap blocks', () => {
    const cap: OutgoingCap = { amount: 2n, withinSeconds: DAY }
    // Two slots an hour apart, then two more a day later.
    expect(lasts(4n, every(3_600, 1n, { caps: [cap] }))).toBe(2 * DAY + 3_600)
    const other = every(3_600, 1n, { caps: [cap] })
    expect(lasts(4n, every(3_600, 1n, { caps: [cap] }), other)).toBe(2 * DAY + 3_600)
  })

  test('extrapolates at the rate that a cap allows, not at the rate of its fresh window', () => {
    const cap: OutgoingCap = { amount: 100n, withinSeconds: DAY }
    // A day and a half of slots is read: the caps of two days are paid in it.
    const seconds = lasts(10_000n, every(60, 1n, { named: 2_160, caps: [cap] })) ?? 0
    expect(Math.abs(seconds / DAY - 100)).toBeLessThan(1.5)
  })

  test('is unlimited if a total cap allows no more than the funds', () => {
    const cap: OutgoingCap = { amount: 2_000n, withinSeconds: Number.POSITIVE_INFINITY }
    expect(lasts(2_000n, every(60, 1n, { caps: [cap] }))).toBeUndefined()
    expect(lasts(1_999n, every(60, 1n, { caps: [cap] }))).toBe(1_999 * 60)
    const both = lasts(4_000n, every(60, 1n, { caps: [cap] }), every(60, 1n)) ?? 0
    expect(Math.abs(both / 60 - 2_000)).toBeLessThan(3)
    const alone = lasts(5_000n, every(60, 1n, { caps: [cap] }), every(60, 1n)) ?? 0
    expect(Math.abs(alone / 60 - 3_000)).toBeLessThan(3)
  })
})
