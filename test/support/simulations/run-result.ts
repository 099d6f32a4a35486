import { isDeepStrictEqual } from 'node:util'
import { imbalances } from '../../simulation/judge/balance-sheet.ts'
import { violationsOf } from '../../simulation/judge/invariants.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import type { FaultSchedule } from './fault-schedule.ts'

/** Result of a random simulation. */
export type RunResult = {
  readonly sim: Simulation
  /** Violated invariants; empty for a sound run. */
  readonly violations: readonly string[]
  /** How often each event happened, by name: a run in which nothing happened proves nothing. */
  readonly tally: ReadonlyMap<string, number>
}

/** Ends all faults of a simulation and checks its invariants. */
export async function endAndCheck(
  sim: Simulation,
  faults: FaultSchedule,
  more: () => readonly string[] = () => [],
): Promise<RunResult> {
  const open = await faults.end()
  const isMemoryTrue = isDeepStrictEqual(sim.state, sim.disk.reducedState())
  const violations = [
    ...open,
    ...violationsOf(sim),
    ...imbalances(sim),
    ...(isMemoryTrue ? [] : ['the memory of the daemon is not what its disk says']),
    ...more(),
  ]
  const tally = new Map(faults.happened)
  tally.set('settlements', settlements(sim))
  tally.set('fills by hand', sim.state.strategies.get('manual')?.fills ?? 0)
  tally.set('calls', sim.aggregation.ledger.executions.length)
  tally.set('records', sim.disk.history().length)
  return { sim, violations, tally }
}

function settlements({ ledger }: Simulation): number {
  return ledger.transactions.reduce((sum, { settled }) => sum + settled.length, 0)
}

/** How often something happened in several simulations. */
export function sumOf(tallies: readonly ReadonlyMap<string, number>[], what: string): number {
  return tallies.reduce((sum, tally) => sum + (tally.get(what) ?? 0), 0)
}
