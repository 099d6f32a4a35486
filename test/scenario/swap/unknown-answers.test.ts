import { describe, expect, test } from 'vitest'
import type { ServiceFaults } from '../../simulation/gasless/faults.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { untilObserved } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

/** A simulation after its service failed from just after the quote until `failureMs` later. */
async function afterFailure(
  faults: Partial<ServiceFaults>,
  failureMs: number,
): Promise<Simulation> {
  const sim = new Simulation({ seed: `unknown ${Object.keys(faults)}`, strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(HOUR - 1)
  await untilObserved(sim, 'quote-verified')
  const healthy = { ...sim.serviceFaults }
  Object.assign(sim.serviceFaults, faults)
  await sim.runFor(failureMs)
  Object.assign(sim.serviceFaults, healthy)
  await sim.runFor(2 * MINUTE)
  return sim
}

describe('an answer that does not reveal the outcome of the order', () => {
  test.each<[string, Partial<ServiceFaults>]>([
    ['a 500 after the order was taken', { failsAfter: 1 }],
    ['a 500 before the order was taken', { failsBefore: 1 }],
    ['a storm of 429', { rateLimited: 1 }],
    ['an unreachable service', { down: true }],
    ['a 404 for an order that exists', { forgets: 1 }],
  ])('%s leads to one order and one fill', async (_name, faults) => {
    const sim = await afterFailure(faults, 15_000)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(sim.watch.signatures).toBe(1)
    expectSound(sim)
  })

  test('a rejection of an order that the service still executes yields to the chain', async () => {
    const sim = await afterFailure({ rejectsButTakes: 1 }, 1_000)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(sim.watch.signatures).toBe(1)
    expectSound(sim)
  })

  test('a rejection ends the order only after its permit is dead on chain', async () => {
    const sim = new Simulation({ seed: 'rejected', strategies: [aStrategy()] })
    sim.serviceFaults.rejects = 1
    sim.start()
    await sim.runFor(HOUR + 30_000)
    expect(sim.watch.signatures).toBe(1)
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['failed order-rejected'])
    expect(sim.watch.signatures).toBe(3)
    expectSound(sim)
  })

  test('a storm of 429 on every route delays orders and duplicates none', async () => {
    const sim = new Simulation({ seed: 'storm', strategies: [aStrategy()] })
    sim.serviceFaults.rateLimited = 0.7
    sim.start()
    await sim.runFor(4 * HOUR)
    sim.serviceFaults.rateLimited = 0
    expect(await sim.calmDown()).toBe(true)
    expect(sim.state.strategies.get('hourly')?.fills).toBeGreaterThan(1)
    expectSound(sim)
  })
})
