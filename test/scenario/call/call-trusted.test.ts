import { describe, expect, test } from 'vitest'
import type { FallbackMode } from '../../../src/domain/settings.ts'
import { AGGREGATOR } from '../../simulation/aggregator/aggregation.ts'
import { delegationTo } from '../../simulation/aggregator/ledger.ts'
import { Simulation } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callSimulation,
  executed,
  routes,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const REJECTION = { tag: 'insufficientBalance', message: 'Insufficient balance.' } as const

function trusted(seed: string, mode: FallbackMode = 'after-deadline'): Simulation {
  const fallback = { mode, deadlineMs: 180_000 }
  return callSimulation({ seed, aggregator: { proposer: 'trusted', fallback } })
}

describe('a trusted call', () => {
  test('is made once in every slot, each proven by its own transaction', async () => {
    const sim = trusted('trusted slots')
    sim.start()
    await sim.runFor(5 * HOUR + 5 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(Array(5).fill('filled filled'))
    expect(executed(sim)).toBe(5)
    const proofs = sim.disk
      .events()
      .flatMap((event) => (event.type === 'call-proven' ? [event.execution.txHash] : []))
    expect(new Set(proofs).size).toBe(5)
    expectSound(sim)
  })

  test('is never sent directly after the service returned a hash', async () => {
    const sim = trusted('trusted and slow')
    sim.aggregation.faults.neverExecutes = true
    sim.start()
    await sim.runFor(HOUR + 40 * MINUTE)
    expect(eventTypes(sim)).toContain('order-accepted')
    expect(eventTypes(sim)).not.toContain('transaction-recorded')
    expect(executed(sim)).toBe(0)
  })

  test('is never sent directly while its acceptance is unknown', async () => {
    const sim = trusted('trusted and silent')
    Object.assign(sim.aggregation.faults, { failsAfter: 1, receipts: 'null' })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'call-recorded')
    await sim.runFor(20_000)
    sim.aggregation.faults.failsAfter = 0
    sim.aggregation.faults.rejection = REJECTION
    await sim.runFor(20 * MINUTE)
    expect(eventTypes(sim)).not.toContain('transaction-recorded')
    expect(executed(sim)).toBe(1)
    expect(new Set(sim.aggregation.service.received).size).toBe(1)
  })

  test.each<FallbackMode>(['rejected-only', 'after-deadline'])(
    'is sent directly and proven after an immediate refusal, with fallback %s',
    async (mode) => {
      const sim = trusted(`trusted refused ${mode}`, mode)
      sim.aggregation.faults.rejection = REJECTION
      sim.start()
      await sim.runFor(2 * HOUR + 5 * MINUTE)
      expect(outcomes(sim, 'claim')).toEqual(Array(2).fill('filled filled'))
      expect(routes(sim)).toEqual(['direct', 'direct'])
      expect(executed(sim)).toBe(2)
      expectSound(sim)
    },
  )

  test('ends after a refusal without a fallback, and delays no later call', async () => {
    const sim = trusted('trusted refused off', 'off')
    sim.aggregation.faults.rejection = REJECTION
    await untilFirstSlot(sim)
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['failed order-rejected'])
    sim.aggregation.faults.rejection = undefined
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'claim')).toEqual(['failed order-rejected', 'filled filled'])
    expect(executed(sim)).toBe(1)
  })

  test('ends after a refusal when the account cannot pay for a direct call', async () => {
    const sim = trusted('trusted refused and poor', 'rejected-only')
    sim.aggregation.faults.rejection = REJECTION
    sim.aggregation.chainFaults.noGas = true
    sim.start()
    await sim.runFor(HOUR + 5 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['failed order-rejected'])
    expect(executed(sim)).toBe(0)
  })

  test('stays open while its direct transaction is drafted', async () => {
    const sim = new Simulation({
      seed: 'a slow draft',
      strategies: [aCallStrategy()],
      policy: { backoffMsMin: 10_000 },
      aggregator: { proposer: 'trusted' },
    })
    sim.aggregation.ledger.code = delegationTo(AGGREGATOR.contracts.trustedProposer)
    sim.aggregation.faults.rejection = REJECTION
    sim.aggregation.chainFaults.draftsDown = true
    await untilFirstSlot(sim)
    await sim.runFor(45_000)
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    sim.aggregation.chainFaults.draftsDown = false
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })

  test('is sent directly once when a crash interrupts the fallback at any append', async () => {
    for (const when of ['before', 'after'] as const) {
      for (let append = 5; append <= 11; append += 1) {
        const sim = trusted(`trusted crash ${append}`, 'rejected-only')
        sim.aggregation.faults.rejection = REJECTION
        sim.disk.crashAt = { append, when }
        sim.start()
        await sim.runFor(HOUR + 10 * MINUTE)
        expect([when, append, executed(sim) <= 1]).toEqual([when, append, true])
        expectSound(sim)
      }
    }
  })
})

describe('a receipt for a trusted call', () => {
  test('proves nothing when it names the call of an earlier slot', async () => {
    const sim = trusted('the receipt of yesterday')
    sim.start()
    await sim.runFor(HOUR + 5 * MINUTE)
    const first = sim.aggregation.ledger.mined.at(-1)?.hash
    Object.assign(sim.aggregation.faults, { neverExecutes: true, namesHash: first })
    await sim.runFor(HOUR + 5 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })

  test.each(['0x1234', '0x4e71d92d', `0x${'00'.repeat(20)}4e71d92d`] as const)(
    "proves nothing when it names a stranger's transaction with input %s",
    async (input) => {
      const sim = trusted(`a stranger ${input}`)
      sim.aggregation.faults.neverExecutes = true
      await untilFirstSlot(sim)
      await untilEvent(sim, 'order-accepted')
      await sim.runFor(5_000)
      sim.aggregation.faults.namesHash = sim.aggregation.ledger.strangersTransaction(input)
      await sim.runFor(5 * MINUTE)
      expect(eventTypes(sim)).not.toContain('call-proven')
    },
  )
})

test('an account delegated to the trustless proposer makes no trusted call', async () => {
  const sim = trusted('the wrong proposer')
  sim.aggregation.ledger.code = delegationTo(AGGREGATOR.contracts.trustlessProposer)
  sim.start()
  await sim.runFor(HOUR + MINUTE)
  expect(outcomes(sim, 'claim')).toEqual(['refused foreign-delegation'])
  expect(sim.aggregation.service.received).toEqual([])
})
