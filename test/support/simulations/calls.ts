import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { approvalsIn } from '../../../src/engine/limits/approvals.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { aCallStrategy } from '../aggregator/call-simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../builders.ts'
import { FaultSchedule } from './fault-schedule.ts'
import { randomOf, randomSimulation } from './random-simulation.ts'
import { endAndCheck, type RunResult } from './run-result.ts'

const CAPPED = { ...OPEN, perHour: new Map([[NATIVE_TOKEN, baseUnits(2_000n)]]) }
const STRATEGIES: readonly Strategy[] = [
  aCallStrategy({ name: 'often', schedule: aSchedule('*/20 * * * *'), limits: CAPPED }),
  aCallStrategy({ name: 'hourly', calldata: '0x4e71d92e' }),
  aStrategy({ name: 'swap', schedule: aSchedule('15 */3 * * *') }),
]
const STEPS = 40

/** A day of calls, with a swap now and then. */
export async function runCalls(seed: number): Promise<RunResult> {
  const random = randomOf('calls', seed)
  const account = { perDay: new Map([[NATIVE_TOKEN, baseUnits(40_000n)]]) }
  const sim = randomSimulation({ seed: `calls ${seed}`, strategies: STRATEGIES, account }, random)
  const faults = new FaultSchedule(sim, random)
  sim.start()
  for (let steps = 0; steps < STEPS; steps += 1) {
    await sim.runFor(random.between(1_000, 15 * MINUTE))
    await faults.disturb()
  }
  const result = await endAndCheck(sim, faults)
  const before = sim.aggregation.ledger.executions.length
  await sim.runFor(HOUR)
  // A lagging node's report on the account may cause one more halt after the faults end, and code may have been swapped
  // back since: the operator inspects, resumes and accepts.
  if (sim.isRunning) {
    void sim.control.resume(undefined)
    for (const { name } of approvalsIn(sim.state)) void sim.control.approve(name)
  }
  await sim.runFor(2 * HOUR)
  const goesOn = sim.aggregation.ledger.executions.length > before
  const violations = goesOn ? result.violations : [...result.violations, 'no call is made any more']
  return { ...result, violations }
}
