import { describe, expect, test } from 'vitest'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import type { ServiceFaults } from '../../simulation/gasless/faults.ts'
import { World } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent, untilObserved } from '../../support/worlds/run-until.ts'

type Retry = Extract<RuntimeEvent, { type: 'retry' }>

/** Number of retries by `service route cause`. */
function retriesOf(world: World): Record<string, number> {
  const counts: Record<string, number> = {}
  const retries = world.observations.filter((event): event is Retry => event.type === 'retry')
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
    const world = new World({ seed: `submit ${answer}`, strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 1)
    await untilObserved(world, 'quote-verified', 2)
    Object.assign(world.serviceFaults, faults)
    await untilObserved(world, 'order-unknown', 2)
    Object.assign(world.serviceFaults, { failsAfter: 0, rateLimited: 0 })
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(retriesOf(world)).toEqual({ 'gasless submit unavailable': 1 })
    expectSound(world)
  })

  test('when a new process repeats an unanswered submission', async () => {
    const world = new World({ seed: 'a crash', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 1)
    await untilEvent(world, 'permit-recorded', 2)
    world.crash()
    world.start()
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(retriesOf(world)).toEqual({ 'gasless submit unavailable': 1 })
  })

  test('when a quote request fails', async () => {
    const world = new World({ seed: 'quotes', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 1)
    world.serviceFaults.down = true
    await untilEvent(world, 'slot-opened', 2)
    await untilObserved(world, 'retry', 2)
    world.serviceFaults.down = false
    await world.runFor(MINUTE)
    expect(retriesOf(world)).toEqual({ 'gasless quote unavailable': 1 })
  })

  test('when the node does not answer, for each kind of query', async () => {
    const world = new World({ seed: 'a node', strategies: [aStrategy()] })
    world.serviceFaults.silent = 1
    world.serviceFaults.quoteLifetimeMs = 5 * MINUTE
    world.chainFaults.down = true
    world.start()
    await world.runFor(20_000)
    world.chainFaults.down = false
    await world.runFor(HOUR - MINUTE)
    world.chainFaults.down = true
    await world.runFor(MINUTE)
    world.chainFaults.down = false
    await untilEvent(world, 'transaction-recorded', 2)
    world.chainFaults.down = true
    await world.runFor(5_000)
    world.chainFaults.down = false
    await untilEvent(world, 'order-accepted', 2)
    world.chainFaults.down = true
    await world.runFor(20_000)
    world.chainFaults.down = false
    await world.runFor(MINUTE)
    const routes = Object.keys(retriesOf(world)).filter((kind) => kind.startsWith('rpc '))
    expect(routes.sort()).toEqual(
      ['broadcast', 'compare', 'identity', 'permit', 'transaction', 'view'].map(
        (route) => `rpc ${route} unavailable`,
      ),
    )
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  })
})

test('an order without failures retries no request', async () => {
  const world = new World({ seed: 'no failures', strategies: [aStrategy()] })
  world.start()
  await world.runFor(3 * HOUR)
  expect(world.state.strategies.get('hourly')?.fills).toBeGreaterThan(1)
  expect(retriesOf(world)).toEqual({})
})
