import { expect, test } from 'vitest'
import {
  callSimulation,
  executed,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const bundles = { submit: 'bundle' } as const

test('a call goes out as a bundle for a block that is still to come, and executes once', async () => {
  const sim = callSimulation({ seed: 'bundle', aggregator: bundles })
  await untilFirstSlot(sim)
  await untilEvent(sim, 'call-recorded')
  const newest = sim.aggregation.ledger.block
  await sim.runFor(HOUR / 2)
  const { bundledFor, received } = sim.aggregation.service
  expect(bundledFor).toHaveLength(1)
  expect(bundledFor[0]).toBeGreaterThan(newest)
  expect(received).toHaveLength(1)
  expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
  expect(executed(sim)).toBe(1)
  expectSound(sim)
})

test('an unanswered bundle is sent again: the same bytes for a later block', async () => {
  const sim = callSimulation({ seed: 'same bundle', aggregator: bundles })
  Object.assign(sim.aggregation.faults, { failsAfter: 1, delayMs: 60_000 })
  sim.start()
  await sim.runFor(HOUR + 3 * MINUTE)
  const { bundledFor, received } = sim.aggregation.service
  expect(bundledFor.length).toBeGreaterThan(2)
  expect(new Set(received).size).toBe(1)
  expect(bundledFor.at(-1)).toBeGreaterThan(bundledFor[0] ?? 0n)
  expect(executed(sim)).toBe(1)
  expectSound(sim)
})

test('a bundle that the service never executes falls back to the same signed call, sent directly', async () => {
  const sim = callSimulation({ seed: 'lost bundle', aggregator: bundles })
  sim.aggregation.faults.neverExecutes = true
  await untilFirstSlot(sim)
  await sim.runFor(5 * MINUTE)
  expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
  expect(eventTypes(sim)).toContain('transaction-recorded')
  expect(sim.aggregation.watch.signatures).toBe(1)
  expectSound(sim)
})
