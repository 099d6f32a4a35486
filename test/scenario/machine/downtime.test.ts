import { describe, expect, test } from 'vitest'
import type { MissedPolicy } from '../../../src/domain/schedule/schedule.ts'
import { slotsMissed } from '../../../src/journal/events/strategy/slots.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

/** The recorded cause of each run of missed slots. */
function causes(sim: Simulation): (string | undefined)[] {
  return sim.disk.events().flatMap((event) => (slotsMissed.is(event) ? [event.detail] : []))
}

/** A simulation that is down from 01:30 until 05:10, with a slot at every full hour. */
async function afterDowntime(missed: MissedPolicy, maxLatenessMs: number): Promise<Simulation> {
  const schedule = aSchedule('0 * * * *', { missed, maxLatenessMs })
  const limits = { ...OPEN, maxOpenIntents: 10 }
  const strategies = [aStrategy({ schedule, limits })]
  const sim = new Simulation({ seed: `down ${missed}`, strategies })
  sim.start()
  await sim.runFor(1.5 * HOUR)
  sim.crash()
  await sim.runFor(3 * HOUR + 40 * MINUTE)
  sim.start()
  await sim.runFor(10 * MINUTE)
  return sim
}

describe('slots missed while the machine was down', () => {
  test.each<[MissedPolicy, number, string]>([
    ['skip', 12 * HOUR, '`missed: skip` runs no slot from before the start'],
    ['latest', 12 * HOUR, '`missed: latest` runs only the newest slot'],
    ['latest', 5 * MINUTE, 'its maxLateness is 5m'],
    ['all', 2 * HOUR + 30 * MINUTE, 'its maxLateness is 2h 30m'],
  ])('name the downtime and, by missed: %s, the rule', async (missed, maxLatenessMs, rule) => {
    const [cause, ...others] = causes(await afterDowntime(missed, maxLatenessMs))
    expect(others).toEqual([])
    expect(cause).toBe(
      `the daemon was down: last seen 2027-03-01T01:01Z, started 2027-03-01T05:10Z; ${rule}`,
    )
  })

  test.each<[MissedPolicy, number, readonly string[]]>([
    ['skip', 12 * HOUR, ['missed 4']],
    ['latest', 12 * HOUR, ['missed 3', 'filled filled']],
    ['latest', 5 * MINUTE, ['missed 4']],
    ['all', 12 * HOUR, Array(4).fill('filled filled')],
    ['all', 2 * HOUR + 30 * MINUTE, ['missed 1', ...Array(3).fill('filled filled')]],
  ])('follow missed: %s with maxLateness %d ms', async (missed, maxLatenessMs, expected) => {
    const sim = await afterDowntime(missed, maxLatenessMs)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled', ...expected])
    expectSound(sim)
  })

  test('are caught up after a stall of the process', async () => {
    const sim = new Simulation({ seed: 'stall', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(30 * MINUTE)
    sim.clock.stall(3 * HOUR + 45 * MINUTE)
    await sim.runFor(5 * HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(['missed 3', 'filled filled', 'filled filled'])
    expect(causes(sim)).toEqual([
      'the daemon came to the last only at 2027-03-01T04:15Z, 1h 15m late; `missed: latest` runs only the newest slot',
    ])
    expectSound(sim)
  })
})

test('a slot is delayed while the node is silent, and opens when the node returns', async () => {
  const sim = new Simulation({ seed: 'silent node', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(50 * MINUTE)
  sim.chainFaults.down = true
  await sim.runFor(30 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual([])
  sim.chainFaults.down = false
  await sim.runFor(5 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expectSound(sim)
})

test('a slot is missed, not lost, when the node is silent past its maximum lateness', async () => {
  const schedule = aSchedule('0 * * * *', { maxLatenessMs: 20 * MINUTE })
  const sim = new Simulation({ seed: 'very silent node', strategies: [aStrategy({ schedule })] })
  sim.start()
  await sim.runFor(50 * MINUTE)
  sim.chainFaults.down = true
  await sim.runFor(45 * MINUTE)
  sim.chainFaults.down = false
  await sim.runFor(MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['missed 1'])
  const [cause] = causes(sim)
  expect(cause).toMatch(
    /^chain base could not be read from 2027-03-01T01:00:\d\dZ to 2027-03-01T01:35:\d\dZ; its maxLateness is 20m$/,
  )
  expectSound(sim)
})
