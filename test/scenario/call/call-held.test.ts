import { describe, expect, test } from 'vitest'
import {
  callSimulation,
  executed,
  routes,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const HELD_MS = 5 * MINUTE

describe('a rate limit that delays a queue for minutes', () => {
  test('releases no call that was halted meanwhile', async () => {
    const sim = callSimulation({ seed: 'halted in the queue' })
    sim.queueDelaysMs = { sendRawTransaction: HELD_MS }
    await untilFirstSlot(sim)
    await untilEvent(sim, 'call-recorded')
    await sim.runFor(30_000)
    await Promise.all([sim.control.halt(), sim.runFor(1_000)])
    await sim.runFor(20 * MINUTE)
    expect(sim.aggregation.service.received).toEqual([])
    expect(executed(sim)).toBe(0)
    expectSound(sim)
  })

  test('releases no call that is too late by then', async () => {
    const sim = callSimulation({
      seed: 'too late in the queue',
      aggregator: { fallback: { mode: 'off', deadlineMs: 60_000 } },
    })
    sim.queueDelaysMs = { sendRawTransaction: 2 * HELD_MS }
    await untilFirstSlot(sim)
    await sim.runFor(40 * MINUTE)
    expect(sim.aggregation.service.received).toEqual([])
    expect(outcomes(sim, 'claim')).toEqual(['expired order-expired'])
    expectSound(sim)
  })

  test.each(['sendRawTransaction', 'getTransactionReceipt'] as const)(
    'does not delay the direct route when it affects %s',
    async (route) => {
      const sim = callSimulation({ seed: `held ${route}` })
      sim.queueDelaysMs = { [route]: 2 * HELD_MS }
      sim.aggregation.faults.neverExecutes = true
      await untilFirstSlot(sim)
      await sim.runFor(4 * MINUTE)
      expect(routes(sim)).toEqual(['direct'])
      expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
      expectSound(sim)
    },
  )

  test('does not delay the proof of an executed call', async () => {
    const sim = callSimulation({ seed: 'held polls and figures' })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    const held = {
      getTransactionReceipt: HELD_MS,
      accountInfo: HELD_MS,
      transactionStatus: HELD_MS,
    }
    sim.queueDelaysMs = held
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(routes(sim)).toEqual(['aggregated'])
    expectSound(sim)
  })

  test('fails no slot when it affects account info', async () => {
    const sim = callSimulation({ seed: 'a held figure' })
    await untilFirstSlot(sim)
    sim.queueDelaysMs = { accountInfo: HELD_MS }
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expectSound(sim)
  })
})

describe('a call delayed by a rate limit before its first submission', () => {
  const rejection = { tag: 'insufficientBalance', message: 'Insufficient balance.' } as const

  test.each(['trustless', 'trusted'] as const)(
    'is refused by its first answer and sent directly at once: %s',
    async (proposer) => {
      const fallback = { mode: 'rejected-only', deadlineMs: 180_000 } as const
      const sim = callSimulation({ seed: `held ${proposer}`, aggregator: { proposer, fallback } })
      sim.queueDelaysMs = { sendRawTransaction: 20_000 }
      sim.aggregation.faults.rejection = rejection
      await untilFirstSlot(sim)
      await sim.runFor(2 * MINUTE)
      expect(routes(sim)).toEqual(['direct'])
      expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
      expect(executed(sim)).toBe(1)
      expectSound(sim)
    },
  )

  test('counts as possibly accepted when a later answer refuses it', async () => {
    const fallback = { mode: 'rejected-only', deadlineMs: 180_000 } as const
    const sim = callSimulation({ seed: 'held, then taken', aggregator: { fallback } })
    sim.queueDelaysMs = { sendRawTransaction: 20_000 }
    Object.assign(sim.aggregation.faults, { failsAfter: 1, neverExecutes: true })
    await untilFirstSlot(sim)
    await sim.runFor(30_000)
    Object.assign(sim.aggregation.faults, { failsAfter: 0, rejection })
    await sim.runFor(2 * MINUTE)
    expect(sim.aggregation.service.received.length).toBeGreaterThan(1)
    expect(eventTypes(sim)).not.toContain('order-ended')
    expect(routes(sim)).toEqual([])
  })
})

describe('a node behind the head', () => {
  test('does not delay the submission of a call or cause a direct call', async () => {
    const sim = callSimulation({ seed: 'behind for a moment' })
    await untilFirstSlot(sim)
    sim.aggregation.chainFaults.behind = 2
    await sim.runFor(2 * MINUTE)
    expect(routes(sim)).toEqual(['aggregated'])
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test.each([
    ['rejected-only', [], 'failed order-failed'],
    ['after-deadline', ['direct'], 'filled filled'],
  ] as const)(
    'does not count as a refusal by the service when it stays behind, with fallback %s',
    async (mode, via, outcome) => {
      const sim = callSimulation({
        seed: `behind for long ${mode}`,
        aggregator: { fallback: { mode, deadlineMs: 180_000 } },
      })
      await untilFirstSlot(sim)
      sim.aggregation.chainFaults.behind = 1_000
      await sim.runFor(2 * MINUTE)
      expect(eventTypes(sim)).toContain('order-ended')
      expect(routes(sim)).toEqual([])
      await sim.runFor(30 * MINUTE)
      expect(routes(sim)).toEqual(via)
      expect(outcomes(sim, 'claim')).toEqual([outcome])
      expect(sim.aggregation.service.received).toEqual([])
      expectSound(sim)
    },
  )
})

describe('a service that broadcasts a submission unchanged', () => {
  test.each([
    ['without an answer', { failsAfter: 1 }],
    ['without a receipt', { receipts: 'null' }],
    ['with a receipt', {}],
  ] as const)('leads to a proven call %s', async (_, faults) => {
    const sim = callSimulation({ seed: `alone ${Object.keys(faults)}` })
    Object.assign(sim.aggregation.faults, { broadcastsAlone: true, ...faults })
    await untilFirstSlot(sim)
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(executed(sim)).toBe(1)
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    expectSound(sim)
  })
})

describe('a trusted call', () => {
  test('is not repeated after an error that the interface does not define', async () => {
    const sim = callSimulation({ seed: 'trusted and unnamed', aggregator: { proposer: 'trusted' } })
    const rejection = { tag: 'rejected', message: 'context deadline exceeded' } as const
    Object.assign(sim.aggregation.faults, { rejection, rejectsButTakes: true })
    await untilFirstSlot(sim)
    await sim.runFor(30 * MINUTE)
    expect(executed(sim)).toBe(1)
    expect(eventTypes(sim)).not.toContain('transaction-recorded')
  })

  test('is not repeated after a refusal with a broadcast while its transaction cannot be read', async () => {
    const sim = callSimulation({ seed: 'trusted and unread', aggregator: { proposer: 'trusted' } })
    const rejection = { tag: 'insufficientBalance', message: 'Insufficient balance.' } as const
    const alone = { broadcastsAlone: true, rejectsButTakes: true }
    Object.assign(sim.aggregation.faults, { rejection, ...alone })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'call-recorded')
    sim.aggregation.chainFaults.tracesDown = true
    sim.aggregation.ledger.losesDirect = true
    await sim.runFor(30 * MINUTE)
    sim.aggregation.calmDown()
    await sim.runFor(10 * MINUTE)
    expect(executed(sim)).toBe(1)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
  })
})
