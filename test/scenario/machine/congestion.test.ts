import { expect, test } from 'vitest'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import { Simulation, type SimulationOptions } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { paced } from '../../support/paced.ts'
import { runUntil } from '../../support/simulations/run-until.ts'
import { expectSound } from '../../support/sound.ts'

const ALL = 300

/** A simulation of many strategies with slots due in the same second, behind the pacer of the live adapters. */
function crowd(
  count: number,
  options: Partial<SimulationOptions> = {},
  maxLatenessMs = HOUR,
): Simulation {
  const strategies = Array.from({ length: count }, (_, at) =>
    aStrategy({
      name: `s${at + 100}`,
      file: `s${at + 100}.yaml`,
      schedule: aSchedule('0 * * * *', { maxLatenessMs }),
      size: { side: 'sell', amount: usdc(10) },
    }),
  )
  const account = { perDay: NO_CAPS, perOrder: NO_CAPS }
  return new Simulation({ seed: 'crowd', strategies, account, pace: paced, ...options })
}

function ends(sim: Simulation): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const event of sim.disk.events()) {
    if (event.type !== 'slot-closed') continue
    const end = `${event.outcome} ${event.reason}`
    counts[end] = (counts[end] ?? 0) + 1
  }
  return counts
}

/** Maximum number of requests in any second. */
function mostInASecond(times: readonly number[]): number {
  let most = 0
  let first = 0
  for (const [at, ms] of times.entries()) {
    while (ms - (times[first] ?? ms) >= 1_000) first += 1
    most = Math.max(most, at - first + 1)
  }
  return most
}

/** Names of strategies in the order of their recorded permits. */
function signedInOrder(sim: Simulation): string[] {
  return sim.disk
    .events()
    .flatMap((event) =>
      event.type === 'permit-recorded' ? [event.intentId.split(':')[0] ?? ''] : [],
    )
}

test('three hundred orders due in one second all fill in order at the rate of the service', async () => {
  const sim = crowd(ALL)
  sim.serviceFaults.quoteLifetimeMs = 30_000
  sim.start()
  await sim.runFor(HOUR + 6 * MINUTE)
  expect(ends(sim)).toEqual({ 'filled filled': ALL })
  const waits = sim.observations.filter(({ type }) => type === 'order-waits')
  expect(waits).toEqual([])
  const quotes = sim.service.limits.requestsOf('quote')
  // The first few run before the approval is mined and find no allowance yet.
  expect(quotes).toBeLessThan(ALL + 10)
  expect(mostInASecond(sim.service.limits.requestedAtMs)).toBeLessThanOrEqual(6)
  const signed = signedInOrder(sim)
  const displaced = signed.map((name, at) => Math.abs(Number(name.slice(1)) - 100 - at))
  expect(Math.max(...displaced)).toBeLessThan(10)
  expectSound(sim)
})

test('a stricter limit of the service overrides the config, and no order starves', async () => {
  const sim = crowd(40)
  sim.serviceFaults.quoteLifetimeMs = 30_000
  sim.serviceFaults.limit = { requests: 4, windowMs: 10_000 }
  sim.start()
  await sim.runFor(HOUR + 4 * MINUTE)
  expect(ends(sim)).toEqual({ 'filled filled': 40 })
  // The limit is unknown until the first reply of a window.
  expect(sim.service.limits.refused).toBeLessThan(10)
  expect(sim.service.limits.requestsOf('quote')).toBeLessThan(40 + 15)
  expectSound(sim)
})

test('an order that waited in the queue reads the market again and keeps its quote', async () => {
  const sim = crowd(3, { gasless: { approval: 'unlimited' } })
  const { limits } = sim.service
  sim.serviceFaults.quoteLifetimeMs = 9 * MINUTE
  sim.start()
  await sim.runFor(2 * HOUR)
  const before = limits.requestsOf('quote')
  await runUntil(sim, 'third quote', () => limits.requestsOf('quote') >= before + 3)
  sim.pacing?.onRetryAfter('submit', 3 * MINUTE)
  await sim.runFor(2 * MINUTE)
  expect(sim.watch.signatures).toBeLessThan(6)
  sim.market.setPrice(2_510n)
  await sim.runFor(3 * MINUTE)
  expect(ends(sim)).toEqual({ 'filled filled': 6 })
  expect(limits.requestsOf('quote')).toBe(before + 3)
  expect(sim.observations.filter(({ type }) => type === 'order-waits')).toEqual([])
  expectSound(sim)
})

test('a quote that expires in the queue does not count against the rate limit', async () => {
  const sim = crowd(3, { gasless: { approval: 'unlimited' } })
  const { limits } = sim.service
  sim.serviceFaults.quoteLifetimeMs = 30_000
  sim.start()
  await sim.runFor(2 * HOUR)
  const before = limits.requestsOf('quote')
  await runUntil(sim, 'third quote', () => limits.requestsOf('quote') >= before + 3)
  const signed = sim.watch.signatures
  sim.pacing?.onRetryAfter('submit', MINUTE)
  await sim.runFor(MINUTE - 100)
  expect([signed, sim.watch.signatures]).toEqual([5, 5])
  // One submission per second: if the expired quote had counted, the new one would wait that long.
  await sim.runFor(600)
  expect(limits.requestsOf('quote')).toBe(before + 4)
  expect(sim.watch.signatures).toBe(6)
  await sim.runFor(MINUTE)
  expect(ends(sim)).toEqual({ 'filled filled': 6 })
  expectSound(sim)
})

test('an order that cannot be sent in time expires and leaves the queue to the others', async () => {
  const sim = crowd(100, {}, MINUTE)
  const latestMs = sim.clock.trueMs + HOUR + MINUTE
  sim.start()
  await sim.runFor(HOUR + MINUTE + 2_000)
  const late = sim.disk
    .events()
    .filter((event) => event.type === 'intent-closed' && event.reason === 'too-late')
  expect(late.length).toBeGreaterThan(35)
  expect(late[0]).toMatchObject({
    outcome: 'expired',
    detail: expect.stringContaining('its turn had not come'),
  })
  await sim.runFor(2 * MINUTE)
  const { 'filled filled': filled = 0, 'expired too-late': expired = 0 } = ends(sim)
  expect(filled + expired).toBe(100)
  expect(filled).toBeGreaterThan(50)
  const lastSigned = sim.disk
    .records()
    .filter(({ event }) => event.type === 'permit-recorded')
    .at(-1)
  expect(lastSigned?.atMs).toBeLessThanOrEqual(latestMs)
  expectSound(sim)
})

test('a halt ends all queued orders at once', async () => {
  const sim = crowd(30)
  sim.start()
  await sim.runFor(HOUR + 8_000)
  await Promise.all([sim.control.halt(), sim.runFor(2_000)])
  const signed = sim.watch.signatures
  expect(ends(sim)['skipped halted']).toBe(30 - signed)
  await sim.runFor(MINUTE)
  expect(sim.watch.signatures).toBe(signed)
  expect(ends(sim)).toEqual({ 'filled filled': signed, 'skipped halted': 30 - signed })
  expectSound(sim)
})
