import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { StrategyLimits } from '../../src/domain/strategy.ts'
import type { Strategy } from '../../src/strategies/registry.ts'
import type { Rung, ThresholdStrategy } from '../../src/strategies/threshold/rungs.ts'
import { USDC, WETH } from '../simulation/stage.ts'
import { aTape, FREE, type Playing, played, YEAR_BEGINS } from '../support/backtest/playing.ts'
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

/** Fills of a run that must not depend on fast-forwards. */
async function fillsOf(
  strategies: readonly Strategy[],
  moves: typeof PRICES extends fc.Arbitrary<infer Moves> ? Moves : never,
  { fails, fillSeconds, wealth }: { fails: number; fillSeconds: number; wealth: number },
): Promise<number> {
  let atSeconds = YEAR_BEGINS
  let price = 1_000
  const rounds = moves.map(({ move, gap, isSame }) => {
    atSeconds += gap
    if (!isSame) price += move / 10
    return [atSeconds, price] as const
  })
  const playing: Playing = {
    strategies,
    priceSeries: [aTape(rounds)],
    untilSeconds: YEAR_BEGINS + MINUTES * 60,
    usdc: usdc(wealth),
    weth: milliWeth(wealth),
    model: { ...FREE, failurePpm: fails, fillSeconds },
  }
  const leaping = await played(playing)
  const walking = await played({ ...playing, fastForwards: false })
  expect(leaping.lines).toEqual(walking.lines)
  expect(leaping.play.sim.wallet.balances).toEqual(walking.play.sim.wallet.balances)
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

const purchase = fc
  .record({
    bounds: fc.constantFrom(
      { min: undefined, max: undefined },
      { min: ratio(995), max: undefined },
      { min: undefined, max: ratio(1_002) },
      { min: ratio(998), max: ratio(1_003) },
    ),
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
