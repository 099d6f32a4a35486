import { expect, test } from 'vitest'
import type { Fact } from '../../../src/domain/book/fact.ts'
import { emptyState } from '../../../src/domain/book/fields.ts'
import { applyAndTell } from '../../../src/domain/book/tell.ts'
import { World } from '../../../src/simulate/world.ts'
import { aCallStrategy } from '../../support/aggregator/call-world.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound } from '../../support/sound.ts'

/** What the journal on disk says from its first record to its last. */
function toldByDisk(world: World): readonly Fact[] {
  const state = emptyState()
  return world.disk.records().map(({ event, atMs }) => applyAndTell(state, event, atMs))
}

/** What was told while the daemons ran, less what is no fact of the journal. */
function toldLive(world: World, types: ReadonlySet<string>): readonly unknown[] {
  return world.observations.filter(({ type }) => types.has(type))
}

test('every fact is told once, in the order of the journal, by a daemon that swaps, calls, is paused and halted', async () => {
  const world = new World({ seed: 'telling', strategies: [aStrategy(), aCallStrategy()] })
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
  const facts = toldByDisk(world)
  const types = new Set(facts.map(({ type }) => type))
  expect([...types]).toEqual(
    expect.arrayContaining(['filled', 'executed', 'order-ended', 'authorization-dead', 'pause']),
  )
  expect(toldLive(world, types)).toEqual(facts)
  expectSound(world)
})

test('a fact whose process died before it was on disk is never told', async () => {
  const world = new World({ seed: 'untold', strategies: [aStrategy()] })
  world.start()
  await world.runFor(MINUTE)
  world.disk.crashAt = { append: world.disk.appends + 1, when: 'before' }
  world.restartAfterMs = 10 * HOUR
  await world.runFor(HOUR)
  expect(world.ended).toBeUndefined()
  const types = new Set(toldByDisk(world).map(({ type }) => type))
  expect(toldLive(world, types)).toEqual(toldByDisk(world))
  expect(world.observations.some(({ type }) => type === 'slot-opened')).toBe(false)
})
