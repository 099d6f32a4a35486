import { describe, expect, test } from 'vitest'
import type { ServiceFaults } from '../../simulation/gasless/faults.ts'
import { World } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilObserved } from '../../support/worlds/run-until.ts'

/** A world whose service misbehaves from just after the quote until some seconds later. */
async function afterTrouble(faults: Partial<ServiceFaults>, troubleMs: number): Promise<World> {
  const world = new World({ seed: `unknown ${Object.keys(faults)}`, strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR - 1)
  await untilObserved(world, 'quote-verified')
  const healthy = { ...world.serviceFaults }
  Object.assign(world.serviceFaults, faults)
  await world.runFor(troubleMs)
  Object.assign(world.serviceFaults, healthy)
  await world.runFor(2 * MINUTE)
  return world
}

describe('an answer that says nothing about the order', () => {
  test.each<[string, Partial<ServiceFaults>]>([
    ['a 500 after the order was taken', { failsAfter: 1 }],
    ['a 500 before the order was taken', { failsBefore: 1 }],
    ['a storm of 429', { rateLimited: 1 }],
    ['a service that is gone', { down: true }],
    ['a 404 for an order that exists', { forgets: 1 }],
  ])('%s leads to one order and one fill', async (_name, faults) => {
    const world = await afterTrouble(faults, 15_000)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(world.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('a rejection of an order that was taken all the same is settled by the chain', async () => {
    const world = await afterTrouble({ rejectsButTakes: 1 }, 1_000)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(world.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('a rejection ends the order only when its permit is dead on chain', async () => {
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

  test('a storm of 429 on every route delays the order and doubles nothing', async () => {
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
