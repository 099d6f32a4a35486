import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { StrategyMemory } from '../../../src/domain/strategy-memory.ts'
import type { MarketView } from '../../../src/strategies/decision/decision.ts'
import { decideTwap, type TwapStrategy } from '../../../src/strategies/twap/twap-kind.ts'
import { USDC } from '../../simulation/stage.ts'
import { BUY_WETH, NOON_SECONDS, SELL_USDC, usdc } from '../../support/builders.ts'
import { aMarket, aTwap, feedWithout, reasonOf, soldBy, usdcPerWeth } from './decide-fixture.ts'

const HOUR_SECONDS = 3_600

/** The view of a slot some hours after noon, with this amount spent. */
function viewAfter(hours: number, spent = 0n, changes: Partial<MarketView> = {}): MarketView {
  return aMarket({
    slotSeconds: NOON_SECONDS + hours * HOUR_SECONDS,
    spent: new Map([[USDC.address, baseUnits(spent)]]),
    ...changes,
  })
}

/** Runs slots in order; `fills` states which slices fill. Returns the amount that each slot sells. */
function run(strategy: TwapStrategy, fills: readonly boolean[], spentBefore = 0n): bigint[] {
  let memory: StrategyMemory = {}
  let spent = spentBefore
  return fills.map((isFilled, index) => {
    const decision = decideTwap(strategy, viewAfter(index, spent, { memory }))
    memory = decision.memory ?? memory
    const sold = soldBy(decision)
    if (isFilled) spent += sold
    return sold
  })
}

const tenUnits = (unsold: TwapStrategy['unsold']): TwapStrategy =>
  aTwap({ total: baseUnits(10n), unsold }, { count: 4 })

describe('slices', () => {
  test('that all fill sum exactly to the total, whatever the division', () => {
    expect(run(tenUnits('spread'), [true, true, true, true])).toEqual([3n, 3n, 2n, 2n])
    expect(run(tenUnits('drop'), [true, true, true, true])).toEqual([2n, 3n, 2n, 3n])
  })

  test('that were not filled are shared by later slices, and the last takes the rest', () => {
    expect(run(tenUnits('spread'), [false, true, false, true])).toEqual([3n, 4n, 3n, 6n])
  })

  test('that were not filled are dropped under `drop`', () => {
    expect(run(tenUnits('drop'), [false, true, false, true])).toEqual([2n, 3n, 2n, 3n])
  })

  test('ignore spending before the schedule began', () => {
    expect(run(tenUnits('spread'), [true, true, true, true], usdc(77))).toEqual([3n, 3n, 2n, 2n])
  })

  test('of a fully sold total are finished and report the sold amount', () => {
    const strategy = tenUnits('spread')
    const { memory = {} } = decideTwap(strategy, viewAfter(0))
    expect(decideTwap(strategy, viewAfter(2, 10n, { memory }))).toMatchObject({
      tag: 'skip',
      reason: 'finished',
      detail: '0.00001 of 0.00001 USDC are sold',
    })
  })

  test('end with the schedule, even with an unsold rest', () => {
    const strategy = tenUnits('drop')
    const { memory = {} } = decideTwap(strategy, viewAfter(0))
    expect(decideTwap(strategy, viewAfter(4, 5n, { memory }))).toMatchObject({
      tag: 'skip',
      reason: 'finished',
      detail: '0.000005 of 0.00001 USDC are sold',
    })
  })

  test('that stayed unsold are sold by a slot triggered after the end', () => {
    const strategy = tenUnits('spread')
    const { memory = {} } = decideTwap(strategy, viewAfter(0))
    expect(soldBy(decideTwap(strategy, viewAfter(4, 5n, { memory })))).toBe(5n)
    expect(reasonOf(decideTwap(strategy, viewAfter(4, 10n, { memory })))).toBe('finished')
  })

  test('do not begin before the start', () => {
    expect(reasonOf(decideTwap(aTwap(), viewAfter(-1)))).toBe('not-triggered')
  })

  test('that round to zero are skipped', () => {
    const strategy = aTwap({ total: baseUnits(3n), unsold: 'drop' }, { count: 4 })
    expect(reasonOf(decideTwap(strategy, viewAfter(0)))).toBe('below-minimum')
  })
})

