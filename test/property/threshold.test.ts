import fc from 'fast-check'
import { expect, test } from 'vitest'
import { baseUnits } from '../../src/domain/money/units.ts'
import type { StrategyMemory } from '../../src/domain/strategy-memory.ts'
import type { Rung, ThresholdStrategy } from '../../src/strategies/threshold/rungs.ts'
import { decideThreshold } from '../../src/strategies/threshold/threshold-kind.ts'
import { BUY_WETH, SELL_USDC } from '../support/builders.ts'
import {
  above,
  aMarket,
  aThreshold,
  below,
  feedAt,
  feedWithout,
  remembered,
  soldBy,
  trailing,
} from '../unit/strategies/decide-fixture.ts'

/** A slot: a price in whole USDC per WETH, or undefined if stale; and whether an order would fill. */
type Slot = { readonly price: number | undefined; readonly isFilled: boolean }

const slot: fc.Arbitrary<Slot> = fc.record({
  price: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 900, max: 1_100 }) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  ),
  isFilled: fc.boolean(),
})

type Level = { readonly type: 'above' | 'below' | 'trailing'; readonly at: number }

const level: fc.Arbitrary<Level> = fc.oneof(
  fc.record({ type: fc.constantFrom('above', 'below'), at: fc.integer({ min: 920, max: 1_080 }) }),
  fc.record({ type: fc.constant('trailing'), at: fc.integer({ min: 1, max: 1_500 }) }),
)

type Case = {
  readonly levels: readonly Level[]
  readonly rearmBps: number
  readonly once: boolean
  readonly sells: boolean
}

const someCase: fc.Arbitrary<Case> = fc.record({
  levels: fc.uniqueArray(level, {
    minLength: 1,
    maxLength: 4,
    selector: ({ type, at }) => `${type} ${at}`,
  }),
  rearmBps: fc.integer({ min: 1, max: 900 }),
  once: fc.boolean(),
  sells: fc.boolean(),
})

/** Rung n trades 2^n base units, so that the size of an order identifies its rungs. */
function strategyOf({ levels, rearmBps, once, sells }: Case): ThresholdStrategy {
  const make = { above, below, trailing }
  const rungs = levels.map(
    ({ type, at }, index): Rung => make[type](at, baseUnits(2n ** BigInt(index))),
  )
  const trade = sells ? { sell: BUY_WETH, buy: SELL_USDC } : { sell: SELL_USDC, buy: BUY_WETH }
  return aThreshold({ ...trade, rungs, rearmBps, once })
}

type Past = readonly { readonly price: number; readonly fired: boolean }[]

/**
 * Returns whether a rung must fire at the end of a past, derived only from that past: the prices since it last fired must
 * contain a price that re-arms it, and the last price must reach its level.
 */
function hasToFire({ type, at }: Level, { rearmBps, once, sells }: Case, past: Past): boolean {
  const price = past.at(-1)?.price ?? 0
  const lastFired = past.findLastIndex(({ fired }) => fired)
  const since = past.slice(lastFired + 1).map((each) => each.price)
  const isUpward = type === 'above' || (type === 'trailing' && !sells)
  const from = type === 'trailing' ? (past[lastFired]?.price ?? 0) : at
  const isBack = (each: number): boolean =>
    isUpward
      ? each * 10_000 <= from * (10_000 - rearmBps)
      : each * 10_000 >= from * (10_000 + rearmBps)
  const armedAt = lastFired < 0 ? 0 : since.findIndex(isBack)
  if (armedAt < 0 || (once && lastFired >= 0)) return false
  const armed = since.slice(armedAt)
  if (type === 'above') return price >= at
  if (type === 'below') return price <= at
  return isUpward
    ? price * 10_000 >= Math.min(...armed) * (10_000 + at)
    : price * 10_000 <= Math.max(...armed) * (10_000 - at)
}

/** Amount due at a price, and the past of every rung afterwards. */
function nextOf(
  settings: Case,
  pasts: readonly Past[],
  { price, isFilled }: Slot,
): { readonly due: bigint; readonly again: number; readonly pasts: readonly Past[] } {
  if (price === undefined) return { due: 0n, again: 0, pasts }
  const fires = settings.levels.map((each, index) =>
    hasToFire(each, settings, [...(pasts[index] ?? []), { price, fired: false }]),
  )
  return {
    due: fires.reduce((sum, each, index) => (each ? sum + 2n ** BigInt(index) : sum), 0n),
    again: pasts.filter((past, index) => fires[index] && past.some(({ fired }) => fired)).length,
    pasts: pasts.map((past, index) => [
      ...past,
      { price, fired: isFilled && fires[index] === true },
    ]),
  }
}

test('a level fires whenever it is armed and reached, and never twice without being re-armed', () => {
  let again = 0
  fc.assert(
    fc.property(
      someCase,
      fc.array(slot, { minLength: 1, maxLength: 60, size: 'max' }),
      (settings, slots) => {
        const strategy = strategyOf(settings)
        let pasts: readonly Past[] = settings.levels.map(() => [])
        let memory: StrategyMemory = {}
        for (const each of slots) {
          const prices = each.price === undefined ? feedWithout('price-stale') : feedAt(each.price)
          const decision = decideThreshold(strategy, aMarket({ prices, memory }))
          memory = remembered(memory, decision, each.isFilled)
          const next = nextOf(settings, pasts, each)
          expect(soldBy(decision)).toBe(next.due)
          pasts = next.pasts
          again += next.again
        }
      },
    ),
    { numRuns: 300 },
  )
  // Otherwise no level was ever re-armed, and this test proved nothing.
  expect(again).toBeGreaterThan(100)
})
