import { describe, expect, test } from 'vitest'
import type { FallbackMode } from '../../../src/domain/settings.ts'
import { AGGREGATOR } from '../../simulation/aggregator/aggregation.ts'
import { delegationTo } from '../../simulation/aggregator/ledger.ts'
import { World } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callWorld,
  executed,
  routes,
  untilFirstSlot,
} from '../../support/aggregator/call-world.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

const REJECTION = { tag: 'insufficientBalance', message: 'Insufficient balance.' } as const

function trusted(seed: string, mode: FallbackMode = 'after-deadline'): World {
  const fallback = { mode, deadlineMs: 180_000 }
  return callWorld({ seed, aggregator: { proposer: 'trusted', fallback } })
}

describe('a trusted call', () => {
  test('is made once in every slot, each proven by its own transaction', async () => {
    const world = trusted('trusted slots')
    world.start()
    await world.runFor(5 * HOUR + 5 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(Array(5).fill('filled filled'))
    expect(executed(world)).toBe(5)
    const proofs = world.disk
      .events()
      .flatMap((event) => (event.type === 'call-proven' ? [event.execution.txHash] : []))
    expect(new Set(proofs).size).toBe(5)
    expectSound(world)
  })

  test('is never sent directly after the service returned a hash', async () => {
    const world = trusted('trusted and slow')
    world.aggregation.faults.neverExecutes = true
    world.start()
    await world.runFor(HOUR + 40 * MINUTE)
    expect(eventTypes(world)).toContain('order-accepted')
    expect(eventTypes(world)).not.toContain('transaction-recorded')
    expect(executed(world)).toBe(0)
  })

  test('is never sent directly while its acceptance is unknown', async () => {
    const world = trusted('trusted and silent')
    Object.assign(world.aggregation.faults, { failsAfter: 1, receipts: 'null' })
    await untilFirstSlot(world)
    await untilEvent(world, 'call-recorded')
    await world.runFor(20_000)
    world.aggregation.faults.failsAfter = 0
    world.aggregation.faults.rejection = REJECTION
    await world.runFor(20 * MINUTE)
    expect(eventTypes(world)).not.toContain('transaction-recorded')
    expect(executed(world)).toBe(1)
    expect(new Set(world.aggregation.service.received).size).toBe(1)
  })

  test.each<FallbackMode>(['rejected-only', 'after-deadline'])(
    'is sent directly and proven after an immediate refusal, with fallback %s',
    async (mode) => {
      const world = trusted(`trusted refused ${mode}`, mode)
      world.aggregation.faults.rejection = REJECTION
      world.start()
      await world.runFor(2 * HOUR + 5 * MINUTE)
      expect(outcomes(world, 'claim')).toEqual(Array(2).fill('filled filled'))
      expect(routes(world)).toEqual(['direct', 'direct'])
      expect(executed(world)).toBe(2)
      expectSound(world)
    },
  )

  test('ends after a refusal without a fallback, and delays no later call', async () => {
    const world = trusted('trusted refused off', 'off')
    world.aggregation.faults.rejection = REJECTION
    await untilFirstSlot(world)
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['failed order-rejected'])
    world.aggregation.faults.rejection = undefined
    await world.runFor(HOUR)
    expect(outcomes(world, 'claim')).toEqual(['failed order-rejected', 'filled filled'])
    expect(executed(world)).toBe(1)
  })

  test('ends after a refusal when the account cannot pay for a direct call', async () => {
    const world = trusted('trusted refused and poor', 'rejected-only')
    world.aggregation.faults.rejection = REJECTION
    world.aggregation.chainFaults.noGas = true
    world.start()
    await world.runFor(HOUR + 5 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['failed order-rejected'])
    expect(executed(world)).toBe(0)
  })

  test('stays open while its direct transaction is drafted', async () => {
    const world = new World({
      seed: 'a slow draft',
      strategies: [aCallStrategy()],
      policy: { backoffMsMin: 10_000 },
      aggregator: { proposer: 'trusted' },
    })
    world.aggregation.ledger.code = delegationTo(AGGREGATOR.contracts.trustedProposer)
    world.aggregation.faults.rejection = REJECTION
    world.aggregation.chainFaults.draftsDown = true
    await untilFirstSlot(world)
    await world.runFor(45_000)
    expect(eventTypes(world)).not.toContain('authorization-dead')
    world.aggregation.chainFaults.draftsDown = false
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(executed(world)).toBe(1)
    expectSound(world)
  })

  test('is sent directly once when a crash interrupts the fallback at any append', async () => {
    for (const when of ['before', 'after'] as const) {
      for (let append = 5; append <= 11; append += 1) {
        const world = trusted(`trusted crash ${append}`, 'rejected-only')
        world.aggregation.faults.rejection = REJECTION
        world.disk.crashAt = { append, when }
        world.start()
        await world.runFor(HOUR + 10 * MINUTE)
        expect([when, append, executed(world) <= 1]).toEqual([when, append, true])
        expectSound(world)
      }
    }
  })
})

describe('a receipt for a trusted call', () => {
  test('proves nothing when it names the call of an earlier slot', async () => {
    const world = trusted('the receipt of yesterday')
    world.start()
    await world.runFor(HOUR + 5 * MINUTE)
    const first = world.aggregation.ledger.mined.at(-1)?.hash
    Object.assign(world.aggregation.faults, { neverExecutes: true, namesHash: first })
    await world.runFor(HOUR + 5 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(executed(world)).toBe(1)
    expectSound(world)
  })

  test.each(['0x1234', '0x4e71d92d', `0x${'00'.repeat(20)}4e71d92d`] as const)(
    "proves nothing when it names a stranger's transaction with input %s",
    async (input) => {
      const world = trusted(`a stranger ${input}`)
      world.aggregation.faults.neverExecutes = true
      await untilFirstSlot(world)
      await untilEvent(world, 'order-accepted')
      await world.runFor(5_000)
      world.aggregation.faults.namesHash = world.aggregation.ledger.strangersTransaction(input)
      await world.runFor(5 * MINUTE)
      expect(eventTypes(world)).not.toContain('call-proven')
    },
  )
})

test('an account delegated to the trustless proposer makes no trusted call', async () => {
  const world = trusted('the wrong proposer')
  world.aggregation.ledger.code = delegationTo(AGGREGATOR.contracts.trustlessProposer)
  world.start()
  await world.runFor(HOUR + MINUTE)
  expect(outcomes(world, 'claim')).toEqual(['refused foreign-delegation'])
  expect(world.aggregation.service.received).toEqual([])
})
