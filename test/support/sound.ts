import { expect } from 'vitest'
import { violationsOf } from '../../src/simulate/judge/invariants.ts'
import type { World } from '../../src/simulate/world.ts'

/** Nothing happened that never may, and the running daemon's memory is what its disk says. */
export function expectSound(world: World): void {
  expect(violationsOf(world)).toEqual([])
  expect(world.state).toEqual(world.disk.fold())
}

/** Types of the journal's events, in order: what happened, at a glance. */
export function eventTypes(world: World): string[] {
  return world.disk.events().map(({ type }) => type)
}

/** How each slot of a strategy ended, in order, as `outcome reason`. */
export function outcomes(world: World, strategy: string): string[] {
  return world.disk.events().flatMap((event) => {
    if (!('strategy' in event) || event.strategy !== strategy) return []
    if (event.type === 'slots-missed') return [`missed ${event.count}`]
    return event.type === 'slot-closed' ? [`${event.outcome} ${event.reason}`] : []
  })
}

/** Lets the world run until so many permits were signed, in steps too short for anything to fill. */
export async function untilSigned(world: World, signatures: number): Promise<void> {
  for (let steps = 0; steps < 10_000; steps += 1) {
    if (world.watch.signatures >= signatures) return
    await world.runFor(50)
  }
  expect(world.watch.signatures).toBe(signatures)
}
