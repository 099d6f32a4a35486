import { expect, test } from 'vitest'
import { NO_CAPS, type StrategyLimits } from '../../../src/domain/strategy.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { ACCOUNT, USDC } from '../../simulation/stage.ts'
import {
  aTape,
  DAY,
  FREE,
  type Playing,
  played,
  YEAR_BEGINS,
} from '../../support/backtest/playing.ts'
import { aSchedule, aStrategy, capOf, OPEN, usdc } from '../../support/builders.ts'
import { aTwap } from '../strategies/decide-fixture.ts'

const HOUR_MS = 3_600_000
const UNCAPPED = { ...ACCOUNT, perOrder: NO_CAPS, perDay: NO_CAPS }

/** Counts the slots by outcome and sums the amount sold. Playing every slot and fast-forwarding must agree. */
async function counted(strategies: readonly Strategy[], days: number, more: Partial<Playing> = {}) {
  const playing: Playing = {
    strategies,
    priceSeries: [
      aTape(Array.from({ length: days * 24 }, (_, hour) => [YEAR_BEGINS + hour * 3_600, 2_000])),
    ],
    untilSeconds: YEAR_BEGINS + days * DAY,
    usdc: usdc(1_000_000),
    model: { ...FREE, quoteSeconds: 2, fillSeconds: 12 },
    ...more,
  }
  const { lines, play } = await played(playing)
  const walking = await played({ ...playing, fastForwards: false })
  expect(lines).toEqual(walking.lines)
  const skipped = lines.flatMap((line) => Number(/ (\d+) skipped/.exec(line)?.[1] ?? '0'))
  return {
    filled: lines.filter((line) => line.endsWith(' filled filled')).length,
    skipped: skipped.reduce((sum, count) => sum + count, 0),
    sold: usdc(1_000_000) - play.sim.wallet.of(USDC.address),
  }
}

test.each<[string, string, Partial<StrategyLimits>, number]>([
  ['a daily purchase under its daily cap', '0 9 * * *', { perDay: capOf(USDC, usdc(25)) }, 245],
  ['a daily purchase under a cooldown of a day', '0 9 * * *', { cooldownMs: DAY * 1000 }, 245],
  ['a weekly purchase under its weekly cap', '0 9 * * 1', { perWeek: capOf(USDC, usdc(25)) }, 35],
])('%s fills each of its slots', async (_, cron, limits, slots) => {
  const strategy = aStrategy({ schedule: aSchedule(cron), limits: { ...OPEN, ...limits } })
  const { filled, skipped } = await counted([strategy], 245)
  expect({ filled, skipped }).toEqual({ filled: slots, skipped: 0 })
})

test.each(['spread', 'drop'] as const)(
  'a TWAP schedule whose hourly caps allow one slice sells its whole total, with unsold: %s',
  async (unsold) => {
    const one = capOf(USDC, usdc(100))
    for (const limits of [{ perHour: one }, { perHour: one, perOrder: one }]) {
      const slices = aTwap(
        { unsold, limits: { ...OPEN, ...limits } },
        { startSeconds: YEAR_BEGINS },
      )
      const { filled, skipped, sold } = await counted([slices], 3, { account: UNCAPPED })
      expect({ filled, skipped, sold }).toEqual({ filled: 24, skipped: 0, sold: usdc(2_400) })
    }
  },
)

test('the last slot before a cooldown ends waits for that end; closer slots are skipped', async () => {
  const schedule = aSchedule('*/20 * * * *')
  const limits = { ...OPEN, cooldownMs: HOUR_MS }
  const { filled, skipped } = await counted([aStrategy({ schedule, limits })], 2)
  expect({ filled, skipped }).toEqual({ filled: 48, skipped: 96 })
})

test('every strategy that shares an account cap waits for it', async () => {
  const three = ['one', 'two', 'three'].map((name) =>
    aStrategy({ name, schedule: aSchedule('0 9 * * *') }),
  )
  const caps = { perDay: capOf(USDC, usdc(75)) }
  const { filled, skipped } = await counted(three, 60, { account: { ...UNCAPPED, ...caps } })
  expect({ filled, skipped }).toEqual({ filled: 180, skipped: 0 })
})
