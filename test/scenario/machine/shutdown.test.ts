import { expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilObserved, untilSigned } from '../../support/worlds/run-until.ts'

test('a stopping daemon follows its order in flight to the end, then returns', async () => {
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

test('an order not drained in time is resumed by the next start', async () => {
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

test('a stopping daemon signs nothing', async () => {
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

test('the open order of a removed strategy is followed to its end', async () => {
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

test('a strategy removed before its next attempt signs nothing more', async () => {
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

test('a daemon stopped before its node answers changes nothing', async () => {
  const world = new World({ seed: 'no node', strategies: [aStrategy()] })
  world.chainFaults.down = true
  world.start()
  await world.runFor(MINUTE)
  world.stop('SIGTERM')
  await world.runFor(MINUTE)
  expect(world.ended).toBe('returned')
  expect(world.disk.lines).toEqual([])
})
