import { describe, expect, test } from 'vitest'
import type { CallServiceFaults } from '../../simulation/aggregator/service.ts'
import {
  callSimulation,
  executed,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

describe('an answer that does not reveal the outcome of the call', () => {
  test.each<[string, Partial<CallServiceFaults>]>([
    ['silence after it was taken', { failsAfter: 1 }],
    ['silence before it was taken', { failsBefore: 1 }],
    ['an unreachable service', { down: true }],
    [
      'not found for a call that was just sent',
      { rejection: { tag: 'transactionNotFound', message: 'Transaction not found' } },
    ],
    ['a receipt of null', { receipts: 'null' }],
    ['a receipt that is not found', { receipts: 'not-found' }],
  ])('%s is no rejection: one call, no direct call, one outcome', async (_name, faults) => {
    const fallback = { mode: 'rejected-only', deadlineMs: 180_000 } as const
    const sim = callSimulation({ seed: `unknown ${Object.keys(faults)}`, aggregator: { fallback } })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'call-recorded')
    Object.assign(sim.aggregation.faults, faults)
    await sim.runFor(MINUTE)
    sim.aggregation.calmDown()
    await sim.runFor(3 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(executed(sim)).toBe(1)
    expect(sim.aggregation.watch.signatures).toBe(1)
    expect(eventTypes(sim)).not.toContain('order-ended')
    expect(eventTypes(sim)).not.toContain('transaction-recorded')
    expectSound(sim)
  })

  test('makes the daemon send the identical bytes again', async () => {
    const sim = callSimulation({ seed: 'the same bytes' })
    Object.assign(sim.aggregation.faults, { failsAfter: 1, delayMs: 60_000 })
    sim.start()
    await sim.runFor(HOUR + 3 * MINUTE)
    const { received } = sim.aggregation.service
    expect(received.length).toBeGreaterThan(2)
    expect(new Set(received).size).toBe(1)
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })

  test('stays unknown when a later answer to the same bytes is a refusal', async () => {
    const sim = callSimulation({ seed: 'refused later' })
    sim.aggregation.faults.failsAfter = 1
    sim.aggregation.faults.delayMs = 60_000
    await untilFirstSlot(sim)
    await untilEvent(sim, 'call-recorded')
    await sim.runFor(2_000)
    Object.assign(sim.aggregation.faults, {
      failsAfter: 0,
      rejection: { tag: 'rejected', message: 'nonce too low' },
      rejectsButTakes: true,
    })
    await sim.runFor(2 * MINUTE)
    expect(eventTypes(sim)).not.toContain('order-ended')
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expectSound(sim)
  })
})

describe('a deadline', () => {
  test('must have passed on chain before a call is signed again', async () => {
    const fallback = { mode: 'off', deadlineMs: 180_000 } as const
    const sim = callSimulation({ seed: 'signed again', aggregator: { fallback } })
    sim.aggregation.faults.neverExecutes = true
    await untilFirstSlot(sim)
    await untilEvent(sim, 'call-recorded')
    await sim.runFor(2 * MINUTE + 50_000)
    expect(sim.aggregation.watch.signatures).toBe(1)
    sim.aggregation.faults.neverExecutes = false
    await sim.runFor(2 * MINUTE)
    expect(sim.aggregation.watch.signatures).toBe(2)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })

  test.each([15_000, 600_000])(
    'equals the configured value, and a refused call ends soon after it',
    async (deadlineMs) => {
      const fallback = { mode: 'off', deadlineMs } as const
      const sim = callSimulation({ seed: 'short', aggregator: { fallback } })
      sim.aggregation.faults.rejection = { tag: 'rejected', message: 'not today' }
      await untilFirstSlot(sim)
      await untilEvent(sim, 'call-recorded')
      const [deadlineSeconds] = sim.disk
        .events()
        .flatMap((event) =>
          event.type === 'call-recorded' && event.call.trust === 'trustless'
            ? [event.call.deadlineSeconds]
            : [],
        )
      const leftMs = (deadlineSeconds ?? 0) * 1000 - sim.clock.trueMs
      expect(leftMs).toBeLessThanOrEqual(deadlineMs + 1_000)
      await sim.runFor(deadlineMs + 30_000)
      expect(outcomes(sim, 'claim')).toEqual(['failed order-rejected'])
      expectSound(sim)
    },
  )

  test('is checked against the chain, not against a clock set forward', async () => {
    const sim = callSimulation({ seed: 'clock forward' })
    sim.aggregation.faults.delayMs = 60_000
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    sim.clock.offsetMs = HOUR
    await sim.runFor(30_000)
    sim.clock.offsetMs = 0
    await sim.runFor(5 * MINUTE)
    expect(sim.aggregation.watch.signatures).toBe(1)
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })

  test('ends no call when it passes while the node is silent', async () => {
    const sim = callSimulation({ seed: 'silent node' })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    sim.aggregation.chainFaults.down = true
    await sim.runFor(20 * MINUTE)
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    sim.aggregation.chainFaults.down = false
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expectSound(sim)
  })
})
