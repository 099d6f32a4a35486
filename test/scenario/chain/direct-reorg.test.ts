import { describe, expect, test } from 'vitest'
import { CALL_TARGET } from '../../simulation/aggregator/aggregation.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callSimulation,
  executed,
  routes,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { aSchedule, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

/** A minute of blocks: deeper than a transaction is when its receipt is first read. */
const DEEP = { finality: 30 } as const
const DEEP_MS = 60_000

/** A simulation whose service refuses calls, so the daemon sends them directly. */
function refused(seed: string, proposer: 'trusted' | 'trustless'): Simulation {
  const fallback = { mode: 'rejected-only', deadlineMs: 60_000 } as const
  const sim = callSimulation({ seed, rule: DEEP, aggregator: { proposer, fallback } })
  sim.aggregation.faults.rejection = { tag: 'insufficientBalance', message: 'no deposit' }
  return sim
}

describe('a trusted call sent directly', () => {
  test('is sent again after a revert only once the revert is final', async () => {
    const sim = refused('reverted', 'trusted')
    const { ledger } = sim.aggregation
    await untilFirstSlot(sim)
    await untilEvent(sim, 'transaction-signed')
    ledger.reverting.add(CALL_TARGET)
    await sim.runFor(DEEP_MS - 10_000)
    expect(ledger.mined.map(({ success }) => success)).toEqual([false])
    expect(eventTypes(sim)).not.toContain('transaction-ended')
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    ledger.reverting.delete(CALL_TARGET)
    ledger.reorg({ blocks: 40, againAfterMs: 500 })
    await sim.runFor(30 * MINUTE)
    expect(executed(sim)).toBe(1)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(sim.state.transactions.size).toBe(0)
    expectSound(sim)
  })

  test('is dead once its revert is final', async () => {
    const sim = refused('reverted for good', 'trusted')
    const { ledger } = sim.aggregation
    await untilFirstSlot(sim)
    await untilEvent(sim, 'transaction-signed')
    ledger.reverting.add(CALL_TARGET)
    await sim.runFor(DEEP_MS + MINUTE)
    expect(eventTypes(sim)).toContain('authorization-dead')
    expect(sim.state.transactions.size).toBe(0)
    ledger.reverting.delete(CALL_TARGET)
    await sim.runFor(10 * MINUTE)
    expect(executed(sim)).toBeLessThanOrEqual(1)
    expectSound(sim)
  })

  test('executes once and closes as filled again when a reorg mines it again', async () => {
    const sim = refused('mined again', 'trusted')
    await untilFirstSlot(sim)
    await untilEvent(sim, 'slot-closed')
    expect(routes(sim)).toEqual(['direct'])
    sim.aggregation.ledger.reorg({ blocks: 10, againAfterMs: 1_000 })
    await sim.runFor(30 * MINUTE)
    expect(executed(sim)).toBe(1)
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    expect(outcomes(sim, 'claim')).toEqual(['filled filled', 'filled filled'])
    const { state } = sim
    expect([state.unfinal.size, state.transactions.size, state.directCalls.size]).toEqual([0, 0, 0])
    expect(state.strategies.get('claim')?.fills).toBe(1)
    expectSound(sim)
  })
})

test('a direct call executes once when a crash is followed by a reorg of its block', async () => {
  const sim = refused('crash', 'trusted')
  await untilFirstSlot(sim)
  await untilEvent(sim, 'slot-closed')
  expect(sim.state.transactions.size).toBe(1)
  sim.crash()
  sim.aggregation.ledger.reorg({ blocks: 10, againAfterMs: 5_000 })
  sim.start()
  await sim.runFor(30 * MINUTE)
  expect(executed(sim)).toBe(1)
  expect(outcomes(sim, 'claim').at(-1)).toBe('filled filled')
  expect([sim.state.intents.size, sim.state.transactions.size]).toEqual([0, 0])
  expectSound(sim)
})

test('direct calls block no other call before they are final', async () => {
  const strategies = [aCallStrategy({ schedule: aSchedule('* * * * *') })]
  const fallback = { mode: 'rejected-only', deadlineMs: 60_000 } as const
  const rule = { finality: 300 } as const
  const sim = callSimulation({ seed: 'beside', strategies, rule, aggregator: { fallback } })
  sim.aggregation.faults.rejection = { tag: 'insufficientBalance', message: 'no deposit' }
  sim.start()
  await sim.runFor(5 * MINUTE + MINUTE / 2)
  expect(outcomes(sim, 'claim')).toEqual(Array(5).fill('filled filled'))
  expect(routes(sim)).toEqual(Array(5).fill('direct'))
  expect(sim.state.transactions.size).toBe(5)
  await sim.runFor(20 * MINUTE)
  expect(eventTypes(sim).filter((type) => type === 'transaction-ended').length).toBeGreaterThan(9)
  expectSound(sim)
})

test.each(['trusted', 'trustless'] as const)(
  'a direct %s call whose block never returns is followed to its end',
  async (proposer) => {
    const sim = refused(`never again ${proposer}`, proposer)
    await untilFirstSlot(sim)
    await untilEvent(sim, 'slot-closed')
    sim.aggregation.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await sim.runFor(30 * MINUTE)
    expect(executed(sim)).toBeLessThanOrEqual(1)
    const { state } = sim
    expect([state.intents.size, state.unfinal.size, state.transactions.size]).toEqual([0, 0, 0])
    expect(outcomes(sim, 'claim').at(-1)).toBe(
      executed(sim) === 1 ? 'filled filled' : 'failed fill-reverted',
    )
    expectSound(sim)
  },
)

test('a direct call that no node accepts after a reorg is dead once its nonce is cleared', async () => {
  const sim = refused('cleared', 'trusted')
  const { ledger } = sim.aggregation
  await untilFirstSlot(sim)
  await untilEvent(sim, 'slot-closed')
  ledger.losesDirect = true
  ledger.reorg({ blocks: 10, againAfterMs: undefined })
  await sim.runFor(45_000)
  ledger.losesDirect = false
  await sim.runFor(30_000)
  // Cleared at the newest block, but not at a final block.
  expect(eventTypes(sim)).not.toContain('transaction-ended')
  expect([...sim.state.intents.values()].map(({ state }) => state)).toEqual(['lapsing'])
  await sim.runFor(30 * MINUTE)
  expect(outcomes(sim, 'claim')).toEqual(['filled filled', 'failed fill-reverted'])
  expect(executed(sim)).toBe(0)
  const { intents, transactions, directCalls, endedTransactions } = sim.state
  const left = [intents, transactions, directCalls, endedTransactions]
  expect(left.map(({ size }) => size)).toEqual([0, 0, 0, 0])
  expectSound(sim)
})
