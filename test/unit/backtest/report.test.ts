import { expect, test } from 'vitest'
import type { FillModel } from '../../../src/backtest/model.ts'
import { type BacktestInput, backtest } from '../../../src/backtest/run.ts'
import type { PriceFeed } from '../../../src/domain/money/price.ts'
import type { Token } from '../../../src/domain/money/token.ts'
import { USDC, WETH, WETH_USDC } from '../../simulation/stage.ts'
import {
  aTape,
  DAY,
  FREE,
  inputOf,
  recording,
  YEAR_BEGINS,
} from '../../support/backtest/playing.ts'
import { aSchedule, aStrategy, BUY_WETH, usdc } from '../../support/builders.ts'

const HOUR = 3_600
const daily = aStrategy({
  name: 'daily',
  schedule: aSchedule('0 0 * * *'),
  size: { side: 'sell', amount: usdc(100) },
})

/** Daily prices, published every hour. */
function days(prices: readonly number[], pair = WETH_USDC.pair) {
  return aTape(
    prices.flatMap((price, day) =>
      Array.from(
        { length: 24 },
        (_, hour) => [YEAR_BEGINS + day * DAY + hour * HOUR, price] as const,
      ),
    ),
    pair,
  )
}

async function resultOf(playing: Parameters<typeof inputOf>[0], more: Partial<BacktestInput> = {}) {
  const { listener: _, ...input } = inputOf(playing, recording().listener)
  const all = { ...input, tokens: [USDC, WETH], modelSource: 'options', varies: false } as const
  const result = await backtest({ ...all, ...more })
  if (result === undefined) throw new Error('it was stopped')
  return result
}

const FOUR_DAYS = {
  ...{ strategies: [daily], usdc: usdc(400), priceSeries: [days([2_000, 1_000, 4_000, 2_000])] },
  untilSeconds: YEAR_BEGINS + 4 * DAY - 1,
}

test('figures of four purchases match a calculation by hand', async () => {
  const { begin, end, figures, strategies, against } = await resultOf(FOUR_DAYS)
  expect([begin.value?.amount, end.value?.amount]).toEqual(['400', '450'])
  expect(end.holdings).toContainEqual({ amount: '0.225', token: 'WETH' })
  expect(figures).toMatchObject({
    ...{ returnPercent: 12.5, yearlyPercent: null, turnoverPercent: 100 },
    ...{ turnover: { amount: '400', token: 'USDC' }, costs: { total: { amount: '0' } } },
    drawdown: {
      // 0.15 WETH at 4,000 and 200 USDC; then 0.175 at 2,000 and 100.
      percent: 43.75,
      deepestAt: expect.stringMatching(/^2025-01-04T00:1/),
      recoveredAt: null,
    },
  })
  const [trades] = strategies[0]?.trades ?? []
  expect(trades).toMatchObject({
    ...{ fills: 4, averagePrice: '1777.777778' },
    ...{ sold: { amount: '400' }, bought: { amount: '0.225' } },
  })
  expect(Number(trades?.periodPrice)).toBeCloseTo(2_250, -1)
  const returns = Object.fromEntries(against.map((each) => [each.name, each.returnPercent]))
  expect(returns).toEqual({ holding: 0, 'lump-sum': 0, 'plain-dca': 12.5 })
})

test('the report repeats the result with costs and latency halved and doubled', async () => {
  const model: FillModel = { ...FREE, spreadPpm: 10_000, fillSeconds: 20 }
  const { end, sensitivity } = await resultOf({ ...FOUR_DAYS, model }, { varies: true })
  expect(end.value?.amount).toBe('445.5')
  expect(sensitivity.map(({ what, value }) => [what, value?.amount])).toEqual([
    ['spread and fee halved', '447.75'],
    ['spread and fee doubled', '441'],
    ['latency halved', '445.5'],
    ['latency doubled', '445.5'],
  ])
})

test('a pair without its own feed is priced over two feeds, as in live mode', async () => {
  const coin: Token = { ...WETH, symbol: 'COIN', address: `0x${'c0'.repeat(20)}` }
  const feed: PriceFeed = { ...WETH_USDC, pair: 'COIN/USDC', base: coin, feed: coin.address }
  const crossed = aStrategy({
    ...{ name: 'crossed', schedule: aSchedule('0 0 * * *') },
    ...{ sell: { ...BUY_WETH }, buy: { token: coin, native: false } },
    size: { side: 'sell', amount: (10n ** 17n) as never },
  })
  const { strategies, fills } = await resultOf(
    {
      ...{ strategies: [crossed], feedList: [WETH_USDC, feed], weth: 10n ** 18n },
      priceSeries: [days([2_000, 2_000]), days([500, 1_000], 'COIN/USDC')],
      untilSeconds: YEAR_BEGINS + 2 * DAY - 1,
    },
    { tokens: [USDC, WETH, coin] },
  )
  expect(strategies[0]).toMatchObject({ filled: 2 })
  expect(fills.map(({ received }) => received.amount)).toEqual(['0.4', '0.2'])
  const blind = await resultOf({
    ...{ strategies: [crossed], feedList: [WETH_USDC, feed], weth: 10n ** 18n },
    priceSeries: [days([2_000, 2_000])],
    untilSeconds: YEAR_BEGINS + 2 * DAY - 1,
  })
  expect(blind.strategies[0]?.outcomes).toMatchObject([
    { outcome: 'skipped', reason: 'price-missing' },
  ])
})
