import { describe, expect, test } from 'vitest'
import type { CallServiceFaults } from '../../simulation/aggregator/service.ts'
import { callWorld, executed, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

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
    const world = callWorld({ seed: `unknown ${Object.keys(faults)}`, aggregator: { fallback } })
    await untilFirstSlot(world)
    await untilEvent(world, 'call-recorded')
    Object.assign(world.aggregation.faults, faults)
    await world.runFor(MINUTE)
    world.aggregation.calmDown()
    await world.runFor(3 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(executed(world)).toBe(1)
    expect(world.aggregation.watch.signatures).toBe(1)
    expect(eventTypes(world)).not.toContain('order-ended')
    expect(eventTypes(world)).not.toContain('transaction-recorded')
    expectSound(world)
  })

  test('makes the daemon send the identical bytes again', async () => {
    const world = callWorld({ seed: 'the same bytes' })
    Object.assign(world.aggregation.faults, { failsAfter: 1, delayMs: 60_000 })
    world.start()
    await world.runFor(HOUR + 3 * MINUTE)
    const { received } = world.aggregation.service
    expect(received.length).toBeGreaterThan(2)
    expect(new Set(received).size).toBe(1)
    expect(executed(world)).toBe(1)
    expectSound(world)
  })

  test('stays unknown when a later answer to the same bytes is a refusal', async () => {
    const world = callWorld({ seed: 'refused later' })
    world.aggregation.faults.failsAfter = 1
    world.aggregation.faults.delayMs = 60_000
    await untilFirstSlot(world)
    await untilEvent(world, 'call-recorded')
    await world.runFor(2_000)
    Object.assign(world.aggregation.faults, {
      failsAfter: 0,
      rejection: { tag: 'rejected', message: 'nonce too low' },
      rejectsButTakes: true,
    })
    await world.runFor(2 * MINUTE)
    expect(eventTypes(world)).not.toContain('order-ended')
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expectSound(world)
  })
})

describe('a deadline', () => {
  test('must have passed on chain before a call is signed again', async () => {
    const fallback = { mode: 'off', deadlineMs: 180_000 } as const
    const world = callWorld({ seed: 'signed again', aggregator: { fallback } })
    world.aggregation.faults.neverExecutes = true
    await untilFirstSlot(world)
    await untilEvent(world, 'call-recorded')
    await world.runFor(2 * MINUTE + 50_000)
    expect(world.aggregation.watch.signatures).toBe(1)
    world.aggregation.faults.neverExecutes = false
    await world.runFor(2 * MINUTE)
    expect(world.aggregation.watch.signatures).toBe(2)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(executed(world)).toBe(1)
    expectSound(world)
  })

  test.each([15_000, 600_000])(
    'equals the configured value, and a refused call ends soon after it',
    async (deadlineMs) => {
      const fallback = { mode: 'off', deadlineMs } as const
      const world = callWorld({ seed: 'short', aggregator: { fallback } })
      world.aggregation.faults.rejection = { tag: 'rejected', message: 'not today' }
      await untilFirstSlot(world)
      await untilEvent(world, 'call-recorded')
      const [deadlineSeconds] = world.disk
        .events()
        .flatMap((event) =>
          event.type === 'call-recorded' && event.call.trust === 'trustless'
            ? [event.call.deadlineSeconds]
            : [],
        )
      const leftMs = (deadlineSeconds ?? 0) * 1000 - world.clock.trueMs
      expect(leftMs).toBeLessThanOrEqual(deadlineMs + 1_000)
      await world.runFor(deadlineMs + 30_000)
      expect(outcomes(world, 'claim')).toEqual(['failed order-rejected'])
      expectSound(world)
    },
  )

  test('is checked against the chain, not against a clock set forward', async () => {
    const world = callWorld({ seed: 'clock forward' })
    world.aggregation.faults.delayMs = 60_000
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    world.clock.offsetMs = HOUR
    await world.runFor(30_000)
    world.clock.offsetMs = 0
    await world.runFor(5 * MINUTE)
    expect(world.aggregation.watch.signatures).toBe(1)
    expect(executed(world)).toBe(1)
    expectSound(world)
  })

  test('ends no call when it passes while the node is silent', async () => {
    const world = callWorld({ seed: 'silent node' })
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    world.aggregation.chainFaults.down = true
    await world.runFor(20 * MINUTE)
    expect(eventTypes(world)).not.toContain('authorization-dead')
    world.aggregation.chainFaults.down = false
    await world.runFor(MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expectSound(world)
  })
})
