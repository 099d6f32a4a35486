import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import { HOUR } from '../builders.ts'

const WITHIN_MS = HOUR

/** Runs a simulation until a condition holds, in steps too short for much else to happen. Returns the true time, ms. */
export async function runUntil(
  sim: Simulation,
  what: string,
  isSo: () => boolean,
  stepMs = 20,
): Promise<number> {
  const giveUpMs = sim.clock.trueMs + WITHIN_MS
  while (!isSo()) {
    if (sim.clock.trueMs >= giveUpMs) throw new Error(`no ${what} within an hour`)
    await sim.runFor(stepMs)
  }
  return sim.clock.trueMs
}

/** Runs until an event of that type is on disk. */
export function untilEvent(
  sim: Simulation,
  type: JournalEvent['type'],
  stepMs?: number,
): Promise<number> {
  const isThere = () => sim.disk.events().some((event) => event.type === type)
  return runUntil(sim, type, isThere, stepMs)
}

/** Runs until something of that type was observed. */
export function untilObserved(
  sim: Simulation,
  type: Simulation['observations'][number]['type'],
  stepMs = 5,
): Promise<number> {
  const isThere = () => sim.observations.some((each) => each.type === type)
  return runUntil(sim, type, isThere, stepMs)
}

/** Runs until this many permits were signed. */
export function untilSigned(sim: Simulation, signatures: number): Promise<number> {
  return runUntil(sim, 'signature', () => sim.watch.signatures >= signatures, 50)
}

/** Runs until a permit or call is recorded and on its way to the disk. */
export function untilExposed(sim: Simulation): Promise<number> {
  return runUntil(sim, 'record', () => sim.state.exposures.size > 0, 1)
}
