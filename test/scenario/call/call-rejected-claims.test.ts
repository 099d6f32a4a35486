import { expect, test } from 'vitest'
import type { Simulation } from '../../simulation/simulation.ts'
import {
  callSimulation,
  executed,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

function rejectedClaims(sim: Simulation, what: string) {
  return sim.observations.filter((event) => event.type === 'disbelieved' && event.what === what)
}

test('a receipt that names a transaction without our call is reported after some seconds', async () => {
  const sim = callSimulation({ seed: 'foreign receipt' })
  await untilFirstSlot(sim)
  Object.assign(sim.aggregation.faults, {
    neverExecutes: true,
    namesHash: `0x${'fe'.repeat(32)}`,
  })
  await untilEvent(sim, 'order-accepted')
  await sim.runFor(8_000)
  expect(rejectedClaims(sim, 'receipt')).toEqual([])
  await sim.runFor(MINUTE)
  expect(rejectedClaims(sim, 'receipt')[0]).toMatchObject({
    strategy: 'claim',
    detail: expect.stringMatching(/names 0xfefe.* does not show the call/),
  })
})

test('an unanswered submission is reported when the daemon submits again', async () => {
  const sim = callSimulation({ seed: 'unanswered call' })
  await untilFirstSlot(sim)
  sim.aggregation.faults.failsBefore = 1
  await untilEvent(sim, 'call-recorded')
  await sim.runFor(MINUTE)
  sim.aggregation.faults.failsBefore = 0
  expect(rejectedClaims(sim, 'submit')[0]).toMatchObject({ service: 'aggregator' })
  await sim.runFor(HOUR / 2)
  expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
  expectSound(sim)
})

test('a refusal of a call is reported when the chain shows its execution', async () => {
  const sim = callSimulation({ seed: 'refused and taken', aggregator: {} })
  await untilFirstSlot(sim)
  Object.assign(sim.aggregation.faults, {
    rejection: { tag: 'rejected', message: 'not today' },
    rejectsButTakes: true,
  })
  await sim.runFor(HOUR / 2)
  expect(executed(sim)).toBe(1)
  const via = sim.disk.events().find(({ type }) => type === 'call-proven')
  const isReported = rejectedClaims(sim, 'ended').length > 0
  expect(isReported).toBe(via?.type === 'call-proven' && via.execution.via === 'aggregated')
  expectSound(sim)
})

test('a refused login is reported at each read of the funds', async () => {
  const sim = callSimulation({ seed: 'no login' })
  sim.aggregation.faults.refusesLogin = true
  sim.start()
  await sim.runFor(MINUTE)
  const refusals = sim.observations.filter(({ type }) => type === 'gas-tank-unknown')
  expect(refusals.length).toBeGreaterThan(2)
  expect(refusals[0]).toMatchObject({ isLogin: true })
})
