import { expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilObserved, untilSigned } from '../../support/worlds/run-until.ts'

test('a daemon asked to stop follows the order in flight to its end, then returns', async () => {
  const world = new World({ seed: 'drain', strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR)
  await untilSigned(world, 1)
  world.stop('SIGTERM')
  await world.runFor(MINUTE)
  expect(world.ended).toBe('returned')
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})

test('what cannot be drained in time is taken up by the next start', async () => {
  const world = new World({ seed: 'drain later', strategies: [aStrategy()] })
  world.serviceFaults.fillsLate = 1
  world.start()
  await world.runFor(HOUR)
  await untilSigned(world, 1)
  world.stop('SIGTERM')
  await world.runFor(40_000)
  expect(world.ended).toBe('returned')
  expect(outcomes(world, 'hourly')).toEqual([])
  await world.runFor(10 * MINUTE)
  world.start()
  await world.runFor(MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expect(world.watch.signatures).toBe(1)
  expectSound(world)
})

test('nothing is signed once the daemon was asked to stop', async () => {
  const world = new World({ seed: 'no new', strategies: [aStrategy()] })
  world.queueDelayMs = 5_000
  world.start()
  await world.runFor(HOUR)
  await untilObserved(world, 'quote-verified')
  world.stop('SIGTERM')
  await world.runFor(MINUTE)
  expect(world.watch.signatures).toBe(0)
  expect(world.ended).toBe('returned')
  world.queueDelayMs = 0
  world.start()
  await world.runFor(MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})

test('a strategy that is removed while its order is open has the order followed to its end', async () => {
  const world = new World({ seed: 'removed', strategies: [aStrategy()] })
  world.serviceFaults.fillsLate = 1
  world.start()
  await world.runFor(HOUR)
  await untilSigned(world, 1)
  world.crash()
  const { strategies } = world
  world.strategies = []
  world.start()
  await world.runFor(5 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  world.strategies = strategies
  expectSound(world)
})

test('a strategy that is removed before its next attempt signs nothing more', async () => {
  const world = new World({ seed: 'removed before', strategies: [aStrategy()] })
  world.serviceFaults.neverFills = 1
  world.start()
  await world.runFor(HOUR)
  await untilSigned(world, 1)
  world.crash()
  world.strategies = []
  world.start()
  await world.runFor(5 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['failed strategy-removed'])
  expect(world.watch.signatures).toBe(1)
  expectSound(world)
})

test('a daemon asked to stop before its node answers touches nothing', async () => {
  const world = new World({ seed: 'no node', strategies: [aStrategy()] })
  world.chainFaults.down = true
  world.start()
  await world.runFor(MINUTE)
  world.stop('SIGTERM')
  await world.runFor(MINUTE)
  expect(world.ended).toBe('returned')
  expect(world.disk.lines).toEqual([])
})
