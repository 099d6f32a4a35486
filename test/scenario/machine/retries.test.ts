import { describe, expect, test } from 'vitest'
import type { Observation } from '../../../src/domain/observation.ts'
import type { ServiceFaults } from '../../../src/simulate/gasless/faults.ts'
import { World } from '../../../src/simulate/world.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

type Retry = Extract<Observation, { type: 'retry' }>

/** Each kind of request that was made again, as `service route cause`, with how often. */
function retriesOf(world: World): Record<string, number> {
  const counts: Record<string, number> = {}
  const retries = world.observations.filter((event): event is Retry => event.type === 'retry')
  for (const { service, route, cause } of retries) {
    const kind = `${service} ${route} ${cause}`
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

/** Lets a world run, from just before its slot, in steps that decide nothing. */
async function until(world: World, isSo: () => boolean): Promise<void> {
  const untilMs = world.clock.trueMs + MINUTE
  while (world.clock.trueMs < untilMs && !isSo()) await world.runFor(2)
  expect(isSo()).toBe(true)
}

function untilEvent(world: World, type: string): Promise<void> {
  return until(world, () => eventTypes(world).includes(type))
}

function untilQuoted(world: World): Promise<void> {
  return until(world, () => world.observations.some(({ type }) => type === 'quote-verified'))
}

describe('a request that is made again is counted', () => {
  test.each<[string, Partial<ServiceFaults>]>([
    ['nothing', { failsAfter: 1 }],
    ['a limit', { rateLimited: 1 }],
  ])('when a submission was answered with %s', async (answer, faults) => {
    const world = new World({ seed: `submit ${answer}`, strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 1)
    await untilQuoted(world)
    Object.assign(world.serviceFaults, faults)
    await until(world, () => world.observations.some(({ type }) => type === 'order-unknown'))
    Object.assign(world.serviceFaults, { failsAfter: 0, rateLimited: 0 })
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(retriesOf(world)).toEqual({ 'gasless submit unavailable': 1 })
    expectSound(world)
  })

  test('when a submission is repeated by a process that never heard of an answer', async () => {
    const world = new World({ seed: 'a crash', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 1)
    await untilEvent(world, 'permit-recorded')
    world.crash()
    world.start()
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(retriesOf(world)).toEqual({ 'gasless submit unavailable': 1 })
  })

  test('when no quote was given', async () => {
    const world = new World({ seed: 'quotes', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR - 1)
    world.serviceFaults.down = true
    await untilEvent(world, 'slot-opened')
    await until(world, () => Object.keys(retriesOf(world)).length > 0)
    world.serviceFaults.down = false
    await world.runFor(MINUTE)
    expect(retriesOf(world)).toEqual({ 'gasless quote unavailable': 1 })
  })

  test('when the node did not answer, whatever it was asked for', async () => {
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
    await untilEvent(world, 'transaction-recorded')
    world.chainFaults.down = true
    await world.runFor(5_000)
    world.chainFaults.down = false
    await untilEvent(world, 'order-accepted')
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

test('an order without trouble makes no request again', async () => {
  const world = new World({ seed: 'no trouble', strategies: [aStrategy()] })
  world.start()
  await world.runFor(3 * HOUR)
  expect(world.state.strategies.get('hourly')?.fills).toBeGreaterThan(1)
  expect(retriesOf(world)).toEqual({})
})
