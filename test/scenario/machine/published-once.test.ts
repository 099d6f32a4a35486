import { expect, test } from 'vitest'
import { reduceRecorded } from '../../../src/journal/events/registry.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { World } from '../../simulation/simulation.ts'
import { aCallStrategy } from '../../support/aggregator/call-world.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound } from '../../support/sound.ts'
import type { Happened } from '../../support/state/happened.ts'

/** Events with their contexts, reduced from the journal on disk. */
function describedByDisk(world: World): readonly Happened[] {
  const state = emptyState()
  return world.disk.records().map((record) => {
    const { event, context } = reduceRecorded(state, record.event, record)
    return { event, context }
  })
}

/** Events with their contexts, as published while the daemons ran. */
function describedLive(world: World): readonly Happened[] {
  return world.recorded.map(({ event, context }) => ({ event, context }))
}

test('every event is published once, in journal order, by a daemon that swaps, calls, pauses and halts', async () => {
  const world = new World({ seed: 'publishing', strategies: [aStrategy(), aCallStrategy()] })
  world.start()
  await world.runFor(2 * HOUR)
  world.serviceFaults.rejects = 1
  await world.runFor(2 * HOUR)
  world.serviceFaults.rejects = 0
  await world.runFor(HOUR)
  await Promise.all([world.control.pause('hourly'), world.runFor(1_000)])
  await world.runFor(2 * HOUR)
  await Promise.all([world.control.resume('hourly'), world.runFor(1_000)])
  await Promise.all([world.control.halt(), world.runFor(1_000)])
  await world.runFor(2 * HOUR)
  world.stop('the end')
  await world.runFor(5 * MINUTE)
  const records = describedByDisk(world)
  const types = new Set(records.map(({ event }) => event.type))
  expect([...types]).toEqual(
    expect.arrayContaining([
      ...['fill-proven', 'call-proven', 'order-ended', 'authorization-dead'],
      ...['strategy-paused', 'strategy-resumed', 'halted'],
    ]),
  )
  expect(describedLive(world)).toEqual(records)
  expectSound(world)
})

test('an event is never published when the process dies before it is on disk', async () => {
  const world = new World({ seed: 'unpublished', strategies: [aStrategy()] })
  world.start()
  await world.runFor(MINUTE)
  world.disk.crashAt = { append: world.disk.appends + 1, when: 'before' }
  world.restartAfterMs = 10 * HOUR
  await world.runFor(HOUR)
  expect(world.ended).toBeUndefined()
  expect(describedLive(world)).toEqual(describedByDisk(world))
  expect(world.observations.some(({ type }) => type === 'slot-opened')).toBe(false)
})
