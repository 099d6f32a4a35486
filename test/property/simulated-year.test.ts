import { describe, expect, test } from 'vitest'
import { createRandom } from '../../src/domain/random.ts'
import type { Strategy } from '../../src/domain/strategy.ts'
import { noChainFaults } from '../../src/simulate/chain/chain.ts'
import { noServiceFaults } from '../../src/simulate/gasless/faults.ts'
import { imbalances } from '../../src/simulate/judge/balance-sheet.ts'
import { USDC, WETH } from '../../src/simulate/stage.ts'
import { World } from '../../src/simulate/world.ts'
import { aSchedule, aStrategy, capOf, HOUR, milliWeth, OPEN, usdc } from '../support/builders.ts'
import { aRebalance, aThreshold, aTwap, usdcPerWeth } from '../support/market-view.ts'
import { expectSound } from '../support/sound.ts'
import { disturb } from '../support/troubles.ts'

const FILE = 'test/property/simulated-year.test.ts'
/** More years for a longer search: SIMULATED_YEARS=50. */
const YEARS = Number(process.env['SIMULATED_YEARS'] ?? 1)
const DAYS = 365

const serial = (cron: string) => ({ ...aSchedule(cron), overlap: 'skip' }) as const
const { schedule } = aTwap()

/** Six strategies of every kind that swaps, with limits that trip now and then. */
const STRATEGIES: readonly Strategy[] = [
  aStrategy({
    name: 'daily',
    schedule: aSchedule('0 9 * * *', { missed: 'all', maxLatenessMs: 12 * HOUR }),
    limits: { ...OPEN, total: capOf(USDC, usdc(8_000)) },
  }),
  aStrategy({
    name: 'on-dips',
    schedule: aSchedule('30 */6 * * *', { jitterMs: 10 * 60_000 }),
    dips: [
      { dropBps: 1_000, amount: usdc(60) },
      { dropBps: 300, amount: usdc(40) },
    ],
    dipWindowMs: 30 * 24 * HOUR,
    limits: { ...OPEN, perWeek: capOf(USDC, usdc(600)) },
  }),
  aStrategy({
    name: 'exact-output',
    schedule: aSchedule('15 */8 * * *'),
    size: { side: 'buy', amount: milliWeth(10) },
    limits: { ...OPEN, perDay: capOf(USDC, usdc(60)), cooldownMs: 2 * HOUR },
  }),
  aThreshold(
    [
      { id: 'above', trigger: { type: 'above', level: usdcPerWeth(260_000n) }, size: part(20) },
      { id: 'below', trigger: { type: 'below', level: usdcPerWeth(240_000n) }, size: part(20) },
      { id: 'trailing', trigger: { type: 'trailing', bps: 500 }, size: part(10) },
    ],
    { schedule: serial('20 */2 * * *'), rearmBps: 200 },
  ),
  aRebalance({ schedule: serial('0 */8 * * *'), bandBps: 200, minTrade: usdc(5) }),
  aTwap({
    total: usdc(4_000),
    schedule: {
      ...schedule,
      type: 'interval',
      everySeconds: 9 * 3_600,
      count: 900,
      startSeconds: undefined,
    },
  }),
]

function part(milli: number) {
  return { type: 'amount', amount: milliWeth(milli) } as const
}

/** A year in which every day has a few bad hours. */
async function year(seed: string): Promise<World> {
  const account = { perDay: capOf(USDC, usdc(2_000)), perOrder: capOf(USDC, usdc(250)) }
  const world = new World({ seed, strategies: STRATEGIES, account })
  world.restartAfterMs = 20_000
  const random = createRandom(`troubles of ${seed}`)
  world.start()
  for (let day = 0; day < DAYS; day += 1) {
    await disturb(world, random)
    await world.runFor(random.between(1, 4) * HOUR)
    Object.assign(world.chainFaults, noChainFaults())
    Object.assign(world.serviceFaults, noServiceFaults())
    world.clock.offsetMs = 0
    await world.runFor(20 * HOUR)
    // Nobody looks back at them, and a year of them is a million.
    world.observations.length = 0
  }
  return world
}

describe('a year of six strategies with a few bad hours each day', () => {
  const seeds = Array.from({ length: YEARS }, (_, index) => `year-${index + 1}`)
  for (const seed of seeds) {
    test(`breaks no promise in ${seed} (to replay it: vitest run ${FILE} -t "in ${seed} ")`, async () => {
      const world = await year(seed)
      world.disk.crashAt = undefined
      world.start()
      expect(await world.calmDown()).toBe(true)
      expectSound(world)
      expect(imbalances(world)).toEqual([])
      const fills = new Map([...world.state.strategies].map(([name, { fills }]) => [name, fills]))
      for (const { name } of STRATEGIES) expect([name, fills.get(name) ?? 0]).not.toEqual([name, 0])
      const sliced = world.state.strategies.get('twap')?.spent.get(USDC.address) ?? 0n
      expect(sliced).toBeLessThanOrEqual(usdc(4_000))
      expect(world.balance(WETH.address)).toBeGreaterThan(0n)
    }, 240_000)
  }
})

test('the same seed gives the same year, record by record', async () => {
  const [once, again] = await Promise.all([days('replay', 20), days('replay', 20)])
  expect(once).toEqual(again)
  expect(once.length).toBeGreaterThan(500)
}, 120_000)

async function days(seed: string, count: number): Promise<readonly unknown[]> {
  const world = new World({ seed, strategies: STRATEGIES })
  const random = createRandom(`troubles of ${seed}`)
  world.start()
  for (let day = 0; day < count; day += 1) {
    await disturb(world, random)
    await world.runFor(24 * HOUR)
  }
  return world.disk.events()
}
