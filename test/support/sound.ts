import { expect } from 'vitest'
import { violationsOf } from '../simulation/judge/invariants.ts'
import type { Simulation } from '../simulation/simulation.ts'

/** Checks the invariants, and that the running daemon's memory equals the state on its disk. */
export function expectSound(sim: Simulation): void {
  expect(violationsOf(sim)).toEqual([])
  expect(sim.state).toEqual(sim.disk.reducedState())
}

/** Types of the journal's events, in order. */
export function eventTypes(sim: Simulation): string[] {
  return sim.disk.events().map(({ type }) => type)
}

/** Outcome of each slot of a strategy, in order, as `outcome reason`. */
export function outcomes(sim: Simulation, strategy: string): string[] {
  return sim.disk.events().flatMap((event) => {
    if (!('strategy' in event) || event.strategy !== strategy) return []
    if (event.type === 'slots-missed') return [`missed ${event.count}`]
    return event.type === 'slot-closed' ? [`${event.outcome} ${event.reason}`] : []
  })
}
