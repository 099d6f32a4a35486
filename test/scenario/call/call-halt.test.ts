import { expect, test } from 'vitest'
import {
  callSimulation,
  executed,
  routes,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent, untilExposed } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

test.each(['trustless', 'trusted'] as const)(
  'a halt stops a %s call while its record is being written',
  async (proposer) => {
    const sim = callSimulation({ seed: 'halt at the signature', aggregator: { proposer } })
    await untilFirstSlot(sim)
    await untilExposed(sim)
    await Promise.all([sim.control.halt(), sim.runFor(1_000)])
    await sim.runFor(HOUR / 2 + MINUTE)
    expect(eventTypes(sim)).toContain('authorization-withdrawn')
    expect(outcomes(sim, 'claim')).toEqual(['skipped halted'])
    expect(executed(sim)).toBe(0)
    expectSound(sim)
  },
)

test.each(['trustless', 'trusted'] as const)(
  'a pause of its strategy stops a %s call while its record is being written',
  async (proposer) => {
    const sim = callSimulation({ seed: 'pause at the signature', aggregator: { proposer } })
    await untilFirstSlot(sim)
    await untilExposed(sim)
    await Promise.all([sim.control.pause('claim'), sim.runFor(1_000)])
    await sim.runFor(HOUR / 2 + MINUTE)
    expect(eventTypes(sim)).toContain('authorization-withdrawn')
    expect(outcomes(sim, 'claim')).toEqual(['skipped paused'])
    expect(executed(sim)).toBe(0)
    expectSound(sim)
  },
)

test('a halt stops a direct call during its draft, and the call is sent once the halt is lifted', async () => {
  const sim = callSimulation({ seed: 'halt at the fallback' })
  sim.aggregation.faults.rejection = { tag: 'rejected', message: 'not today' }
  sim.aggregation.chainFaults.draftsDown = true
  await untilFirstSlot(sim)
  await untilEvent(sim, 'order-ended')
  await sim.runFor(500)
  await Promise.all([sim.control.halt(), sim.runFor(100)])
  sim.aggregation.chainFaults.draftsDown = false
  await sim.runFor(20_000)
  expect(eventTypes(sim)).not.toContain('transaction-recorded')
  await Promise.all([sim.control.resume(undefined), sim.runFor(100)])
  await sim.runFor(MINUTE)
  expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
  expect(routes(sim)).toEqual(['direct'])
  expectSound(sim)
})
