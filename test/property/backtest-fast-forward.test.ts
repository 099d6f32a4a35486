import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { StrategyLimits } from '../../src/domain/strategy.ts'
import type { Rung, ThresholdStrategy } from '../../src/strategies/threshold/rungs.ts'
import { USDC, WETH } from '../simulation/stage.ts'
import { aTape, FREE, played, YEAR_BEGINS } from '../support/backtest/playing.ts'
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

test('a fast-forward over slots that cannot differ gives the same result as deciding every slot', async () => {
  const prices = fc.array(
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
  let fills = 0
  let leaped = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(strategy, { minLength: 1, maxLength: 3 }),
      prices,
      fc.record({ fails: fc.constantFrom(0, 300_000), fillSeconds: fc.constantFrom(0, 12, 75) }),
      fc.integer({ min: 0, max: 30 }),
      async (changes, moves, model, wealth) => {
        let atSeconds = YEAR_BEGINS
        let price = 1_000
        const rounds = moves.map(({ move, gap, isSame }) => {
          atSeconds += gap
          if (!isSame) price += move / 10
          return [atSeconds, price] as const
        })
        const playing = {
          strategies: [
            aStrategy({
              name: 'buyer',
              size: { side: 'sell', amount: usdc(1) },
              schedule: aSchedule('*/20 * * * *'),
            }),
            ...changes.map((each, index) => aThreshold({ ...each, name: `rungs-${index}` })),
          ],
          priceSeries: [aTape(rounds)],
          untilSeconds: YEAR_BEGINS + MINUTES * 60,
          usdc: usdc(wealth),
          weth: milliWeth(wealth),
          model: { ...FREE, failurePpm: model.fails, fillSeconds: model.fillSeconds },
        }
        const leaping = await played(playing)
        const walking = await played({ ...playing, fastForwards: false })
        expect(leaping.lines).toEqual(walking.lines)
        expect(leaping.play.sim.wallet.balances).toEqual(walking.play.sim.wallet.balances)
        fills += leaping.lines.filter((line) => line.includes(' filled ')).length
        leaped += 1
      },
    ),
    { numRuns: 60 },
  )
  expect(fills).toBeGreaterThan(500)
  expect(WETH.decimals).toBe(18)
  expect(leaped).toBe(60)
})
