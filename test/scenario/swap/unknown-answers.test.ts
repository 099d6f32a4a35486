import { describe, expect, test } from 'vitest'
import type { ServiceFaults } from '../../simulation/gasless/faults.ts'
import { World } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilObserved } from '../../support/worlds/run-until.ts'

/** A world after its service failed from just after the quote until `failureMs` later. */
async function afterFailure(faults: Partial<ServiceFaults>, failureMs: number): Promise<World> {
  const world = new World({ seed: `unknown ${Object.keys(faults)}`, strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR - 1)
  await untilObserved(world, 'quote-verified')
  const healthy = { ...world.serviceFaults }
  Object.assign(world.serviceFaults, faults)
  await world.runFor(failureMs)
  Object.assign(world.serviceFaults, healthy)
  await world.runFor(2 * MINUTE)
  return world
}

describe('an answer that does not reveal the outcome of the order', () => {
  test.each<[string, Partial<ServiceFaults>]>([
    ['a 500 after the order was taken', { failsAfter: 1 }],
    ['a 500 before the order was taken', { failsBefore: 1 }],
    ['a storm of 429', { rateLimited: 1 }],
    ['an unreachable service', { down: true }],
    ['a 404 for an order that exists', { forgets: 1 }],
  ])('%s leads to one order and one fill', async (_name, faults) => {
    const world = await afterFailure(faults, 15_000)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(world.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('a rejection of an order that the service still executes yields to the chain', async () => {
    const world = await afterFailure({ rejectsButTakes: 1 }, 1_000)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(world.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('a rejection ends the order only after its permit is dead on chain', async () => {
    const world = new World({ seed: 'rejected', strategies: [aStrategy()] })
    world.serviceFaults.rejects = 1
    world.start()
    await world.runFor(HOUR + 30_000)
    expect(world.watch.signatures).toBe(1)
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['failed order-rejected'])
    expect(world.watch.signatures).toBe(3)
    expectSound(world)
  })

  test('a storm of 429 on every route delays orders and duplicates none', async () => {
    const world = new World({ seed: 'storm', strategies: [aStrategy()] })
    world.serviceFaults.rateLimited = 0.7
    world.start()
    await world.runFor(4 * HOUR)
    world.serviceFaults.rateLimited = 0
    expect(await world.calmDown()).toBe(true)
    expect(world.state.strategies.get('hourly')?.fills).toBeGreaterThan(1)
    expectSound(world)
  })
})
