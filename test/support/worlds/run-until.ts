import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import type { World } from '../../simulation/simulation.ts'
import { HOUR } from '../builders.ts'

const WITHIN_MS = HOUR

/** Runs a simulation until a condition holds, in steps too short for much else to happen. Returns the true time, ms. */
export async function runUntil(
  world: World,
  what: string,
  isSo: () => boolean,
  stepMs = 20,
): Promise<number> {
  const giveUpMs = world.clock.trueMs + WITHIN_MS
  while (!isSo()) {
    if (world.clock.trueMs >= giveUpMs) throw new Error(`no ${what} within an hour`)
    await world.runFor(stepMs)
  }
  return world.clock.trueMs
}

/** Runs until an event of that type is on disk. */
export function untilEvent(
  world: World,
  type: JournalEvent['type'],
  stepMs?: number,
): Promise<number> {
  const isThere = () => world.disk.events().some((event) => event.type === type)
  return runUntil(world, type, isThere, stepMs)
}

/** Runs until something of that type was observed. */
export function untilObserved(
  world: World,
  type: World['observations'][number]['type'],
  stepMs = 5,
): Promise<number> {
  const isThere = () => world.observations.some((each) => each.type === type)
  return runUntil(world, type, isThere, stepMs)
}

/** Runs until this many permits were signed. */
export function untilSigned(world: World, signatures: number): Promise<number> {
  return runUntil(world, 'signature', () => world.watch.signatures >= signatures, 50)
}

/** Runs until a permit or call is recorded and on its way to the disk. */
export function untilExposed(world: World): Promise<number> {
  return runUntil(world, 'record', () => world.state.exposures.size > 0, 1)
}
