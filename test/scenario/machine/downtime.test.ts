import { describe, expect, test } from 'vitest'
import type { MissedPolicy } from '../../../src/domain/schedule/schedule.ts'
import { World } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

/** A world that is down from 01:30 until 05:10, with a slot at every full hour. */
async function afterDowntime(missed: MissedPolicy, maxLatenessMs: number): Promise<World> {
  const schedule = aSchedule('0 * * * *', { missed, maxLatenessMs })
  const limits = { ...OPEN, maxOpenIntents: 10 }
  const strategies = [aStrategy({ schedule, limits })]
  const world = new World({ seed: `down ${missed}`, strategies })
  world.start()
  await world.runFor(1.5 * HOUR)
  world.crash()
  await world.runFor(3 * HOUR + 40 * MINUTE)
  world.start()
  await world.runFor(10 * MINUTE)
  return world
}

describe('slots missed while the machine was down', () => {
  test.each<[MissedPolicy, number, readonly string[]]>([
    ['skip', 12 * HOUR, ['missed 4']],
    ['latest', 12 * HOUR, ['missed 3', 'filled filled']],
    ['latest', 5 * MINUTE, ['missed 4']],
    ['all', 12 * HOUR, Array(4).fill('filled filled')],
    ['all', 2 * HOUR + 30 * MINUTE, ['missed 1', ...Array(3).fill('filled filled')]],
  ])('follow missed: %s with maxLateness %d ms', async (missed, maxLatenessMs, expected) => {
    const world = await afterDowntime(missed, maxLatenessMs)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled', ...expected])
    expectSound(world)
  })

  test('are caught up after a stall of the process', async () => {
    const world = new World({ seed: 'stall', strategies: [aStrategy()] })
    world.start()
    await world.runFor(30 * MINUTE)
    world.clock.stall(3 * HOUR + 45 * MINUTE)
    await world.runFor(5 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(['missed 3', 'filled filled', 'filled filled'])
    expectSound(world)
  })
})

test('a slot is delayed while the node is silent, and opens when the node returns', async () => {
  const world = new World({ seed: 'silent node', strategies: [aStrategy()] })
  world.start()
  await world.runFor(50 * MINUTE)
  world.chainFaults.down = true
  await world.runFor(30 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual([])
  world.chainFaults.down = false
  await world.runFor(5 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})

test('a slot is missed, not lost, when the node is silent past its maximum lateness', async () => {
  const schedule = aSchedule('0 * * * *', { maxLatenessMs: 20 * MINUTE })
  const world = new World({ seed: 'very silent node', strategies: [aStrategy({ schedule })] })
  world.start()
  await world.runFor(50 * MINUTE)
  world.chainFaults.down = true
  await world.runFor(45 * MINUTE)
  world.chainFaults.down = false
  await world.runFor(MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['missed 1'])
  expectSound(world)
})
