import { expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

test('a second attempt is signed only after the first permit is dead, and fills', async () => {
  const world = new World({ seed: 'second attempt', strategies: [aStrategy()] })
  world.serviceFaults.neverFills = 1
  world.start()
  await world.runFor(HOUR + 50_000)
  expect(world.watch.signatures).toBe(1)
  world.serviceFaults.neverFills = 0
  await world.runFor(3 * MINUTE)
  expect(world.watch.signatures).toBe(2)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})

test('an intent gives up after its last attempt', async () => {
  const world = new World({ seed: 'exhausted', strategies: [aStrategy()] })
  world.serviceFaults.neverFills = 1
  world.start()
  await world.runFor(HOUR + 10 * MINUTE)
  expect(world.watch.signatures).toBe(3)
  expect(outcomes(world, 'hourly')).toEqual(['expired order-expired'])
  expectSound(world)
})

test('no attempt begins after the lateness that the schedule allows', async () => {
  const schedule = aSchedule('0 * * * *', { maxLatenessMs: MINUTE })
  const world = new World({ seed: 'late', strategies: [aStrategy({ schedule })] })
  world.serviceFaults.neverFills = 1
  world.start()
  await world.runFor(HOUR + 10 * MINUTE)
  expect(world.watch.signatures).toBe(1)
  expect(outcomes(world, 'hourly')).toEqual(['expired too-late'])
  expectSound(world)
})

test('a fill in the last seconds before the deadline is not missed', async () => {
  const world = new World({ seed: 'last seconds', strategies: [aStrategy()] })
  world.serviceFaults.fillsLate = 1
  world.start()
  await world.runFor(3 * HOUR + 5 * MINUTE)
  expect(world.state.strategies.get('hourly')?.fills).toBe(3)
  expect(world.watch.signatures).toBe(3)
  expectSound(world)
})

test.each([51_000, 150_000])(
  'a quote that goes stale in the queue, %i ms long, is never signed',
  async (delayMs) => {
    const world = new World({ seed: 'stale', strategies: [aStrategy()] })
    world.queueDelayMs = delayMs
    world.start()
    await world.runFor(HOUR + 15 * MINUTE)
    expect(world.watch.signatures).toBe(0)
    expect(outcomes(world, 'hourly')).toEqual([])
    await world.runFor(50 * MINUTE)
    expect(world.watch.signatures).toBe(0)
    expect(outcomes(world, 'hourly')).toEqual(['expired too-late'])
    expectSound(world)
  },
)

test('an order that a limit held in the queue for minutes is made on another quote', async () => {
  const world = new World({ seed: 'held once', strategies: [aStrategy()] })
  world.queueDelayMs = 150_000
  world.start()
  await world.runFor(HOUR + MINUTE)
  world.queueDelayMs = 0
  await world.runFor(5 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})
