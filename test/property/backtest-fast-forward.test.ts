import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Play } from '../../src/backtest/play.ts'
import { resultOf } from '../../src/backtest/report/assemble.ts'
import { Tally } from '../../src/backtest/report/tally.ts'
import type { PriceFeed } from '../../src/domain/money/price.ts'
import type { Pair, Token } from '../../src/domain/money/token.ts'
import type { StrategyLimits } from '../../src/domain/strategy.ts'
import type { Strategy } from '../../src/strategies/registry.ts'
import type { Rung, ThresholdStrategy } from '../../src/strategies/threshold/rungs.ts'
import { USDC, WETH, WETH_USDC } from '../simulation/stage.ts'
import {
  aTape,
  FREE,
  inputOf,
  type Playing,
  recording,
  YEAR_BEGINS,
} from '../support/backtest/playing.ts'
import {
  aSchedule,
  aStrategy,
  BUY_WETH,
  capOf,
  milliWeth,
  OPEN,
  SELL_USDC,
  usdc,
} from '../support/builders.ts'
import { aRebalance } from '../support/market-view.ts'
import { above, aThreshold, below, trailing } from '../unit/strategies/decide-fixture.ts'

const MINUTES = 600
const share = (bps: number) => ({ type: 'share', bps }) as const

const rung: fc.Arbitrary<Rung> = fc.oneof(
  fc
    .record({ at: fc.integer({ min: 960, max: 1_040 }), side: fc.constantFrom(above, below) })
    .map(({ at, side }) => side(at)),
  fc.integer({ min: 20, max: 400 }).map((bps) => trailing(bps)),
  fc
    .record({ type: fc.constantFrom('gain', 'loss'), bps: fc.integer({ min: 20, max: 400 }) })
    .map((trigger): Rung => ({ ...above(0), id: `${trigger.type} ${trigger.bps}`, trigger })),
)

const limits: fc.Arbitrary<StrategyLimits> = fc
  .record({
    day: fc.option(fc.integer({ min: 3, max: 40 }), { nil: undefined }),
    hour: fc.option(fc.integer({ min: 3, max: 20 }), { nil: undefined }),
    total: fc.option(fc.integer({ min: 3, max: 60 }), { nil: undefined }),
    cooldownMs: fc.constantFrom(0, 90_000, 3_600_000),
    drawdownBps: fc.constantFrom(undefined, 50, 300),
    maxFailures: fc.constantFrom(undefined, 2),
  })
  .map(({ day, hour, total, ...rest }) => ({
    ...OPEN,
    ...rest,
    ...(day === undefined ? {} : { perDay: capOf(USDC, usdc(day)) }),
    ...(hour === undefined ? {} : { perHour: capOf(USDC, usdc(hour)) }),
    ...(total === undefined ? {} : { total: capOf(USDC, usdc(total)) }),
  }))

const strategy: fc.Arbitrary<Partial<ThresholdStrategy>> = fc
  .record({
    rungs: fc.uniqueArray(rung, { minLength: 1, maxLength: 4, selector: ({ id }) => id }),
    limits,
    rearmBps: fc.integer({ min: 1, max: 300 }),
    once: fc.boolean(),
    sells: fc.boolean(),
    shares: fc.boolean(),
    cron: fc.constantFrom('* * * * *', '*/3 * * * *', '30 * * * * *'),
  })
  .map(({ sells, shares, cron, rungs, ...rest }) => {
    const amount = sells ? milliWeth(3) : usdc(3)
    const size = shares ? share(2_500) : ({ type: 'amount', amount } as const)
    const own = rungs.filter(
      ({ trigger: { type } }) => sells || (type !== 'gain' && type !== 'loss'),
    )
    return {
      ...rest,
      schedule: aSchedule(cron),
      rungs: own.map((each) => ({ ...each, size })),
      ...(sells
        ? { sell: BUY_WETH, buy: SELL_USDC, entryOf: 'buyer' }
        : { sell: SELL_USDC, buy: BUY_WETH }),
    }
  })

