import { describe, expect, test } from 'vitest'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { ServiceFaults } from '../../simulation/gasless/faults.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent, untilObserved } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

type Retry = Extract<RuntimeEvent, { type: 'retry' }>

/** Number of retries by `service route cause`. */
function retriesOf(sim: Simulation): Record<string, number> {
  const counts: Record<string, number> = {}
  const retries = sim.observations.filter((event): event is Retry => event.type === 'retry')
  for (const { service, route, cause } of retries) {
    const kind = `${service} ${route} ${cause}`
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

describe('a retry is counted', () => {
  test.each<[string, Partial<ServiceFaults>]>([
    ['nothing', { failsAfter: 1 }],
    ['a limit', { rateLimited: 1 }],
  ])('when a submission is answered with %s', async (answer, faults) => {
    const sim = new Simulation({ seed: `submit ${answer}`, strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR - 1)
    await untilObserved(sim, 'quote-verified', 2)
    Object.assign(sim.serviceFaults, faults)
    await untilObserved(sim, 'order-unknown', 2)
    Object.assign(sim.serviceFaults, { failsAfter: 0, rateLimited: 0 })
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(retriesOf(sim)).toEqual({ 'gasless submit unavailable': 1 })
    expectSound(sim)
  })

  test('when a new process repeats an unanswered submission', async () => {
    const sim = new Simulation({ seed: 'a crash', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR - 1)
    await untilEvent(sim, 'permit-recorded', 2)
    sim.crash()
    sim.start()
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(retriesOf(sim)).toEqual({ 'gasless submit unavailable': 1 })
  })

  test('when a quote request fails', async () => {
    const sim = new Simulation({ seed: 'quotes', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR - 1)
    sim.serviceFaults.down = true
    await untilEvent(sim, 'slot-opened', 2)
    await untilObserved(sim, 'retry', 2)
    sim.serviceFaults.down = false
    await sim.runFor(MINUTE)
    expect(retriesOf(sim)).toEqual({ 'gasless quote unavailable': 1 })
  })

  test('when the node does not answer, for each kind of query', async () => {
    const sim = new Simulation({ seed: 'a node', strategies: [aStrategy()] })
    sim.serviceFaults.silent = 1
    sim.serviceFaults.quoteLifetimeMs = 5 * MINUTE
    sim.chainFaults.down = true
    sim.start()
    await sim.runFor(20_000)
    sim.chainFaults.down = false
    await sim.runFor(HOUR - MINUTE)
    sim.chainFaults.down = true
    await sim.runFor(MINUTE)
    sim.chainFaults.down = false
    await untilEvent(sim, 'transaction-recorded', 2)
    sim.chainFaults.down = true
    await sim.runFor(5_000)
    sim.chainFaults.down = false
    await untilEvent(sim, 'order-accepted', 2)
    sim.chainFaults.down = true
    await sim.runFor(20_000)
    sim.chainFaults.down = false
    await sim.runFor(MINUTE)
    const routes = Object.keys(retriesOf(sim)).filter((kind) => kind.startsWith('rpc '))
    expect(routes.sort()).toEqual(
      ['broadcast', 'compare', 'identity', 'permit', 'transaction', 'view'].map(
        (route) => `rpc ${route} unavailable`,
      ),
    )
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  })
})

test('an order without failures retries no request', async () => {
  const sim = new Simulation({ seed: 'no failures', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(3 * HOUR)
  expect(sim.state.strategies.get('hourly')?.fills).toBeGreaterThan(1)
  expect(retriesOf(sim)).toEqual({})
})
