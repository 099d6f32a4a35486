import { describe, expect, test } from 'vitest'
import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { Simulation } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callSimulation,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

const DAY = 24 * HOUR
const FILLED = 'filled filled'

/** Sets the machine's clock thirty days ahead for four minutes. */
async function jumpAhead(sim: Simulation): Promise<void> {
  sim.clock.offsetMs = 30 * DAY
  await sim.runFor(4 * MINUTE)
  sim.clock.offsetMs = 0
}

describe('a clock thirty days ahead for four minutes', () => {
  test.each([
    ['between two slots', 30 * MINUTE],
    ['at a slot', 58 * MINUTE],
  ])('consumes no slot of swaps or calls %s', async (_name, afterMs) => {
    const sim = new Simulation({
      seed: `jump ${afterMs}`,
      strategies: [aStrategy(), aCallStrategy()],
    })
    sim.start()
    await sim.runFor(HOUR + afterMs)
    await jumpAhead(sim)
    await sim.runFor(3 * HOUR)
    for (const name of ['hourly', 'claim']) {
      const ends = outcomes(sim, name)
      // The slot due meanwhile may fail because of the clock; all others fill.
      expect(ends.length).toBe(afterMs > 30 * MINUTE ? 5 : 4)
      expect(ends.filter((end) => end === FILLED).length).toBeGreaterThanOrEqual(4)
    }
    expect(sim.observations.some(({ type }) => type === 'clock-trouble')).toBe(true)
    // A tick of calls reads no swap balances, so it must not report them as missing.
    expect(
      sim.observations.filter((each) => each.type === 'wallet-balance' && !each.amount),
    ).toEqual([])
    expectSound(sim)
  })

  test('stops no calls while the chain of swaps is silent', async () => {
    const sim = callSimulation({ seed: 'jump and silence' })
    sim.start()
    await sim.runFor(HOUR + 30 * MINUTE)
    sim.chainFaults.down = true
    await jumpAhead(sim)
    sim.chainFaults.down = false
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'claim')).toEqual(Array(4).fill(FILLED))
    expectSound(sim)
  })

  test('refuses a trigger, which would consume all slots until then', async () => {
    const sim = new Simulation({ seed: 'triggered', strategies: [aStrategy(), aCallStrategy()] })
    sim.start()
    await sim.runFor(HOUR + 30 * MINUTE)
    sim.clock.offsetMs = 30 * DAY
    const replies = ['hourly', 'claim'].map((name) => sim.control.trigger(name))
    await sim.runFor(2 * MINUTE)
    for (const answer of await Promise.all(replies))
      expect(answer).toMatchObject({
        ok: false,
        detail: expect.stringMatching(/block is \d+ s old/),
      })
    sim.clock.offsetMs = 0
    await sim.runFor(2 * HOUR)
    for (const name of ['hourly', 'claim'])
      expect(outcomes(sim, name)).toEqual(Array(3).fill(FILLED))
    expectSound(sim)
  })

  test('loses no slot under `missed: skip` at the start', async () => {
    const schedule = aSchedule('0 * * * *', { missed: 'skip' })
    const strategies = [aStrategy({ schedule }), aCallStrategy({ schedule })]
    const sim = new Simulation({ seed: 'started ahead', strategies })
    sim.start()
    await sim.runFor(30 * MINUTE)
    sim.stop('SIGTERM')
    await sim.runFor(MINUTE)
    sim.clock.offsetMs = 30 * DAY
    sim.start()
    await jumpAhead(sim)
    await sim.runFor(3 * HOUR)
    for (const name of ['hourly', 'claim'])
      expect(outcomes(sim, name)).toEqual(Array(3).fill(FILLED))
    expectSound(sim)
  })

  test('neither extends the cap of a trusted call for thirty days nor frees it early during its proof', async () => {
    const limits = { ...OPEN, perDay: new Map([[NATIVE_TOKEN, baseUnits(2_500n)]]) }
    const sim = callSimulation({
      seed: 'trusted and ahead',
      strategies: [aCallStrategy({ limits })],
      aggregator: { proposer: 'trusted' },
    })
    sim.aggregation.faults.delayMs = MINUTE
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    sim.clock.offsetMs = 30 * DAY
    await untilEvent(sim, 'call-proven')
    sim.clock.offsetMs = 0
    await sim.runFor(2 * HOUR)
    // Two calls of 1,000 wei fit into a day, the third only on the next.
    expect(outcomes(sim, 'claim')).toEqual([FILLED, FILLED, 'skipped limit-per-day'])
    await sim.runFor(24 * HOUR)
    expect(outcomes(sim, 'claim').filter((end) => end === FILLED).length).toBeGreaterThan(2)
    expectSound(sim)
  })

  test('leaves the length of a cooldown unchanged', async () => {
    const strategy = aStrategy({ limits: { ...OPEN, cooldownMs: 30 * MINUTE } })
    const sim = new Simulation({ seed: 'cooled', strategies: [strategy] })
    sim.start()
    await sim.runFor(HOUR - 3 * MINUTE)
    await jumpAhead(sim)
    await sim.runFor(3 * HOUR)
    expect(outcomes(sim, 'hourly').slice(1)).toEqual(Array(3).fill(FILLED))
    expectSound(sim)
  })
})

test('a slot of calls stays due while its chain is silent, and opens once the chain answers', async () => {
  const sim = callSimulation({ seed: 'silent chain of calls' })
  sim.start()
  await sim.runFor(50 * MINUTE)
  sim.aggregation.chainFaults.down = true
  await sim.runFor(30 * MINUTE)
  expect(outcomes(sim, 'claim')).toEqual([])
  sim.aggregation.chainFaults.down = false
  await sim.runFor(5 * MINUTE)
  expect(outcomes(sim, 'claim')).toEqual([FILLED])
  expectSound(sim)
})

test('a silent chain of calls delays no swap, and a silent chain of swaps delays no call', async () => {
  const sim = new Simulation({ seed: 'half silent', strategies: [aStrategy(), aCallStrategy()] })
  sim.start()
  await sim.runFor(50 * MINUTE)
  sim.aggregation.chainFaults.down = true
  await sim.runFor(12 * MINUTE)
  expect([outcomes(sim, 'hourly'), outcomes(sim, 'claim')]).toEqual([[FILLED], []])
  sim.aggregation.chainFaults.down = false
  await sim.runFor(48 * MINUTE)
  sim.chainFaults.down = true
  await sim.runFor(15 * MINUTE)
  expect([outcomes(sim, 'hourly'), outcomes(sim, 'claim')]).toEqual([[FILLED], [FILLED, FILLED]])
  expectSound(sim)
})
