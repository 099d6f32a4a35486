import { describe, expect, test } from 'vitest'
import { callWorld, executed, routes, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

const HELD_MS = 5 * MINUTE

describe('a rate limit that delays a queue for minutes', () => {
  test('releases no call that was halted meanwhile', async () => {
    const world = callWorld({ seed: 'halted in the queue' })
    world.queueDelaysMs = { sendRawTransaction: HELD_MS }
    await untilFirstSlot(world)
    await untilEvent(world, 'call-recorded')
    await world.runFor(30_000)
    await Promise.all([world.control.halt(), world.runFor(1_000)])
    await world.runFor(20 * MINUTE)
    expect(world.aggregation.service.received).toEqual([])
    expect(executed(world)).toBe(0)
    expectSound(world)
  })

  test('releases no call that is too late by then', async () => {
    const world = callWorld({
      seed: 'too late in the queue',
      aggregator: { fallback: { mode: 'off', deadlineMs: 60_000 } },
    })
    world.queueDelaysMs = { sendRawTransaction: 2 * HELD_MS }
    await untilFirstSlot(world)
    await world.runFor(40 * MINUTE)
    expect(world.aggregation.service.received).toEqual([])
    expect(outcomes(world, 'claim')).toEqual(['expired order-expired'])
    expectSound(world)
  })

  test.each(['sendRawTransaction', 'getTransactionReceipt'] as const)(
    'does not delay the direct route when it affects %s',
    async (route) => {
      const world = callWorld({ seed: `held ${route}` })
      world.queueDelaysMs = { [route]: 2 * HELD_MS }
      world.aggregation.faults.neverExecutes = true
      await untilFirstSlot(world)
      await world.runFor(4 * MINUTE)
      expect(routes(world)).toEqual(['direct'])
      expect(outcomes(world, 'claim')).toEqual(['filled filled'])
      expectSound(world)
    },
  )

  test('does not delay the proof of an executed call', async () => {
    const world = callWorld({ seed: 'held polls and figures' })
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    const held = {
      getTransactionReceipt: HELD_MS,
      accountInfo: HELD_MS,
      transactionStatus: HELD_MS,
    }
    world.queueDelaysMs = held
    await world.runFor(MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(routes(world)).toEqual(['aggregated'])
    expectSound(world)
  })

  test('fails no slot when it affects account info', async () => {
    const world = callWorld({ seed: 'a held figure' })
    await untilFirstSlot(world)
    world.queueDelaysMs = { accountInfo: HELD_MS }
    await world.runFor(MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expectSound(world)
  })
})

describe('a call delayed by a rate limit before its first submission', () => {
  const rejection = { tag: 'insufficientBalance', message: 'Insufficient balance.' } as const

  test.each(['trustless', 'trusted'] as const)(
    'is refused by its first answer and sent directly at once: %s',
    async (proposer) => {
      const fallback = { mode: 'rejected-only', deadlineMs: 180_000 } as const
      const world = callWorld({ seed: `held ${proposer}`, aggregator: { proposer, fallback } })
      world.queueDelaysMs = { sendRawTransaction: 20_000 }
      world.aggregation.faults.rejection = rejection
      await untilFirstSlot(world)
      await world.runFor(2 * MINUTE)
      expect(routes(world)).toEqual(['direct'])
      expect(outcomes(world, 'claim')).toEqual(['filled filled'])
      expect(executed(world)).toBe(1)
      expectSound(world)
    },
  )

  test('counts as possibly accepted when a later answer refuses it', async () => {
    const fallback = { mode: 'rejected-only', deadlineMs: 180_000 } as const
    const world = callWorld({ seed: 'held, then taken', aggregator: { fallback } })
    world.queueDelaysMs = { sendRawTransaction: 20_000 }
    Object.assign(world.aggregation.faults, { failsAfter: 1, neverExecutes: true })
    await untilFirstSlot(world)
    await world.runFor(30_000)
    Object.assign(world.aggregation.faults, { failsAfter: 0, rejection })
    await world.runFor(2 * MINUTE)
    expect(world.aggregation.service.received.length).toBeGreaterThan(1)
    expect(eventTypes(world)).not.toContain('order-ended')
    expect(routes(world)).toEqual([])
  })
})

describe('a node behind the head', () => {
  test('does not delay the submission of a call or cause a direct call', async () => {
    const world = callWorld({ seed: 'behind for a moment' })
    await untilFirstSlot(world)
    world.aggregation.chainFaults.behind = 2
    await world.runFor(2 * MINUTE)
    expect(routes(world)).toEqual(['aggregated'])
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expectSound(world)
  })

  test.each([
    ['rejected-only', [], 'failed order-failed'],
    ['after-deadline', ['direct'], 'filled filled'],
  ] as const)(
    'does not count as a refusal by the service when it stays behind, with fallback %s',
    async (mode, via, outcome) => {
      const world = callWorld({
        seed: `behind for long ${mode}`,
        aggregator: { fallback: { mode, deadlineMs: 180_000 } },
      })
      await untilFirstSlot(world)
      world.aggregation.chainFaults.behind = 1_000
      await world.runFor(2 * MINUTE)
      expect(eventTypes(world)).toContain('order-ended')
      expect(routes(world)).toEqual([])
      await world.runFor(30 * MINUTE)
      expect(routes(world)).toEqual(via)
      expect(outcomes(world, 'claim')).toEqual([outcome])
      expect(world.aggregation.service.received).toEqual([])
      expectSound(world)
    },
  )
})

describe('a service that broadcasts a submission unchanged', () => {
  test.each([
    ['without an answer', { failsAfter: 1 }],
    ['without a receipt', { receipts: 'null' }],
    ['with a receipt', {}],
  ] as const)('leads to a proven call %s', async (_, faults) => {
    const world = callWorld({ seed: `alone ${Object.keys(faults)}` })
    Object.assign(world.aggregation.faults, { broadcastsAlone: true, ...faults })
    await untilFirstSlot(world)
    await world.runFor(MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(executed(world)).toBe(1)
    expect(eventTypes(world)).not.toContain('authorization-dead')
    expectSound(world)
  })
})

describe('a trusted call', () => {
  test('is not repeated after an error that the interface does not define', async () => {
    const world = callWorld({ seed: 'trusted and unnamed', aggregator: { proposer: 'trusted' } })
    const rejection = { tag: 'rejected', message: 'context deadline exceeded' } as const
    Object.assign(world.aggregation.faults, { rejection, rejectsButTakes: true })
    await untilFirstSlot(world)
    await world.runFor(30 * MINUTE)
    expect(executed(world)).toBe(1)
    expect(eventTypes(world)).not.toContain('transaction-recorded')
  })

  test('is not repeated after a refusal with a broadcast while its transaction cannot be read', async () => {
    const world = callWorld({ seed: 'trusted and unread', aggregator: { proposer: 'trusted' } })
    const rejection = { tag: 'insufficientBalance', message: 'Insufficient balance.' } as const
    const alone = { broadcastsAlone: true, rejectsButTakes: true }
    Object.assign(world.aggregation.faults, { rejection, ...alone })
    await untilFirstSlot(world)
    await untilEvent(world, 'call-recorded')
    world.aggregation.chainFaults.tracesDown = true
    world.aggregation.ledger.losesDirect = true
    await world.runFor(30 * MINUTE)
    world.aggregation.calmDown()
    await world.runFor(10 * MINUTE)
    expect(executed(world)).toBe(1)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
  })
})
