import { USDC } from '../../simulation/stage.ts'
import { aSchedule, aStrategy, capOf, HOUR, OPEN, usdc } from '../builders.ts'
import { FaultSchedule } from './fault-schedule.ts'
import { randomOf, randomSimulation } from './random-simulation.ts'
import { endAndCheck, type RunResult } from './run-result.ts'

const LIMITS = {
  ...OPEN,
  perHour: capOf(USDC, usdc(30)),
  perDay: capOf(USDC, usdc(160)),
  perWeek: capOf(USDC, usdc(360)),
  total: capOf(USDC, usdc(420)),
}
const ACCOUNT = {
  perHour: capOf(USDC, usdc(40)),
  perDay: capOf(USDC, usdc(300)),
  perWeek: capOf(USDC, usdc(560)),
  total: capOf(USDC, usdc(640)),
}
const STRATEGIES = [
  aStrategy({
    name: 'quick',
    schedule: aSchedule('*/15 * * * *', { missed: 'all', maxLatenessMs: 3 * HOUR }),
    size: { side: 'sell', amount: usdc(10) },
    limits: { ...LIMITS, maxOpenIntents: 20 },
  }),
  aStrategy({
    name: 'slow',
    schedule: aSchedule('5,25 * * * *'),
    size: { side: 'sell', amount: usdc(20) },
    limits: LIMITS,
  }),
]
const HOURS = [1, 1, 2, 5, 20, 70] as const
const STEPS = 8

/** Days of orders in which every cap of every window blocks some. */
export async function runLimits(seed: number): Promise<RunResult> {
  const random = randomOf('limits', seed)
  const sim = randomSimulation(
    { seed: `limits ${seed}`, strategies: STRATEGIES, account: ACCOUNT },
    random,
  )
  const faults = new FaultSchedule(sim, random)
  sim.start()
  for (let steps = 0; steps < STEPS; steps += 1) {
    await faults.disturb()
    const hours = HOURS[random.between(0, HOURS.length - 1)] ?? 1
    await sim.runFor(HOUR)
    faults.rest()
    await sim.runFor((hours - 1) * HOUR)
  }
  const result = await endAndCheck(sim, faults)
  const tally = new Map(result.tally)
  for (const event of sim.disk.events()) {
    if (event.type !== 'slot-closed' || !event.reason.startsWith('limit-')) continue
    const what = `skipped ${event.reason}`
    tally.set(what, (tally.get(what) ?? 0) + 1)
  }
  return { ...result, tally }
}
