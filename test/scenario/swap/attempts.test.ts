import { expect, test } from 'vitest'
import { World } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

test('an order signs its second attempt after the first permit is dead, and fills', async () => {
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

test('an order starts no attempt after the maximum lateness of its schedule', async () => {
  const schedule = aSchedule('0 * * * *', { maxLatenessMs: MINUTE })
  const world = new World({ seed: 'late', strategies: [aStrategy({ schedule })] })
  world.serviceFaults.neverFills = 1
  world.start()
  await world.runFor(HOUR + 10 * MINUTE)
  expect(world.watch.signatures).toBe(1)
  expect(outcomes(world, 'hourly')).toEqual(['expired too-late'])
  expectSound(world)
})

test('an order is proven filled when it fills seconds before its deadline', async () => {
  const world = new World({ seed: 'last seconds', strategies: [aStrategy()] })
  world.serviceFaults.fillsLate = 1
  world.start()
  await world.runFor(3 * HOUR + 5 * MINUTE)
  expect(world.state.strategies.get('hourly')?.fills).toBe(3)
  expect(world.watch.signatures).toBe(3)
  expectSound(world)
})

test.each([51_000, 150_000])(
  'a quote that goes stale in a queue of %i ms is never signed',
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

test('an order held in the queue by a rate limit for minutes requests a new quote', async () => {
  const world = new World({ seed: 'held once', strategies: [aStrategy()] })
  world.queueDelayMs = 150_000
  world.start()
  await world.runFor(HOUR + MINUTE)
  world.queueDelayMs = 0
  await world.runFor(5 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})
