import { expect, test } from 'vitest'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import { World, type WorldOptions } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { paced } from '../../support/paced.ts'
import { expectSound } from '../../support/sound.ts'
import { runUntil } from '../../support/worlds/run-until.ts'

const ALL = 300

/** A world of many strategies with slots due in the same second, behind the pacer of the live adapters. */
function crowd(count: number, options: Partial<WorldOptions> = {}, maxLatenessMs = HOUR): World {
  const strategies = Array.from({ length: count }, (_, at) =>
    aStrategy({
      name: `s${at + 100}`,
      file: `s${at + 100}.yaml`,
      schedule: aSchedule('0 * * * *', { maxLatenessMs }),
      size: { side: 'sell', amount: usdc(10) },
    }),
  )
  const account = { perDay: NO_CAPS, perOrder: NO_CAPS }
  return new World({ seed: 'crowd', strategies, account, pace: paced, ...options })
}

function ends(world: World): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const event of world.disk.events()) {
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
function signedInOrder(world: World): string[] {
  return world.disk
    .events()
    .flatMap((event) =>
      event.type === 'permit-recorded' ? [event.intentId.split(':')[0] ?? ''] : [],
    )
}

test('three hundred orders due in one second all fill in order at the rate of the service', async () => {
  const world = crowd(ALL)
  world.serviceFaults.quoteLifetimeMs = 30_000
  world.start()
  await world.runFor(HOUR + 6 * MINUTE)
  expect(ends(world)).toEqual({ 'filled filled': ALL })
  const waits = world.observations.filter(({ type }) => type === 'order-waits')
  expect(waits).toEqual([])
  const quotes = world.service.limits.requestsOf('quote')
  // The first few run before the approval is mined and find no allowance yet.
  expect(quotes).toBeLessThan(ALL + 10)
  expect(mostInASecond(world.service.limits.requestedAtMs)).toBeLessThanOrEqual(6)
  const signed = signedInOrder(world)
  const displaced = signed.map((name, at) => Math.abs(Number(name.slice(1)) - 100 - at))
  expect(Math.max(...displaced)).toBeLessThan(10)
  expectSound(world)
})

test('a stricter limit of the service overrides the config, and no order starves', async () => {
  const world = crowd(40)
  world.serviceFaults.quoteLifetimeMs = 30_000
  world.serviceFaults.limit = { requests: 4, windowMs: 10_000 }
  world.start()
  await world.runFor(HOUR + 4 * MINUTE)
  expect(ends(world)).toEqual({ 'filled filled': 40 })
  // The limit is unknown until the first reply of a window.
  expect(world.service.limits.refused).toBeLessThan(10)
  expect(world.service.limits.requestsOf('quote')).toBeLessThan(40 + 15)
  expectSound(world)
})

test('an order that waited in the queue reads the market again and keeps its quote', async () => {
  const world = crowd(3, { gasless: { approval: 'unlimited' } })
  const { limits } = world.service
  world.serviceFaults.quoteLifetimeMs = 9 * MINUTE
  world.start()
  await world.runFor(2 * HOUR)
  const before = limits.requestsOf('quote')
  await runUntil(world, 'third quote', () => limits.requestsOf('quote') >= before + 3)
  world.pacing?.onRetryAfter('submit', 3 * MINUTE)
  await world.runFor(2 * MINUTE)
  expect(world.watch.signatures).toBeLessThan(6)
  world.market.setPrice(2_510n)
  await world.runFor(3 * MINUTE)
  expect(ends(world)).toEqual({ 'filled filled': 6 })
  expect(limits.requestsOf('quote')).toBe(before + 3)
  expect(world.observations.filter(({ type }) => type === 'order-waits')).toEqual([])
  expectSound(world)
})

test('a quote that expires in the queue does not count against the rate limit', async () => {
  const world = crowd(3, { gasless: { approval: 'unlimited' } })
  const { limits } = world.service
  world.serviceFaults.quoteLifetimeMs = 30_000
  world.start()
  await world.runFor(2 * HOUR)
  const before = limits.requestsOf('quote')
  await runUntil(world, 'third quote', () => limits.requestsOf('quote') >= before + 3)
  const signed = world.watch.signatures
  world.pacing?.onRetryAfter('submit', MINUTE)
  await world.runFor(MINUTE - 100)
  expect([signed, world.watch.signatures]).toEqual([5, 5])
  // One submission per second: if the expired quote had counted, the new one would wait that long.
  await world.runFor(600)
  expect(limits.requestsOf('quote')).toBe(before + 4)
  expect(world.watch.signatures).toBe(6)
  await world.runFor(MINUTE)
  expect(ends(world)).toEqual({ 'filled filled': 6 })
  expectSound(world)
})

test('an order that cannot be sent in time expires and leaves the queue to the others', async () => {
  const world = crowd(100, {}, MINUTE)
  const latestMs = world.clock.trueMs + HOUR + MINUTE
  world.start()
  await world.runFor(HOUR + MINUTE + 2_000)
  const late = world.disk
    .events()
    .filter((event) => event.type === 'intent-closed' && event.reason === 'too-late')
  expect(late.length).toBeGreaterThan(35)
  expect(late[0]).toMatchObject({
    outcome: 'expired',
    detail: expect.stringContaining('its turn had not come'),
  })
  await world.runFor(2 * MINUTE)
  const { 'filled filled': filled = 0, 'expired too-late': expired = 0 } = ends(world)
  expect(filled + expired).toBe(100)
  expect(filled).toBeGreaterThan(50)
  const lastSigned = world.disk
    .records()
    .filter(({ event }) => event.type === 'permit-recorded')
    .at(-1)
  expect(lastSigned?.atMs).toBeLessThanOrEqual(latestMs)
  expectSound(world)
})

test('a halt ends all queued orders at once', async () => {
  const world = crowd(30)
  world.start()
  await world.runFor(HOUR + 8_000)
  await Promise.all([world.control.halt(), world.runFor(2_000)])
  const signed = world.watch.signatures
  expect(ends(world)['skipped halted']).toBe(30 - signed)
  await world.runFor(MINUTE)
  expect(world.watch.signatures).toBe(signed)
  expect(ends(world)).toEqual({ 'filled filled': signed, 'skipped halted': 30 - signed })
  expectSound(world)
})
