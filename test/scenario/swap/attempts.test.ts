import { expect, test } from 'vitest'
import { Simulation } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

test('an order signs its second attempt after the first permit is dead, and fills', async () => {
  const sim = new Simulation({ seed: 'second attempt', strategies: [aStrategy()] })
  sim.serviceFaults.neverFills = 1
  sim.start()
  await sim.runFor(HOUR + 50_000)
  expect(sim.watch.signatures).toBe(1)
  sim.serviceFaults.neverFills = 0
  await sim.runFor(3 * MINUTE)
  expect(sim.watch.signatures).toBe(2)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expectSound(sim)
})

test('an intent gives up after its last attempt', async () => {
  const sim = new Simulation({ seed: 'exhausted', strategies: [aStrategy()] })
  sim.serviceFaults.neverFills = 1
  sim.start()
  await sim.runFor(HOUR + 10 * MINUTE)
  expect(sim.watch.signatures).toBe(3)
  expect(outcomes(sim, 'hourly')).toEqual(['expired order-expired'])
  expectSound(sim)
})

test('an order starts no attempt after the maximum lateness of its schedule', async () => {
  const schedule = aSchedule('0 * * * *', { maxLatenessMs: MINUTE })
  const sim = new Simulation({ seed: 'late', strategies: [aStrategy({ schedule })] })
  sim.serviceFaults.neverFills = 1
  sim.start()
  await sim.runFor(HOUR + 10 * MINUTE)
  expect(sim.watch.signatures).toBe(1)
  expect(outcomes(sim, 'hourly')).toEqual(['expired too-late'])
  expectSound(sim)
})

test('an order is proven filled when it fills seconds before its deadline', async () => {
  const sim = new Simulation({ seed: 'last seconds', strategies: [aStrategy()] })
  sim.serviceFaults.fillsLate = 1
  sim.start()
  await sim.runFor(3 * HOUR + 5 * MINUTE)
  expect(sim.state.strategies.get('hourly')?.fills).toBe(3)
  expect(sim.watch.signatures).toBe(3)
  expectSound(sim)
})

test.each([51_000, 150_000])(
  'a quote that goes stale in a queue of %i ms is never signed',
  async (delayMs) => {
    const sim = new Simulation({ seed: 'stale', strategies: [aStrategy()] })
    sim.queueDelayMs = delayMs
    sim.start()
    await sim.runFor(HOUR + 15 * MINUTE)
    expect(sim.watch.signatures).toBe(0)
    expect(outcomes(sim, 'hourly')).toEqual([])
    await sim.runFor(50 * MINUTE)
    expect(sim.watch.signatures).toBe(0)
    expect(outcomes(sim, 'hourly')).toEqual(['expired too-late'])
    expectSound(sim)
  },
)

test('an order held in the queue by a rate limit for minutes requests a new quote', async () => {
  const sim = new Simulation({ seed: 'held once', strategies: [aStrategy()] })
  sim.queueDelayMs = 150_000
  sim.start()
  await sim.runFor(HOUR + MINUTE)
  sim.queueDelayMs = 0
  await sim.runFor(5 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expectSound(sim)
})
