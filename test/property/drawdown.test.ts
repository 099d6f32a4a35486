import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { StrategyMemory } from '../../src/domain/strategy-memory.ts'
import type { MarketView } from '../../src/strategies/decision/decision.ts'
import { type Drawdown, drawdownOf } from '../../src/strategies/decision/drawdown.ts'
import { decideThreshold } from '../../src/strategies/threshold/threshold-kind.ts'
import { USDC, WETH } from '../simulation/stage.ts'
import { milliWeth, OPEN, usdc } from '../support/builders.ts'
import {
  aMarket,
  aThreshold,
  feedAt,
  feedWithout,
  remembered,
  trailing,
} from '../unit/strategies/decide-fixture.ts'

/** A slot: a price in whole USDC per WETH or none, and balances in whole USDC and milli-WETH. */
type Slot = {
  readonly price: number | undefined
  readonly usdc: number
  readonly milliWeth: number
  readonly resumed: boolean
  readonly isFilled: boolean
  /** True if one of the two balances could not be read. */
  readonly isPartial: boolean
}

const slot: fc.Arbitrary<Slot> = fc.record({
  price: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 900, max: 1_100 }) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  ),
  usdc: fc.integer({ min: 0, max: 40 }).map((steps) => 1_000 + steps * 5),
  milliWeth: fc.integer({ min: 1_000, max: 1_050 }),
  resumed: fc.oneof(
    { weight: 9, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
  isFilled: fc.boolean(),
  isPartial: fc.oneof(
    { weight: 7, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
})

/** All values since the last resume, in thousandths of a USDC, so that each is a safe integer. */
type Past = readonly number[]

/** Returns whether the limit must trip, derived only from the past and the slot. */
function hasToTrip(past: Past, each: Slot, drawdownBps: number): boolean {
  const value = worthOf(each)
  if (value === undefined) return false
  return value * 10_000 <= Math.max(...past, value) * (10_000 - drawdownBps)
}

function worthOf({ price, usdc, milliWeth, isPartial }: Slot): number | undefined {
  return price === undefined || isPartial ? undefined : usdc * 1_000 + milliWeth * price
}

function viewOf({ price, ...held }: Slot, memory: StrategyMemory): MarketView {
  const available = new Map([
    [USDC.address, usdc(held.usdc)],
    [WETH.address, milliWeth(held.milliWeth)],
  ])
  if (held.isPartial) available.delete(held.isFilled ? USDC.address : WETH.address)
  const prices = price === undefined ? feedWithout('price-stale') : feedAt(price)
  return aMarket({ available, prices, memory })
}

/** Result of the limit for each slot. A paused strategy is resumed before the next slot. */
function follow(drawdownBps: number, slots: readonly Slot[]): readonly Drawdown['tag'][] {
  const strategy = aThreshold({
    limits: { ...OPEN, drawdownBps },
    rungs: [trailing(300, milliWeth(1))],
  })
  let memory: StrategyMemory = {}
  let resumedAtMs: number | undefined
  return slots.map((each, index) => {
    if (each.resumed) resumedAtMs = index
    const view = viewOf(each, memory)
    const drawdown = drawdownOf(strategy, view, resumedAtMs)
    if (drawdown.tag === 'tripped') resumedAtMs = index + 0.5
    if (drawdown.tag === 'within')
      memory = {
        ...remembered(memory, decideThreshold(strategy, view), each.isFilled),
        ...drawdown.memory,
      }
    return drawdown.tag
  })
}

function expected(drawdownBps: number, slots: readonly Slot[]): readonly Drawdown['tag'][] {
  let past: Past = []
  return slots.map((each) => {
    if (each.resumed) past = []
    const trips = hasToTrip(past, each, drawdownBps)
    const value = worthOf(each)
    if (trips) past = []
    else if (value !== undefined) past = [...past, value]
    if (each.isPartial) return 'unreadable'
    return trips ? 'tripped' : 'within'
  })
}

test('the drawdown limit trips exactly when the value has fallen by the limit from its peak since the last resume', () => {
  const seen = { tripped: 0, within: 0, unreadable: 0 }
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 2_000 }),
      fc.array(slot, { minLength: 1, maxLength: 50, size: 'max' }),
      (drawdownBps, slots) => {
        const tags = follow(drawdownBps, slots)
        expect(tags).toEqual(expected(drawdownBps, slots))
        for (const tag of tags) seen[tag] += 1
      },
    ),
    { numRuns: 300 },
  )
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(100)
})