/** Moves of the price in tenths of a dollar, with gaps in seconds. */
const PRICES = fc.array(
  fc.record({
    move: fc.integer({ min: -40, max: 40 }),
    gap: fc.oneof(
      { weight: 30, arbitrary: fc.constant(60) },
      { weight: 4, arbitrary: fc.integer({ min: 1, max: 59 }) },
      { weight: 1, arbitrary: fc.constant(5_000) },
    ),
    isSame: fc.boolean(),
  }),
  { minLength: 60, maxLength: 160 },
)
const MODEL = fc.record({
  fails: fc.constantFrom(0, 300_000),
  fillSeconds: fc.constantFrom(0, 12, 75),
})

type Moves = typeof PRICES extends fc.Arbitrary<infer Value> ? Value : never

/** All that a run reports, and its state at the end. */
async function playedOut(playing: Playing) {
  const { listener, lines } = recording()
  const input = inputOf(playing, listener)
  const tally = new Tally(input, [USDC, WETH])
  const skipped: typeof listener.skipped = (...slots) => {
    listener.skipped(...slots)
    tally.skipped(...slots)
  }
  const sample: typeof listener.sample = (sim) => tally.sample(sim)
  const play = new Play({ ...input, listener: { ...listener, skipped, sample } })
  await play.run()
  const { wallet, state } = play.sim
  const report = resultOf(tally, play.sim, 'default')
  return { lines: lines(), balances: wallet.balances, strategies: state.strategies, report }
}

/** A series of prices around a first one, in as many steps of a tenth of a thousandth. */
function tapeOf(moves: Moves, first: number, pair?: Pair) {
  let [atSeconds, price] = [YEAR_BEGINS, first]
  const rounds = moves.map(({ move, gap, isSame }) => {
    atSeconds += gap
    if (!isSame) price += (move * first) / 10_000
    return [atSeconds, price] as const
  })
  return aTape(rounds, pair)
}

/** Fills of a run that must not depend on fast-forwards. */
async function fillsOf(
  strategies: readonly Strategy[],
  moves: Moves,
  { fails, fillSeconds, wealth }: { fails: number; fillSeconds: number; wealth: number },
  feeds: Pick<Playing, 'feedList' | 'priceSeries'> = {},
): Promise<number> {
  const playing: Playing = {
    strategies,
    priceSeries: [tapeOf(moves, 1_000)],
    untilSeconds: YEAR_BEGINS + MINUTES * 60,
    usdc: usdc(wealth),
    weth: milliWeth(wealth),
    model: { ...FREE, failurePpm: fails, fillSeconds },
    ...feeds,
  }
  const leaping = await playedOut(playing)
  expect(leaping).toEqual(await playedOut({ ...playing, fastForwards: false }))
  return leaping.lines.filter((line) => line.includes(' filled ')).length
}

const buyer = (name: string, cron: string) =>
  aStrategy({ name, size: { side: 'sell', amount: usdc(1) }, schedule: aSchedule(cron) })

test('a fast-forward over slots that cannot differ gives the same result as deciding every slot', async () => {
  let fills = 0
  const rungs = fc.array(strategy, { minLength: 1, maxLength: 3 })
  const wealth = fc.integer({ min: 0, max: 30 })
  await fc.assert(
    fc.asyncProperty(rungs, PRICES, MODEL, wealth, async (changes, moves, model, amount) => {
      const all = changes.map((each, index) => aThreshold({ ...each, name: `rungs-${index}` }))
      const strategies = [buyer('buyer', '*/20 * * * *'), ...all]
      fills += await fillsOf(strategies, moves, { ...model, wealth: amount })
    }),
    { numRuns: 60 },
  )
  expect(fills).toBeGreaterThan(500)
})

const ratio = (dollars: number) => ({ num: BigInt(dollars), den: 10n ** 12n })

const bounds = fc.constantFrom(
  { min: undefined, max: undefined },
  { min: ratio(995), max: undefined },
  { min: undefined, max: ratio(1_002) },
  { min: ratio(998), max: ratio(1_003) },
)

const purchase = fc
  .record({
    bounds,
    size: fc.constantFrom(
      { side: 'sell', amount: usdc(2) } as const,
      { side: 'buy', amount: milliWeth(3) } as const,
    ),
    limits,
    cron: fc.constantFrom('* * * * *', '*/3 1-7 * * *'),
  })
  .map(({ bounds: price, size, limits: caps, cron }) =>
    aStrategy({
      name: 'purchase',
      price,
      size,
      limits: { ...caps, drawdownBps: undefined },
      schedule: aSchedule(cron),
    }),
  )

