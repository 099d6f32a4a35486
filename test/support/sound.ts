import { expect } from 'vitest'
import { violationsOf } from '../simulation/judge/invariants.ts'
import type { World } from '../simulation/simulation.ts'

/** Checks the invariants, and that the running daemon's memory equals the state on its disk. */
export function expectSound(world: World): void {
  expect(violationsOf(world)).toEqual([])
  expect(world.state).toEqual(world.disk.reducedState())
}

/** Types of the journal's events, in order. */
export function eventTypes(world: World): string[] {
  return world.disk.events().map(({ type }) => type)
}

/** Outcome of each slot of a strategy, in order, as `outcome reason`. */
export function outcomes(world: World, strategy: string): string[] {
  return world.disk.events().flatMap((event) => {
    if (!('strategy' in event) || event.strategy !== strategy) return []
    if (event.type === 'slots-missed') return [`missed ${event.count}`]
    return event.type === 'slot-closed' ? [`${event.outcome} ${event.reason}`] : []
  })
}
