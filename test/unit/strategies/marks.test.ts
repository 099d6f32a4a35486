import { expect, test } from 'vitest'
import { call } from '../../../src/strategies/call/call-kind.ts'
import { dca, decideDca } from '../../../src/strategies/dca/dca-kind.ts'
import type { Marks } from '../../../src/strategies/kind.ts'
import {
  memoryFired,
  type ThresholdStrategy,
  watchRungs,
} from '../../../src/strategies/threshold/rungs.ts'
import { threshold } from '../../../src/strategies/threshold/threshold-kind.ts'
import {
  aCall,
  aStrategy,
  BUY_WETH,
  milliWeth,
  NOON_SECONDS,
  SELL_USDC,
  usdc,
} from '../../support/builders.ts'
import {
  above,
  aMarket,
  aThreshold,
  below,
  feedAt,
  trailing,
  usdcPerWeth,
} from './decide-fixture.ts'

/** Whole USDC per WETH. */
function pricesOf(marks: Marks | undefined): readonly (readonly [string, number, boolean])[] {
  return (marks?.levels ?? []).map(({ name, level: { num, den }, trades }) => {
    return [name, Number((num * 10n ** 12n) / den), trades] as const
  })
}

const MARKET = { nowSeconds: NOON_SECONDS, memory: {}, entry: undefined }

function rungsAt(strategy: ThresholdStrategy, price: number, memory = {}) {
  return pricesOf(threshold.marks(strategy, { ...MARKET, memory, price: usdcPerWeth(price) }))
}

test('a waiting level is marked where it trades, a trailing one at its distance from the furthest price', () => {
  const strategy = aThreshold({ rungs: [below(2_000), above(3_000), trailing(1_000)] })
  expect(rungsAt(strategy, 2_500)).toEqual([
    ['below 2000', 2_000, true],
    ['above 3000', 3_000, true],
    ['trailing 10%', 2_250, true],
  ])
})

test('a level that fired is marked where it is armed again, and not at all if it fires only once', () => {
  const strategy = aThreshold({ rungs: [below(2_000)] })
  const price = usdcPerWeth(1_900)
  const watched = watchRungs(strategy, price, { memory: {}, entry: undefined })
  const fired = memoryFired(strategy, watched, price)
  expect(rungsAt(strategy, 1_900, fired)).toEqual([['below 2000 is armed again', 2_100, false]])
  expect(rungsAt({ ...strategy, once: true }, 1_900, fired)).toEqual([])
})

test('dips are marked below the highest price that the strategy remembers', () => {
  const strategy = aStrategy({
    ...{ sell: SELL_USDC, buy: BUY_WETH, dipWindowMs: 86_400_000 },
    dips: [
      { dropBps: 2_000, amount: usdc(100) },
      { dropBps: 1_000, amount: usdc(50) },
    ],
  })
  const { memory = {} } = decideDca(strategy, aMarket({ prices: feedAt(3_000) }))
  const marks = dca.marks(strategy, { ...MARKET, memory, price: usdcPerWeth(2_800) })
  expect(pricesOf(marks)).toEqual([
    ['dip of 20%', 2_400, true],
    ['dip of 10%', 2_700, true],
  ])
})

test('nothing is marked without a price, and for a kind without prices', () => {
  const strategy = aThreshold({ rungs: [below(2_000, milliWeth(1))] })
  expect(threshold.marks(strategy, { ...MARKET, price: undefined })).toBeUndefined()
  expect(dca.marks(aStrategy(), { ...MARKET, price: undefined })).toBeUndefined()
  expect(call.marks(aCall(), { ...MARKET, price: undefined })).toBeUndefined()
})
