import { describe, expect, test } from 'vitest'
import type { StrategyMemory } from '../../../src/domain/strategy-memory.ts'
import type { Decision, MarketView } from '../../../src/strategies/decision/decision.ts'
import type { ThresholdStrategy } from '../../../src/strategies/threshold/rungs.ts'
import { decideThreshold } from '../../../src/strategies/threshold/threshold-kind.ts'
import { USDC, WETH } from '../../simulation/stage.ts'
import { BUY_WETH, milliWeth, SELL_USDC, usdc } from '../../support/builders.ts'
import {
  above,
  aMarket,
  aThreshold,
  below,
  feedAt,
  feedWithout,
  ofShare,
  reasonOf,
  remembered,
  soldBy,
  trailing,
  usdcPerWeth,
} from './decide-fixture.ts'

type Step = number | readonly [price: number, end: 'unfilled'] | 'stale'

/** Follows prices slot by slot; orders are filled unless the step is unfilled. `sold` is in milli-WETH per slot. */
function follow(
  strategy: ThresholdStrategy,
  steps: readonly Step[],
  from: StrategyMemory = {},
): { sold: readonly number[]; last: Decision | undefined; memory: StrategyMemory } {
  let memory = from
  let last: Decision | undefined
  const sold: number[] = []
  for (const step of steps) {
    const price = typeof step === 'object' ? step[0] : step
    const prices = price === 'stale' ? feedWithout('price-stale') : feedAt(price)
    last = decideThreshold(strategy, aMarket({ prices, memory }))
    memory = remembered(memory, last, typeof step !== 'object')
    sold.push(Number(soldBy(last) / 10n ** 15n))
  }
  return { sold, last, memory }
}

function detailOf(strategy: ThresholdStrategy, changes: Partial<MarketView> = {}): string {
  const decision = decideThreshold(strategy, aMarket(changes))
  return decision.tag === 'skip' ? decision.detail : 'trade'
}

describe('a level', () => {
  test('to sell below fires only when the price reaches it', () => {
    expect(follow(aThreshold(), [2_500, 2_001, 2_000]).sold).toEqual([0, 0, 100])
    expect(follow(aThreshold(), [1_500]).sold).toEqual([100])
  })

  test('to sell above fires only when the price reaches it', () => {
    const strategy = aThreshold({ rungs: [above(3_000)] })
    expect(follow(strategy, [2_500, 2_999, 3_000]).sold).toEqual([0, 0, 100])
  })

  test('that fired waits until the price has come back by the rearm distance', () => {
    expect(follow(aThreshold(), [2_000, 1_900, 2_099, 1_900, 2_100, 2_000]).sold).toEqual([
      100, 0, 0, 0, 0, 100,
    ])
    const strategy = aThreshold({ rungs: [above(3_000)] })
    expect(follow(strategy, [3_000, 3_100, 2_851, 3_100, 2_850, 3_000]).sold).toEqual([
      100, 0, 0, 0, 0, 100,
    ])
  })

  test('stays armed if its order was not filled', () => {
    expect(follow(aThreshold(), [[2_000, 'unfilled'], 1_990, 1_990]).sold).toEqual([100, 100, 0])
  })

  test('with `once` fires once, and then the strategy is finished', () => {
    const strategy = aThreshold({ once: true })
    const { sold, last } = follow(strategy, [2_000, 3_000, 2_000])
    expect(sold).toEqual([100, 0, 0])
    expect(last).toMatchObject({ tag: 'skip', reason: 'finished' })
  })

  test('does not finish the strategy while another level has not fired', () => {
    const strategy = aThreshold({ once: true, rungs: [below(2_000), below(1_000)] })
    const { sold, last } = follow(strategy, [2_000, 2_000])
    expect(sold).toEqual([100, 0])
    expect(last).toMatchObject({ tag: 'skip', reason: 'not-triggered' })
  })

  test('is reported with the price and its trigger price, in whole tokens', () => {
    const strategy = aThreshold({ rungs: [below(2_000), above(2_600)] })
    expect(detailOf(strategy)).toBe(
      'WETH/USDC is 2,500; the nearest rung, above 2600, fires at 2,600',
    )
    const { memory } = follow(strategy, [2_600])
    expect(detailOf(strategy, { memory })).toBe(
      'WETH/USDC is 2,500; the nearest rung, above 2600, is armed again at 2,470',
    )
  })
})

describe('an untrusted price', () => {
  test('triggers nothing and changes nothing, with the reason of the feed', () => {
    for (const reason of [
      'price-missing',
      'price-invalid',
      'price-stale',
      'sequencer-down',
    ] as const) {
      const view = aMarket({ prices: feedWithout(reason), memory: { any: 'thing' } })
      const decision = decideThreshold(aThreshold(), view)
      expect(reasonOf(decision)).toBe(reason)
      expect(decision.memory).toBeUndefined()
    }
  })

  test('neither rearms a level nor moves the extreme of a trailing level', () => {
    expect(follow(aThreshold(), [2_000, 'stale', 2_000]).sold).toEqual([100, 0, 0])
    const stop = aThreshold({ rungs: [trailing(1_000)] })
    expect(follow(stop, [2_500, 'stale', 2_251, 2_250]).sold).toEqual([0, 0, 0, 100])
  })
})

