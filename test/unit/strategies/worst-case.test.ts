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

/** A full hour, a Friday. */
const NOW = 1_800_000_000
const NO_LIMITS = {
  ...ACCOUNT,
  perOrder: NO_CAPS,
  perDay: NO_CAPS,
  perWeek: NO_CAPS,
  total: NO_CAPS,
}

/** 600 USDC in six slices, one an hour, from when the schedule is first seen. */
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

/** What the journal has of a program of which so much is sold. */
const sold = (strategy: TwapStrategy, whole: number): Progress => ({
  memory: { program: kind.slicedTotal(strategy)?.key ?? '', base: '0' },
  spent: new Map([[USDC.address, usdc(whole)]]),
})

describe('the worst day of a program', () => {
  test('that nobody has seen yet is all of it', () => {
    expect(worst(aTwap())).toMatchObject([{ amount: usdc(600) }])
    expect(worst(aTwap({ unsold: 'drop' }))).toMatchObject([{ amount: usdc(600) }])
  })

  test('of which a part is sold is what is left', () => {
    const twap = aTwap()
    expect(worst(twap, { progress: sold(twap, 250) })).toMatchObject([{ amount: usdc(350) }])
  })

  test('may be all that is left, however long it runs, where slices take over what others missed', () => {
    const days = { count: 240 }
    expect(worst(aTwap({}, days))).toMatchObject([{ amount: usdc(600) }])
    const dropped = worst(aTwap({ unsold: 'drop' }, days))
    expect(dropped).toMatchObject([{ amount: usdc(60), boundBy: '24 slots a day' }])
  })

  test('is no more than its slices may sell, where a cap of an order cuts them', () => {
    const limits = { ...OPEN, perOrder: capOf(USDC, usdc(50)) }
    expect(worst(aTwap({ limits }))).toMatchObject([{ amount: usdc(300) }])
  })

  test('that is over is nothing', () => {
    const over = aTwap({}, { startSeconds: NOW - 86_400 })
    expect(worst(over)).toMatchObject([{ amount: 0n }])
  })

  test('counts the schedule that the file has now, not one that was seen before it', () => {
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

describe('slots in a day', () => {
  test('are counted from now on of a schedule that begins when it is first seen', () => {
    expect(mostSlotsInDay(aTwap().schedule, NOW)).toBe(6)
    expect(mostSlotsInDay(anchored(aTwap().schedule, NOW - 86_400), NOW)).toBe(0)
  })

  test('are those of the next days that have any, however far off', () => {
    expect(mostSlotsInDay(aSchedule('0 9 1 1 *'), NOW)).toBe(1)
    expect(mostSlotsInDay(aSchedule('0 9,15 1 * *'), NOW)).toBe(2)
  })

  test('are those of the densest day, and of no more days than one', () => {
    expect(mostSlotsInDay(aSchedule('0 * * * 6'), NOW)).toBe(24)
    expect(mostSlotsInDay(aSchedule('0 9 * * *'), NOW)).toBe(1)
  })

  test('are those of a whole day, where the only one of this month has begun', () => {
    expect(mostSlotsInDay(aSchedule('0 * 15 * *'), NOW)).toBe(24)
    expect(mostSlotsInDay(aSchedule('0 * 16W * *'), NOW)).toBe(24)
    expect(mostSlotsInDay(aSchedule('0 * * * 5#3'), NOW)).toBe(24)
  })

  test('are those of days that only their month tells, be they in a row', () => {
    expect(mostSlotsInDay(aSchedule('0 9,15 L * *'), NOW)).toBe(2)
    expect(mostSlotsInDay(aSchedule('0 */8 L-2,L-1,LW * *'), NOW)).toBe(3)
    expect(mostSlotsInDay(aSchedule('0 9 L * 5L'), NOW)).toBe(1)
  })
})

describe('the worst day of other kinds', () => {
  test('is that of every slot of the last day of a month', () => {
    expect(worst(aStrategy({ schedule: aSchedule('0 9,15,21 L * *') }))).toMatchObject([
      { amount: usdc(75), boundBy: '3 slots a day' },
    ])
  })

  test('is that of the slots that a cooldown leaves', () => {
    const limits = { ...OPEN, cooldownMs: 6 * HOUR }
    expect(worst(aStrategy({ limits }))).toMatchObject([{ amount: usdc(100) }])
    expect(worst(aStrategy())).toMatchObject([{ amount: usdc(600) }])
  })

  test('is no more than is left under a total, of the strategy or of the config', () => {
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

  test('knows 24 hours in a day that a cap of an hour holds', () => {
    const limits = { ...OPEN, perHour: capOf(USDC, usdc(10)) }
    expect(worst(aStrategy({ limits }))).toMatchObject([{ amount: usdc(240) }])
  })

  test('of a strategy that sells ETH is of ETH, and not of what it is wrapped into', () => {
    const sell = { token: WETH, native: true }
    const size = { side: 'sell', amount: baseUnits(10n ** 15n) } as const
    const [only] = worst(aStrategy({ sell, buy: SELL_USDC, size }), {
      held: ({ native }) => (native ? milliWeth(3) : milliWeth(1)),
    })
    expect(only).toMatchObject({ asset: sell, amount: milliWeth(3) })
  })

  test('pays by no clock where it waits for a price', () => {
    const [only] = worst(aThreshold([]))
    expect(only?.outgoing).toBeUndefined()
  })
})

test('a calendar that is remembered names the same slots as one that is read anew, at any later time', () => {
  const readAhead = rememberingAhead()
  const schedule = aSchedule('*/7 * * * *')
  for (const nowSeconds of [NOW, NOW + 420, NOW + 5_000, NOW + 90_000, NOW - 60, NOW + 4_000_000]) {
    const known = readAhead(schedule, { nowSeconds })
    const fresh = slotsAhead(schedule, { nowSeconds })
    // What has passed is gone from it: it names fewer, never others, and half as many at the least.
    expect(known.slots).toEqual(fresh.slots.slice(0, known.slots.length))
    expect(known.slots.length * 2).toBeGreaterThanOrEqual(fresh.slots.length)
    expect(known.untilSeconds).toBeLessThanOrEqual(fresh.untilSeconds ?? 0)
  }
})
