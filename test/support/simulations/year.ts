import type { Strategy } from '../../../src/strategies/registry.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, capOf, HOUR, milliWeth, OPEN, usdc } from '../builders.ts'
import { aRebalance, aThreshold, aTwap, usdcPerWeth } from '../market-view.ts'
import { FaultSchedule } from './fault-schedule.ts'
import { randomOf, randomSimulation } from './random-simulation.ts'
import { endAndCheck, type RunResult } from './run-result.ts'

const serial = (cron: string) => ({ ...aSchedule(cron), overlap: 'skip' }) as const
const { schedule } = aTwap()

function part(milli: number) {
  return { type: 'amount', amount: milliWeth(milli) } as const
}

/** Six strategies of every kind that swaps, with limits that sometimes trip. */
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

/** Days with a few bad hours each. The invariants are not checked yet. */
export async function badHours(
  seed: number,
  days: number,
): Promise<{ sim: Simulation; faults: FaultSchedule }> {
  const random = randomOf('year', seed)
  const account = { perDay: capOf(USDC, usdc(2_000)), perOrder: capOf(USDC, usdc(250)) }
  const sim = randomSimulation({ seed: `year ${seed}`, strategies: STRATEGIES, account }, random)
  const faults = new FaultSchedule(sim, random)
  sim.start()
  for (let day = 0; day < days; day += 1) {
    await faults.disturb()
    await sim.runFor(random.between(1, 4) * HOUR)
    faults.rest()
    await sim.runFor(20 * HOUR)
    // Unused later, and a year of them is a million.
    sim.observations.length = 0
    sim.recorded.length = 0
  }
  return { sim, faults }
}

export async function runYear(seed: number, days = 365): Promise<RunResult> {
  const { sim, faults } = await badHours(seed, days)
  return endAndCheck(sim, faults)
}
