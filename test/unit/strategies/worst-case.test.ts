import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { anchored, type IntervalRecurrence } from '../../../src/domain/schedule/schedule.ts'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import { reduce } from '../../../src/journal/events/registry.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { NO_PROGRESS, type Progress } from '../../../src/strategies/kind.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import {
  mostSlotsInDay,
  rememberingAhead,
  scheduleAhead,
  slotsAhead,
} from '../../../src/strategies/spending/slots-ahead.ts'
import { type SpendView, worstCases } from '../../../src/strategies/spending/worst-case.ts'
import { twap as kind, type TwapStrategy } from '../../../src/strategies/twap/twap-kind.ts'
import { ACCOUNT, USDC, WETH } from '../../simulation/stage.ts'
import {
  aSchedule,
  aStrategy,
  capOf,
  HOUR,
  milliWeth,
  OPEN,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'
import { aThreshold, aTwap as theTwap } from '../../support/market-view.ts'

/** A full hour on a Friday. */
const NOW = 1_800_000_000
const NO_LIMITS = {
  ...ACCOUNT,
  perOrder: NO_CAPS,
  perDay: NO_CAPS,
  perWeek: NO_CAPS,
  total: NO_CAPS,
}

/** 600 USDC in six hourly slices, from when the schedule is first seen. */
function aTwap(
  changes: Partial<TwapStrategy> = {},
  interval: Partial<IntervalRecurrence> = {},
): TwapStrategy {
  const { missed, maxLatenessMs, jitterMs, overlap } = aSchedule('0 * * * *')
  const every = { everySeconds: HOUR / 1000, count: 6, startSeconds: undefined, ...interval }
  const schedule = { type: 'interval', missed, maxLatenessMs, jitterMs, overlap, ...every } as const
  return theTwap({ name: 'sliced', schedule, total: usdc(600), unsold: 'spread', ...changes })
}

function worst(strategy: Strategy, changes: Partial<SpendView> = {}) {
  const schedule = scheduleAhead(emptyState(), strategy, NOW)
  return worstCases(strategy, {
    nowSeconds: NOW,
    schedule,
    account: NO_LIMITS,
    progress: NO_PROGRESS,
    usedInTotal: () => 0n,
    shared: () => [],
    held: () => undefined,
    priceOf: () => undefined,
    ...changes,
  })
}

/** Journaled progress of a TWAP schedule that has sold this amount. */
const sold = (strategy: TwapStrategy, whole: number): Progress => ({
  memory: { program: kind.slicedTotal(strategy)?.key ?? '', base: '0' },
  spent: new Map([[USDC.address, usdc(whole)]]),
})

describe('the worst day of a TWAP schedule', () => {
  test('that has not started is its total', () => {
    expect(worst(aTwap())).toMatchObject([{ amount: usdc(600) }])
    expect(worst(aTwap({ unsold: 'drop' }))).toMatchObject([{ amount: usdc(600) }])
  })

  test('that is partly sold is the rest', () => {
    const twap = aTwap()
    expect(worst(twap, { progress: sold(twap, 250) })).toMatchObject([{ amount: usdc(350) }])
  })

  test('may be the whole rest of a long schedule if slices make up for missed slices', () => {
    const days = { count: 240 }
    expect(worst(aTwap({}, days))).toMatchObject([{ amount: usdc(600) }])
    const dropped = worst(aTwap({ unsold: 'drop' }, days))
    expect(dropped).toMatchObject([{ amount: usdc(60), boundBy: '24 slots a day' }])
  })

  test('is limited to its slices if a cap per order applies', () => {
    const limits = { ...OPEN, perOrder: capOf(USDC, usdc(50)) }
    expect(worst(aTwap({ limits }))).toMatchObject([{ amount: usdc(300) }])
  })

  test('that is over is zero', () => {
    const over = aTwap({}, { startSeconds: NOW - 86_400 })
    expect(worst(over)).toMatchObject([{ amount: 0n }])
  })

  test('uses the current schedule of the file, not an earlier one', () => {
    const state = emptyState()
    const twap = aTwap()
    const fromSeconds = NOW - 10 * 86_400
    const before = { strategy: twap.name, scheduleKey: 'another', fromSeconds }
    reduce(state, { type: 'strategy-scheduled', ...before }, 0)
    const schedule = scheduleAhead(state, twap, NOW)
    expect(schedule).toMatchObject({ startSeconds: NOW + 1 })
    expect(slotsAhead(schedule, { nowSeconds: NOW }).slots).toHaveLength(6)
  })
})

describe('the number of slots in a day', () => {
  test('is counted from now for a schedule that begins when it is first seen', () => {
    expect(mostSlotsInDay(aTwap().schedule, NOW)).toBe(6)
    expect(mostSlotsInDay(anchored(aTwap().schedule, NOW - 86_400), NOW)).toBe(0)
  })

  test('comes from the next days with slots, however far ahead', () => {
    expect(mostSlotsInDay(aSchedule('0 9 1 1 *'), NOW)).toBe(1)
    expect(mostSlotsInDay(aSchedule('0 9,15 1 * *'), NOW)).toBe(2)
  })

  test('is that of the single densest day', () => {
    expect(mostSlotsInDay(aSchedule('0 * * * 6'), NOW)).toBe(24)
    expect(mostSlotsInDay(aSchedule('0 9 * * *'), NOW)).toBe(1)
  })

  test("is that of a whole day, even if this month's only day has begun", () => {
    expect(mostSlotsInDay(aSchedule('0 * 15 * *'), NOW)).toBe(24)
    expect(mostSlotsInDay(aSchedule('0 * 16W * *'), NOW)).toBe(24)
    expect(mostSlotsInDay(aSchedule('0 * * * 5#3'), NOW)).toBe(24)
  })

  test('is correct for days that depend on the month, even consecutive days', () => {
    expect(mostSlotsInDay(aSchedule('0 9,15 L * *'), NOW)).toBe(2)
    expect(mostSlotsInDay(aSchedule('0 */8 L-2,L-1,LW * *'), NOW)).toBe(3)
    expect(mostSlotsInDay(aSchedule('0 9 L * 5L'), NOW)).toBe(1)
  })
})

describe('the worst day of other kinds', () => {
  test('includes every slot of the last day of a month', () => {
    expect(worst(aStrategy({ schedule: aSchedule('0 9,15,21 L * *') }))).toMatchObject([
      { amount: usdc(75), boundBy: '3 slots a day' },
    ])
  })

  test('excludes slots within a cooldown', () => {
    const limits = { ...OPEN, cooldownMs: 6 * HOUR }
    expect(worst(aStrategy({ limits }))).toMatchObject([{ amount: usdc(100) }])
    expect(worst(aStrategy())).toMatchObject([{ amount: usdc(600) }])
  })

  test('is limited to the rest of a total cap of the strategy or the config', () => {
    const limits = { ...OPEN, total: capOf(USDC, usdc(500)) }
    const usedInTotal = () => usdc(480)
    expect(worst(aStrategy({ limits }), { usedInTotal })).toMatchObject([
      { amount: usdc(20), boundBy: 'limits.total' },
    ])
    const account = { ...NO_LIMITS, total: capOf(USDC, usdc(490)) }
    expect(worst(aStrategy(), { account, usedInTotal })).toMatchObject([
      { amount: usdc(10), boundBy: "the config's limits.total" },
    ])
  })

  test('is limited to 24 times an hourly cap', () => {
    const limits = { ...OPEN, perHour: capOf(USDC, usdc(10)) }
    expect(worst(aStrategy({ limits }))).toMatchObject([{ amount: usdc(240) }])
  })

  test('of a strategy that sells ETH is in ETH, not in the wrapped token', () => {
    const sell = { token: WETH, native: true }
    const size = { side: 'sell', amount: baseUnits(10n ** 15n) } as const
    const [only] = worst(aStrategy({ sell, buy: SELL_USDC, size }), {
      held: ({ native }) => (native ? milliWeth(3) : milliWeth(1)),
    })
    expect(only).toMatchObject({ asset: sell, amount: milliWeth(3) })
  })

  test('has no regular outgoing if the strategy waits for a price', () => {
    const [only] = worst(aThreshold([]))
    expect(only?.outgoing).toBeUndefined()
  })
})

test('a cached calendar has the same slots as a fresh calendar at any later time', () => {
  const readAhead = rememberingAhead()
  const schedule = aSchedule('*/7 * * * *')
  for (const nowSeconds of [NOW, NOW + 420, NOW + 5_000, NOW + 90_000, NOW - 60, NOW + 4_000_000]) {
    const known = readAhead(schedule, { nowSeconds })
    const fresh = slotsAhead(schedule, { nowSeconds })
    // Past slots are dropped: the cache may have fewer slots, never others, and at least half as many.
    expect(known.slots).toEqual(fresh.slots.slice(0, known.slots.length))
    expect(known.slots.length * 2).toBeGreaterThanOrEqual(fresh.slots.length)
    expect(known.untilSeconds).toBeLessThanOrEqual(fresh.untilSeconds ?? 0)
  }
})
