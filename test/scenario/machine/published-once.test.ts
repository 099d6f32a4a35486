import { expect, test } from 'vitest'
import { reduceRecorded } from '../../../src/journal/events/registry.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { aCallStrategy } from '../../support/aggregator/call-simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound } from '../../support/sound.ts'
import type { Happened } from '../../support/state/happened.ts'

/** Events with their contexts, reduced from the journal on disk. */
function describedByDisk(sim: Simulation): readonly Happened[] {
  const state = emptyState()
  return sim.disk.records().map((record) => {
    const { event, context } = reduceRecorded(state, record.event, record)
    return { event, context }
  })
}

/** Events with their contexts, as published while the daemons ran. */
function describedLive(sim: Simulation): readonly Happened[] {
  return sim.recorded.map(({ event, context }) => ({ event, context }))
}

test('every event is published once, in journal order, by a daemon that swaps, calls, pauses and halts', async () => {
  const sim = new Simulation({ seed: 'publishing', strategies: [aStrategy(), aCallStrategy()] })
  sim.start()
  await sim.runFor(2 * HOUR)
  sim.serviceFaults.rejects = 1
  await sim.runFor(2 * HOUR)
  sim.serviceFaults.rejects = 0
  await sim.runFor(HOUR)
  await Promise.all([sim.control.pause('hourly'), sim.runFor(1_000)])
  await sim.runFor(2 * HOUR)
  await Promise.all([sim.control.resume('hourly'), sim.runFor(1_000)])
  await Promise.all([sim.control.halt(), sim.runFor(1_000)])
  await sim.runFor(2 * HOUR)
  sim.stop('the end')
  await sim.runFor(5 * MINUTE)
  const records = describedByDisk(sim)
  const types = new Set(records.map(({ event }) => event.type))
  expect([...types]).toEqual(
    expect.arrayContaining([
      ...['fill-proven', 'call-proven', 'order-ended', 'authorization-dead'],
      ...['strategy-paused', 'strategy-resumed', 'halted'],
    ]),
  )
  expect(describedLive(sim)).toEqual(records)
  expectSound(sim)
})

test('an event is never published when the process dies before it is on disk', async () => {
  const sim = new Simulation({ seed: 'unpublished', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(MINUTE)
  sim.disk.crashAt = { append: sim.disk.appends + 1, when: 'before' }
  sim.restartAfterMs = 10 * HOUR
  await sim.runFor(HOUR)
  expect(sim.ended).toBeUndefined()
  expect(describedLive(sim)).toEqual(describedByDisk(sim))
  expect(sim.observations.some(({ type }) => type === 'slot-opened')).toBe(false)
})