const portfolio = fc
  .record({
    weightBps: fc.integer({ min: 500, max: 9_500 }),
    bandBps: fc.integer({ min: 5, max: 600 }),
    to: fc.constantFrom('edge' as const, 'target' as const),
    drawdownBps: fc.constantFrom(undefined, 100),
  })
  .map(({ weightBps, drawdownBps, ...rest }) =>
    aRebalance({
      ...rest,
      name: 'portfolio',
      targets: [
        { token: WETH, weightBps },
        { token: USDC, weightBps: 10_000 - weightBps },
      ],
      minTrade: usdc(0),
      limits: { ...OPEN, drawdownBps },
      schedule: aSchedule('* * * * *'),
    }),
  )

test('the same holds for purchases with price bounds and caps, and for portfolios', async () => {
  let fills = 0
  const wealth = fc.integer({ min: 0, max: 30 })
  await fc.assert(
    fc.asyncProperty(purchase, portfolio, PRICES, MODEL, wealth, async (...given) => {
      const [one, other, moves, model, amount] = given
      const strategies = [one, buyer('rare', '11 */2 * * *'), other]
      fills += await fillsOf(strategies, moves, { ...model, wealth: amount })
    }),
    { numRuns: 60 },
  )
  expect(fills).toBeGreaterThan(500)
})

const dips = fc.uniqueArray(
  fc.record({ dropBps: fc.integer({ min: 5, max: 300 }), part: fc.integer({ min: 1, max: 6 }) }),
  { minLength: 1, maxLength: 3, selector: ({ dropBps }) => dropBps },
)

const dipping = fc
  .record({
    bounds,
    dips,
    isSale: fc.boolean(),
    dipWindowMs: fc.constantFrom(300_000, 3_600_000, 36_000_000),
    limits,
    cron: fc.constantFrom('* * * * *', '*/3 1-7 * * *', '*/20 * * * * *'),
  })
  .map(({ bounds: price, isSale, limits: caps, cron, dips: given, dipWindowMs }) => {
    const amountOf = (part: number) => (isSale ? usdc(part) : milliWeth(part))
    return aStrategy({
      ...{ name: 'dipping', price, dipWindowMs },
      size: { side: isSale ? 'sell' : 'buy', amount: amountOf(3) },
      dips: given
        .map(({ dropBps, part }) => ({ dropBps, amount: amountOf(part) }))
        .sort((one, other) => other.dropBps - one.dropBps),
      limits: { ...caps, drawdownBps: undefined },
      schedule: aSchedule(cron),
    })
  })

test('the same holds for purchases that remember dips, alone and beside others', async () => {
  let fills = 0
  const wealth = fc.integer({ min: 0, max: 30 })
  const others = fc.option(portfolio, { nil: undefined })
  await fc.assert(
    fc.asyncProperty(dipping, others, PRICES, MODEL, wealth, async (...given) => {
      const [one, other, moves, model, amount] = given
      const beside = other === undefined ? [] : [buyer('often', '*/2 * * * *'), other]
      fills += await fillsOf([one, ...beside], moves, { ...model, wealth: amount })
    }),
    { numRuns: 30 },
  )
  expect(fills).toBeGreaterThan(200)
})

const COIN: Token = { ...WETH, symbol: 'COIN', address: `0x${'c0'.repeat(20)}` }
const COIN_WETH: PriceFeed = {
  ...{ ...WETH_USDC, pair: 'COIN/WETH', feed: COIN.address },
  ...{ base: COIN, quote: WETH },
}

test('and for those whose price multiplies two feeds', async () => {
  let fills = 0
  await fc.assert(
    fc.asyncProperty(dipping, PRICES, PRICES, MODEL, async (one, moves, others, model) => {
      const strategy = { ...one, buy: { token: COIN, native: false } }
      const feedList = [WETH_USDC, COIN_WETH]
      const priceSeries = [tapeOf(moves, 1_000), tapeOf(others, 1, 'COIN/WETH')]
      const feeds = { feedList, priceSeries }
      fills += await fillsOf([strategy], moves, { ...model, wealth: 20 }, feeds)
    }),
    { numRuns: 25 },
  )
  expect(fills).toBeGreaterThan(100)
})
