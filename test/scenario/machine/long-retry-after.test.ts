import { expect, test } from 'vitest'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { paced } from '../../support/paced.ts'
import { runUntil, untilEvent } from '../../support/simulations/run-until.ts'
import { expectSound } from '../../support/sound.ts'

/** One slot each at 01:00, behind the pacer of the live adapters. */
function simOf(rooms: readonly number[]): Simulation {
  const strategies = rooms.map((maxLatenessMs, at) =>
    aStrategy({
      name: `s${at}`,
      file: `s${at}.yaml`,
      schedule: aSchedule('0 1 * * *', { maxLatenessMs }),
      size: { side: 'sell', amount: usdc(10) },
    }),
  )
  const account = { perDay: NO_CAPS, perOrder: NO_CAPS }
  return new Simulation({ seed: 'held', strategies, account, pace: paced })
}

function endsOf(sim: Simulation): string[] {
  return sim.disk
    .events()
    .flatMap((event) =>
      event.type === 'slot-closed'
        ? [`${event.strategy} ${event.outcome} ${event.reason}: ${event.detail}`]
        : [],
    )
    .sort()
}

test('a 429 that asks for two hours holds all orders back: none asks earlier, and each ends by its own room', async () => {
  const sim = simOf([HOUR, 6 * HOUR, 6 * HOUR, 6 * HOUR])
  sim.start()
  await sim.runFor(HOUR - MINUTE)
  const untilMs = sim.clock.trueMs + 2 * HOUR
  sim.serviceFaults.holdsUntilMs = untilMs
  await sim.runFor(HOUR + 5 * MINUTE)
  const { limits } = sim.service
  expect(endsOf(sim)).toEqual([
    expect.stringMatching(/^s0 expired too-late: .*the service asks to wait for 1h 59m$/),
  ])
  const waits = sim.observations.filter(({ type }) => type === 'order-waits')
  expect(waits.length).toBeGreaterThan(0)
  expect(waits[0]).toMatchObject({
    reason: 'quote-unavailable',
    detail: expect.stringMatching(/the service asks to wait for 1h 5\dm$/),
  })
  await sim.runFor(2 * HOUR)
  const late = limits.requestedAtMs.filter((atMs) => atMs > untilMs - 2 * HOUR + 3 * MINUTE)
  expect(late.length).toBeGreaterThan(0)
  expect(Math.min(...late)).toBeGreaterThanOrEqual(untilMs)
  expect(endsOf(sim).filter((end) => / filled filled/.test(end))).toHaveLength(3)
  expectSound(sim)
})

test('the chain proves a fill while the service lets no poll through for a day', async () => {
  const sim = simOf([HOUR])
  sim.start()
  await sim.runFor(HOUR - MINUTE)
  await untilEvent(sim, 'order-accepted', 10)
  const { limits } = sim.service
  sim.serviceFaults.holdsUntilMs = sim.clock.trueMs + 24 * HOUR
  const polls = limits.requestsOf('poll')
  await runUntil(sim, 'end', () => endsOf(sim).length > 0, 1_000)
  expect(endsOf(sim)).toEqual([expect.stringContaining('s0 filled')])
  expect(limits.requestsOf('poll')).toBe(polls + 1)
  expectSound(sim)
})

test('a submission answered with a 429 of a day is sent once, and its permit still ends on chain', async () => {
  const sim = simOf([HOUR])
  sim.start()
  await sim.runFor(HOUR - MINUTE)
  await untilEvent(sim, 'permit-recorded', 1)
  sim.serviceFaults.holdsUntilMs = sim.clock.trueMs + 24 * HOUR
  await runUntil(sim, 'death', () => sim.state.exposures.size === 0, 1_000)
  expect(sim.service.limits.requestsOf('submit')).toBe(1)
  await sim.runFor(HOUR)
  expect(endsOf(sim)).toEqual([expect.stringMatching(/^s0 expired too-late/)])
  expectSound(sim)
})