describe('a trailing level', () => {
  const stop = aThreshold({ rungs: [trailing(1_000)] })

  test('to sell fires on a fall from the highest price since it was armed', () => {
    expect(follow(stop, [2_500, 3_000, 2_800, 2_701, 2_700]).sold).toEqual([0, 0, 0, 0, 100])
  })

  test('to buy fires on a rise from the lowest price', () => {
    const entry = aThreshold({
      sell: SELL_USDC,
      buy: BUY_WETH,
      rungs: [trailing(1_000, usdc(250))],
    })
    const prices = [2_500, 2_000, 2_199, 2_200]
    let memory: StrategyMemory = {}
    const sold = prices.map((price) => {
      const decision = decideThreshold(entry, aMarket({ prices: feedAt(price), memory }))
      memory = remembered(memory, decision, true)
      return soldBy(decision)
    })
    expect(sold).toEqual([0n, 0n, 0n, usdc(250)])
  })

  test('is rearmed once the price has recovered from its trigger, and restarts from there', () => {
    const { sold } = follow(stop, [3_000, 2_700, 2_000, 2_834, 2_000, 2_835, 2_552, 2_551])
    expect(sold).toEqual([0, 100, 0, 0, 0, 0, 0, 100])
  })

  test('keeps its extreme if its order was not filled', () => {
    expect(follow(stop, [3_000, [2_700, 'unfilled'], 2_701, 2_700]).sold).toEqual([0, 100, 0, 100])
  })

  test('reports the price at which it fires', () => {
    const { memory } = follow(stop, [3_000])
    expect(detailOf(stop, { memory, prices: feedAt(2_800) })).toBe(
      'WETH/USDC is 2,800; the nearest rung, trailing 10%, fires at 2,700',
    )
  })
})

describe('several levels reached at once', () => {
  test('become one order for the sum of their amounts', () => {
    const rungs = [below(2_200, milliWeth(1)), below(2_100, milliWeth(20)), below(1_000)]
    expect(follow(aThreshold({ rungs }), [2_150, 2_000, 2_000]).sold).toEqual([1, 20, 0])
    expect(follow(aThreshold({ rungs }), [2_000, 2_000]).sold).toEqual([21, 0])
  })

  test('sell shares of the available balance, rounded down and at most all of it', () => {
    const third = aThreshold({ rungs: [ofShare(below(2_000), 3_333)] })
    const view = aMarket({ prices: feedAt(2_000), available: new Map([[WETH.address, 100n]]) })
    expect(soldBy(decideThreshold(third, view))).toBe(33n)
    const all = aThreshold({
      rungs: [ofShare(below(2_000), 6_000), ofShare(below(2_100), 6_000)],
    })
    expect(soldBy(decideThreshold(all, view))).toBe(100n)
  })

  test('let a share sell everything, even if another fixed amount would exceed it', () => {
    const rungs = [below(2_100, milliWeth(500)), ofShare(below(2_000), 10_000)]
    expect(follow(aThreshold({ rungs }), [2_000]).sold).toEqual([10_000])
  })
})

describe('an order', () => {
  const low = { prices: feedAt(2_000) }

  test('must be covered by the balance', () => {
    const have = (weth: bigint) => aMarket({ ...low, available: new Map([[WETH.address, weth]]) })
    expect(reasonOf(decideThreshold(aThreshold(), have(milliWeth(100))))).toBe('trade')
    expect(reasonOf(decideThreshold(aThreshold(), have(milliWeth(100) - 1n)))).toBe(
      'insufficient-balance',
    )
    const everything = aThreshold({ rungs: [ofShare(below(2_000), 10_000)] })
    expect(reasonOf(decideThreshold(everything, have(0n)))).toBe('insufficient-balance')
    expect(reasonOf(decideThreshold(everything, have(-5n)))).toBe('insufficient-balance')
  })

  test('must have a price within its bounds', () => {
    const { num, den } = usdcPerWeth(2_100)
    const price = { min: undefined, max: { num: den, den: num } }
    const decision = decideThreshold(aThreshold({ price }), aMarket(low))
    expect(reasonOf(decision)).toBe('price-outside-bounds')
    // The price of the sale is in WETH per USDC; its maximum is the minimum in USDC per WETH.
    expect(decision).toMatchObject({
      detail: expect.stringMatching(
        /USDC per WETH, and price\.max says not below 2,100 USDC per WETH$/,
      ),
    })
  })
})

describe('memory', () => {
  test('of a level that was removed from the file is dropped', () => {
    const { memory } = follow(aThreshold(), [2_000])
    expect(Object.keys(memory)).toHaveLength(1)
    expect(follow(aThreshold({ rungs: [below(1_000)] }), [2_000], memory).memory).toEqual({})
  })

  test('of another pair or direction is never used', () => {
    const rungs = [trailing(1_000)]
    const { memory } = follow(aThreshold({ rungs }), [2_000])
    const buys = aThreshold({ rungs, sell: SELL_USDC, buy: BUY_WETH })
    expect(reasonOf(decideThreshold(buys, aMarket({ memory })))).toBe('not-triggered')
    const watch = { pair: 'USDC/WETH', base: USDC, quote: WETH } as const
    const other = decideThreshold(aThreshold({ watch, rungs }), aMarket({ memory }))
    expect(reasonOf(other)).toBe('not-triggered')
    expect(Object.keys(other.memory ?? {})).toEqual(['extreme USDC/WETH up trailing 10%'])
  })

  test('stays small however long the strategy runs', () => {
    const rungs = [below(2_000), above(3_000), trailing(500)]
    const prices = Array.from({ length: 500 }, (_, index) => 1_500 + ((index * 7_919) % 2_000))
    const { memory } = follow(aThreshold({ rungs }), prices)
    expect(Object.keys(memory).length).toBeLessThanOrEqual(3)
    expect(JSON.stringify(memory).length).toBeLessThan(400)
  })
})
