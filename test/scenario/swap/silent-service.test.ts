import { describe, expect, test, vi } from 'vitest'
import { DEFAULT_POLICY } from '../../../src/domain/policy.ts'
import { SILENCES, type Silence } from '../../simulation/gasless/faults.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { WALLET } from '../../simulation/stage.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { runUntil, untilEvent, untilObserved } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const LIFETIME_MS = 5 * MINUTE
const PACE_MS = DEFAULT_POLICY.silenceMs
/** Bound from settlement to proof: the pace of chain reads, a poll interval, a block and a round trip. */
const PROVEN_MS_MAX = 10_000

/** A simulation whose service accepts orders but never reports on them; permits live for minutes. */
function silentSimulation(silence: Silence | undefined): Simulation {
  const sim = new Simulation({ seed: `silently ${silence}`, strategies: [aStrategy()] })
  Object.assign(sim.serviceFaults, { silent: 1, silence, quoteLifetimeMs: LIFETIME_MS })
  return sim
}

async function startBeforeSlot(sim: Simulation): Promise<void> {
  sim.start()
  await sim.runFor(HOUR - 1)
}

/** Counts the daemon's nonce reads from now on; reads by the ledger itself name no block. */
function countReads({ ledger }: Simulation): () => number {
  const reads = vi.spyOn(ledger, 'nonceUsed')
  return () => reads.mock.calls.filter(([, , block]) => block !== undefined).length
}

function untilSettled(sim: Simulation): Promise<number> {
  const isSettled = () => sim.ledger.transactions.some(({ settled }) => settled.length > 0)
  return runUntil(sim, 'settlement', isSettled, 25)
}

describe('an order that settles while the service is silent', () => {
  test.each(SILENCES)('is proven by the chain within seconds (%s)', async (silence) => {
    const sim = silentSimulation(silence)
    await startBeforeSlot(sim)
    const acceptedMs = await untilEvent(sim, 'order-accepted', 25)
    const chainReads = countReads(sim)
    const settledMs = await untilSettled(sim)
    const provenMs = await untilEvent(sim, 'fill-proven', 25)
    expect(provenMs - settledMs).toBeLessThan(PROVEN_MS_MAX)
    expect(chainReads()).toBeLessThanOrEqual(1 + (provenMs - acceptedMs) / PACE_MS)
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('is proven within seconds while a rate limit delays polls for minutes', async () => {
    const sim = silentSimulation('limit')
    await startBeforeSlot(sim)
    await untilEvent(sim, 'order-accepted', 25)
    sim.queueDelaysMs = { poll: LIFETIME_MS }
    const settledMs = await untilSettled(sim)
    const provenMs = await untilEvent(sim, 'fill-proven', 25)
    expect(provenMs - settledMs).toBeLessThan(PROVEN_MS_MAX)
    expectSound(sim)
  })

  test('is proven within seconds while a rate limit delays its second submission for minutes', async () => {
    const sim = silentSimulation(undefined)
    Object.assign(sim.serviceFaults, { silent: 0 })
    await startBeforeSlot(sim)
    await untilObserved(sim, 'quote-verified', 25)
    Object.assign(sim.serviceFaults, { failsAfter: 1 })
    await untilEvent(sim, 'permit-recorded', 25)
    sim.queueDelayMs = LIFETIME_MS
    const settledMs = await untilSettled(sim)
    const provenMs = await untilEvent(sim, 'fill-proven', 25)
    expect(provenMs - settledMs).toBeLessThan(PROVEN_MS_MAX)
    expect(eventTypes(sim)).not.toContain('order-accepted')
    expectSound(sim)
  })
})

test('a repeated submission is not sent when its permit dies in the queue', async () => {
  const sim = silentSimulation(undefined)
  Object.assign(sim.serviceFaults, { silent: 0, neverFills: 1, quoteLifetimeMs: MINUTE })
  await startBeforeSlot(sim)
  await untilObserved(sim, 'quote-verified', 25)
  Object.assign(sim.serviceFaults, { failsAfter: 1 })
  await untilEvent(sim, 'permit-recorded', 25)
  sim.queueDelayMs = LIFETIME_MS
  await untilEvent(sim, 'authorization-dead', 25)
  Object.assign(sim.serviceFaults, { failsAfter: 0, neverFills: 0 })
  sim.queueDelayMs = 0
  await sim.runFor(2 * LIFETIME_MS)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expect(sim.watch.signatures).toBe(2)
  expect(sim.observations.filter(({ type }) => type === 'retry')).toEqual([])
  expectSound(sim)
})

test('a submission is not repeated when the wallet gets code while it waits in the queue', async () => {
  const sim = silentSimulation(undefined)
  Object.assign(sim.serviceFaults, { silent: 0, neverFills: 1 })
  await startBeforeSlot(sim)
  await untilObserved(sim, 'quote-verified', 25)
  Object.assign(sim.serviceFaults, { failsAfter: 1 })
  await untilEvent(sim, 'permit-recorded', 25)
  sim.queueDelayMs = MINUTE
  await sim.runFor(MINUTE / 2)
  sim.ledger.growCode(WALLET)
  await sim.runFor(2 * MINUTE)
  const repeated = sim.observations.filter(
    (each) => each.type === 'retry' && each.route === 'submit',
  )
  expect(repeated).toEqual([])
  expectSound(sim)
})

test('an order that never settles reads the chain at most once per pace and stays open until its deadline', async () => {
  const sim = silentSimulation('not-found')
  Object.assign(sim.serviceFaults, { neverFills: 1 })
  await startBeforeSlot(sim)
  const acceptedMs = await untilEvent(sim, 'order-accepted', 25)
  const chainReads = countReads(sim)
  await sim.runFor(LIFETIME_MS - MINUTE)
  // Its approval is final by then.
  const ofOrder = eventTypes(sim).filter((type) => type !== 'transactions-final')
  expect(ofOrder.at(-1)).toBe('order-accepted')
  expect(chainReads()).toBeGreaterThan(10)
  expect(chainReads()).toBeLessThanOrEqual(1 + (sim.clock.trueMs - acceptedMs) / PACE_MS)
  const deadMs = await untilEvent(sim, 'authorization-dead', 25)
  expect(deadMs - acceptedMs).toBeGreaterThan(LIFETIME_MS - MINUTE)
  expectSound(sim)
})

test('an order with answered polls reads the chain only for the proof', async () => {
  const sim = silentSimulation('not-found')
  Object.assign(sim.serviceFaults, { silent: 0 })
  await startBeforeSlot(sim)
  await untilEvent(sim, 'order-accepted', 25)
  const chainReads = countReads(sim)
  await untilEvent(sim, 'fill-proven', 25)
  expect(chainReads()).toBe(1)
})

test('a poll after an unanswered poll counts as a retry with the cause of the first', async () => {
  const causes = { 'not-found': 'notFound', error: 'unavailable', limit: 'rateLimited' } as const
  for (const [silence, cause] of Object.entries(causes)) {
    const sim = silentSimulation(silence as Silence)
    Object.assign(sim.serviceFaults, { neverFills: 1 })
    await startBeforeSlot(sim)
    await untilEvent(sim, 'order-accepted', 25)
    await sim.runFor(20_000)
    const retries = sim.observations.filter(({ type }) => type === 'retry')
    expect(retries.length).toBeGreaterThan(3)
    for (const retry of retries)
      expect(retry).toEqual({ type: 'retry', service: 'gasless', route: 'poll', cause })
  }
})
