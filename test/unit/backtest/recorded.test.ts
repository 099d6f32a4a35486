import { expect, test } from 'vitest'
import { heldSeries } from '../../../src/backtest/prices/held.ts'
import { Board } from '../../../src/backtest/prices/price-board.ts'
import { PriceRecorder } from '../../../src/backtest/prices/recorded.ts'
import { acceptPath, createPricePaths, type PriceFeed } from '../../../src/domain/money/price.ts'
import type { Pair, Token } from '../../../src/domain/money/token.ts'
import { compareRatio, type Ratio } from '../../../src/domain/money/units.ts'
import type { EventOf } from '../../../src/journal/events/registry.ts'
import type { PriceInput } from '../../../src/journal/records.ts'
import { USDC, WETH, WETH_USDC } from '../../simulation/stage.ts'
import { YEAR_BEGINS } from '../../support/backtest/playing.ts'

const DAI: Token = { ...WETH, symbol: 'DAI', address: `0x${'da'.repeat(20)}` }
const DAI_USDC: PriceFeed = { ...WETH_USDC, pair: 'DAI/USDC', base: DAI, maxAgeSeconds: 600 }
const FEEDS = [WETH_USDC, DAI_USDC]
const HOUR = 3_600

/** Answer of a feed at a second of the year, with eight decimal places. */
type Answer = readonly [pair: Pair, answer: bigint, atSeconds: number]

/** A price as decision inputs record it, found as the daemon finds it. */
function seen(sell: Token, buy: Token, nowSeconds: number, answers: readonly Answer[]): PriceInput {
  const readings = new Map(
    answers.map(([pair, answer, at]) => [
      pair,
      { answer, decimals: 8, updatedAtSeconds: YEAR_BEGINS + at, sequencer: undefined },
    ]),
  )
  const path = createPricePaths(FEEDS)(sell, buy)
  const accepted = acceptPath(path, readings, YEAR_BEGINS + nowSeconds)
  if (!accepted.ok) return { refused: accepted.reason }
  const { ratio, updatedAtSeconds, pairs } = accepted.price
  return { ...ratio, updatedAtSeconds, feeds: pairs }
}

function decision(
  at: number,
  prices: Readonly<Record<string, PriceInput>>,
): EventOf<'slot-closed'> {
  return {
    ...{ type: 'slot-closed', strategy: 'a', slotSeconds: YEAR_BEGINS + at },
    ...{ outcome: 'skipped', reason: 'inside-band' },
    inputs: {
      ...{ blockNumber: 1n, blockTimeSeconds: YEAR_BEGINS + at, available: {}, memory: {} },
      prices,
    },
  }
}

/** Price of a pair as a strategy that plays the recorded prices sees it at a given second. */
function played(events: readonly EventOf<'slot-closed'>[]) {
  const tokens = new Map([USDC, WETH, DAI].map((token) => [token.symbol, token]))
  const prices = new Map(FEEDS.map((feed) => [feed.pair, feed]))
  const recorder = new PriceRecorder({ prices, tokens })
  for (const event of events) recorder.add({ event })
  const recorded = structuredClone(recorder.result('a journal'))
  const path = createPricePaths(recorded.feeds)
  const feeds = new Map(recorded.feeds.map((feed) => [feed.pair, feed]))
  return {
    recorded,
    at(seconds: number, sell: Token, buy: Token): Ratio | string {
      const period = { fromSeconds: 0, untilSeconds: Number.MAX_SAFE_INTEGER }
      const board = new Board(recorded.priceSeries.map(heldSeries), feeds, period)
      board.advanceTo(YEAR_BEGINS + seconds)
      const answer = acceptPath(path(sell, buy), board.readings, YEAR_BEGINS + seconds)
      return answer.ok ? answer.price.ratio : answer.reason
    },
  }
}

function ratioOf(price: PriceInput): Ratio {
  return 'refused' in price ? expect.unreachable(price.refused) : price
}

function expectSame(found: Ratio | string, price: PriceInput): void {
  if (typeof found === 'string') expect.unreachable(found)
  else expect(compareRatio(found, ratioOf(price))).toBe(0)
}

test("answers of a single feed are exact in both directions, at the feed's own time", () => {
  const early: Answer = ['WETH/USDC', 312_345_678_901n, 10]
  const late: Answer = ['WETH/USDC', 299_999_999_999n, 70]
  const buying = seen(USDC, WETH, 60, [early])
  const selling = seen(WETH, USDC, 120, [late])
  const { at, recorded } = played([
    decision(60, { 'USDC/WETH': buying }),
    decision(61, { 'USDC/WETH': buying }),
    decision(120, { 'WETH/USDC': selling }),
  ])
  expect(recorded.feeds.map(({ pair }) => pair)).toEqual(['WETH/USDC'])
  expect(recorded.priceSeries[0]?.source).toBe('a journal up to 2025-01-01T00:01:10.000Z')
  expect(at(9, USDC, WETH)).toBe('price-missing')
  expectSame(at(10, USDC, WETH), buying)
  expectSame(at(69, USDC, WETH), buying)
  expectSame(at(70, WETH, USDC), selling)
  expectSame(at(70, USDC, WETH), seen(USDC, WETH, 120, [late]))
  expect(at(70 + HOUR + 1, USDC, WETH)).toBe('price-stale')
})

test('a price derived from several feeds acts as its own feed, valid as long as the shortest-lived of them', () => {
  const answers: readonly Answer[] = [
    ['WETH/USDC', 312_345_678_901n, 10],
    ['DAI/USDC', 99_990_000n, 20],
  ]
  const price = seen(DAI, WETH, 60, answers)
  const { at, recorded } = played([decision(60, { 'DAI/WETH': price })])
  expect(recorded.feeds).toMatchObject([{ pair: 'WETH/DAI', maxAgeSeconds: 600 }])
  expect(at(59, DAI, WETH)).toBe('price-missing')
  const found = at(60, DAI, WETH)
  const { num, den } = typeof found === 'string' ? expect.unreachable(found) : found
  const exact = ratioOf(price)
  const off = (num * exact.den - exact.num * den) * 10n ** 20n
  expect(off / (exact.num * den)).toBe(0n)
  expect(typeof at(660, WETH, DAI)).toBe('object')
  expect(at(661, WETH, DAI)).toBe('price-stale')
})

test('omits refusals, tokens missing from the config, and answers of a lagging node', () => {
  const price = (answer: bigint, at: number) => seen(USDC, WETH, 200, [['WETH/USDC', answer, at]])
  const newest = price(2_000n, 100)
  const { at, recorded } = played([
    decision(100, { 'USDC/WETH': newest }),
    decision(110, { 'USDC/WETH': price(1_000n, 90), 'USDC/DAI': { refused: 'price-stale' } }),
    decision(120, { 'USDC/PEPE': price(1_000n, 110) }),
    { ...decision(130, {}), inputs: undefined },
  ])
  expect(recorded.feeds).toHaveLength(1)
  expectSame(at(150, USDC, WETH), newest)
})