describe('a slot', () => {
  test('outside the grid belongs to the slice that contains it', () => {
    const strategy = tenUnits('drop')
    expect(soldBy(decideTwap(strategy, viewAfter(1.99)))).toBe(3n)
    expect(soldBy(decideTwap(strategy, viewAfter(2)))).toBe(2n)
  })

  test('counts from the time when the schedule was first seen if the file has no start', () => {
    const strategy = aTwap(
      { total: baseUnits(10n), unsold: 'drop' },
      { count: 4, startSeconds: undefined },
    )
    const seen = { startSeconds: NOON_SECONDS - HOUR_SECONDS }
    expect(soldBy(decideTwap(strategy, viewAfter(0, 0n, seen)))).toBe(3n)
    expect(soldBy(decideTwap(strategy, viewAfter(0)))).toBe(2n)
  })

  test('is skipped outside the price bounds, without a price and without the balance', () => {
    const max = aTwap({ price: { min: undefined, max: usdcPerWeth(2_499) } })
    expect(reasonOf(decideTwap(max, viewAfter(0)))).toBe('price-outside-bounds')
    const stale = viewAfter(0, 0n, { prices: feedWithout('price-stale') })
    expect(reasonOf(decideTwap(aTwap(), stale))).toBe('price-stale')
    const poor = viewAfter(0, 0n, { available: new Map([[USDC.address, usdc(100) - 1n]]) })
    expect(reasonOf(decideTwap(aTwap(), poor))).toBe('insufficient-balance')
  })

  test('sells at most the cap per order and leaves the rest to later slots', () => {
    const orderCaps = new Map([[USDC.address, usdc(60)]])
    expect(soldBy(decideTwap(aTwap(), viewAfter(0, 0n, { orderCaps })))).toBe(usdc(60))
    expect(soldBy(decideTwap(aTwap(), viewAfter(23, 0n, { orderCaps })))).toBe(usdc(60))
  })
})

describe('a TWAP schedule', () => {
  const begun = decideTwap(aTwap(), viewAfter(0)).memory ?? {}

  test('keeps its progress while its file stays equivalent', () => {
    expect(decideTwap(aTwap(), viewAfter(1, usdc(100), { memory: begun })).memory).toEqual(begun)
  })

  test('restarts with another total, count, start or token', () => {
    const view = viewAfter(1, usdc(100), { memory: begun })
    const others = [
      aTwap({ total: usdc(1_200) }),
      aTwap({}, { count: 12 }),
      aTwap({}, { startSeconds: NOON_SECONDS - 60 }),
    ]
    for (const other of others)
      expect(decideTwap(other, view).memory).toMatchObject({ base: `${usdc(100)}` })
    const weth = aTwap({ sell: BUY_WETH, buy: SELL_USDC })
    const spentBefore = decideTwap(aTwap(), viewAfter(0, usdc(500))).memory ?? {}
    const decision = decideTwap(weth, viewAfter(0, usdc(500), { memory: spentBefore }))
    expect(decision.memory).toMatchObject({ base: '0' })
    expect(soldBy(decision)).toBe(usdc(100))
  })

  test('waits while an order of the previous schedule is open, because that order may still fail', () => {
    const inFlight = new Map([[USDC.address, usdc(50)]])
    const other = aTwap({ total: usdc(1_200) })
    const view = viewAfter(1, usdc(150), { memory: begun, promised: inFlight })
    expect(reasonOf(decideTwap(other, view))).toBe('too-many-open')
    // Its own open orders count as sold and do not block.
    expect(soldBy(decideTwap(aTwap(), view))).toBe((usdc(2_400) - usdc(150) + 22n) / 23n)
  })
})
