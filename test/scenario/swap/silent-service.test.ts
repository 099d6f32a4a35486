import { describe, expect, test, vi } from 'vitest'
import { DEFAULT_POLICY } from '../../../src/domain/policy.ts'
import { SILENCES, type Silence } from '../../simulation/gasless/faults.ts'
import { World } from '../../simulation/simulation.ts'
import { WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { runUntil, untilEvent, untilObserved } from '../../support/worlds/run-until.ts'

const LIFETIME_MS = 5 * MINUTE
const PACE_MS = DEFAULT_POLICY.silenceMs
/** Bound from settlement to proof: the pace of chain reads, a poll interval, a block and a round trip. */
const PROVEN_MS_MAX = 10_000

/** A world whose service accepts orders but never reports on them; permits live for minutes. */
function silentWorld(silence: Silence | undefined): World {
  const world = new World({ seed: `silently ${silence}`, strategies: [aStrategy()] })
  Object.assign(world.serviceFaults, { silent: 1, silence, quoteLifetimeMs: LIFETIME_MS })
  return world
}

async function startBeforeSlot(world: World): Promise<void> {
  world.start()
  await world.runFor(HOUR - 1)
}

/** Counts the daemon's nonce reads from now on; reads by the ledger itself name no block. */
function countReads({ ledger }: World): () => number {
  const reads = vi.spyOn(ledger, 'nonceUsed')
  return () => reads.mock.calls.filter(([, , block]) => block !== undefined).length
}

function untilSettled(world: World): Promise<number> {
  const isSettled = () => world.ledger.transactions.some(({ settled }) => settled.length > 0)
  return runUntil(world, 'settlement', isSettled, 25)
}

describe('an order that settles while the service is silent', () => {
  test.each(SILENCES)('is proven by the chain within seconds (%s)', async (silence) => {
    const world = silentWorld(silence)
    await startBeforeSlot(world)
    const acceptedMs = await untilEvent(world, 'order-accepted', 25)
    const chainReads = countReads(world)
    const settledMs = await untilSettled(world)
    const provenMs = await untilEvent(world, 'fill-proven', 25)
    expect(provenMs - settledMs).toBeLessThan(PROVEN_MS_MAX)
    expect(chainReads()).toBeLessThanOrEqual(1 + (provenMs - acceptedMs) / PACE_MS)
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('is proven within seconds while a rate limit delays polls for minutes', async () => {
    const world = silentWorld('limit')
    await startBeforeSlot(world)
    await untilEvent(world, 'order-accepted', 25)
    world.queueDelaysMs = { poll: LIFETIME_MS }
    const settledMs = await untilSettled(world)
    const provenMs = await untilEvent(world, 'fill-proven', 25)
    expect(provenMs - settledMs).toBeLessThan(PROVEN_MS_MAX)
    expectSound(world)
  })

  test('is proven within seconds while a rate limit delays its second submission for minutes', async () => {
    const world = silentWorld(undefined)
    Object.assign(world.serviceFaults, { silent: 0 })
    await startBeforeSlot(world)
    await untilObserved(world, 'quote-verified', 25)
    Object.assign(world.serviceFaults, { failsAfter: 1 })
    await untilEvent(world, 'permit-recorded', 25)
    world.queueDelayMs = LIFETIME_MS
    const settledMs = await untilSettled(world)
    const provenMs = await untilEvent(world, 'fill-proven', 25)
    expect(provenMs - settledMs).toBeLessThan(PROVEN_MS_MAX)
    expect(eventTypes(world)).not.toContain('order-accepted')
    expectSound(world)
  })
})

test('a repeated submission is not sent when its permit dies in the queue', async () => {
  const world = silentWorld(undefined)
  Object.assign(world.serviceFaults, { silent: 0, neverFills: 1, quoteLifetimeMs: MINUTE })
  await startBeforeSlot(world)
  await untilObserved(world, 'quote-verified', 25)
  Object.assign(world.serviceFaults, { failsAfter: 1 })
  await untilEvent(world, 'permit-recorded', 25)
  world.queueDelayMs = LIFETIME_MS
  await untilEvent(world, 'authorization-dead', 25)
  Object.assign(world.serviceFaults, { failsAfter: 0, neverFills: 0 })
  world.queueDelayMs = 0
  await world.runFor(2 * LIFETIME_MS)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expect(world.watch.signatures).toBe(2)
  expect(world.observations.filter(({ type }) => type === 'retry')).toEqual([])
  expectSound(world)
})

test('a submission is not repeated when the wallet gets code while it waits in the queue', async () => {
  const world = silentWorld(undefined)
  Object.assign(world.serviceFaults, { silent: 0, neverFills: 1 })
  await startBeforeSlot(world)
  await untilObserved(world, 'quote-verified', 25)
  Object.assign(world.serviceFaults, { failsAfter: 1 })
  await untilEvent(world, 'permit-recorded', 25)
  world.queueDelayMs = MINUTE
  await world.runFor(MINUTE / 2)
  world.ledger.growCode(WALLET)
  await world.runFor(2 * MINUTE)
  const repeated = world.observations.filter(
    (each) => each.type === 'retry' && each.route === 'submit',
  )
  expect(repeated).toEqual([])
  expectSound(world)
})

test('an order that never settles reads the chain at most once per pace and stays open until its deadline', async () => {
  const world = silentWorld('not-found')
  Object.assign(world.serviceFaults, { neverFills: 1 })
  await startBeforeSlot(world)
  const acceptedMs = await untilEvent(world, 'order-accepted', 25)
  const chainReads = countReads(world)
  await world.runFor(LIFETIME_MS - MINUTE)
  // Its approval is final by then.
  const ofOrder = eventTypes(world).filter((type) => type !== 'transactions-final')
  expect(ofOrder.at(-1)).toBe('order-accepted')
  expect(chainReads()).toBeGreaterThan(10)
  expect(chainReads()).toBeLessThanOrEqual(1 + (world.clock.trueMs - acceptedMs) / PACE_MS)
  const deadMs = await untilEvent(world, 'authorization-dead', 25)
  expect(deadMs - acceptedMs).toBeGreaterThan(LIFETIME_MS - MINUTE)
  expectSound(world)
})

test('an order with answered polls reads the chain only for the proof', async () => {
  const world = silentWorld('not-found')
  Object.assign(world.serviceFaults, { silent: 0 })
  await startBeforeSlot(world)
  await untilEvent(world, 'order-accepted', 25)
  const chainReads = countReads(world)
  await untilEvent(world, 'fill-proven', 25)
  expect(chainReads()).toBe(1)
})

test('a poll after an unanswered poll counts as a retry with the cause of the first', async () => {
  const causes = { 'not-found': 'notFound', error: 'unavailable', limit: 'rateLimited' } as const
  for (const [silence, cause] of Object.entries(causes)) {
    const world = silentWorld(silence as Silence)
    Object.assign(world.serviceFaults, { neverFills: 1 })
    await startBeforeSlot(world)
    await untilEvent(world, 'order-accepted', 25)
    await world.runFor(20_000)
    const retries = world.observations.filter(({ type }) => type === 'retry')
    expect(retries.length).toBeGreaterThan(3)
    for (const retry of retries)
      expect(retry).toEqual({ type: 'retry', service: 'gasless', route: 'poll', cause })
  }
})
