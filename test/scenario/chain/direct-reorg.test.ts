import { describe, expect, test } from 'vitest'
import { CALL_TARGET } from '../../simulation/aggregator/aggregation.ts'
import type { World } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callWorld,
  executed,
  routes,
  untilFirstSlot,
} from '../../support/aggregator/call-world.ts'
import { aSchedule, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

/** A minute of blocks: deeper than a transaction is when its receipt is first read. */
const DEEP = { finality: 30 } as const
const DEEP_MS = 60_000

/** A world whose service refuses calls, so the daemon sends them directly. */
function refused(seed: string, proposer: 'trusted' | 'trustless'): World {
  const fallback = { mode: 'rejected-only', deadlineMs: 60_000 } as const
  const world = callWorld({ seed, rule: DEEP, aggregator: { proposer, fallback } })
  world.aggregation.faults.rejection = { tag: 'insufficientBalance', message: 'no deposit' }
  return world
}

describe('a trusted call sent directly', () => {
  test('is sent again after a revert only once the revert is final', async () => {
    const world = refused('reverted', 'trusted')
    const { ledger } = world.aggregation
    await untilFirstSlot(world)
    await untilEvent(world, 'transaction-signed')
    ledger.reverting.add(CALL_TARGET)
    await world.runFor(DEEP_MS - 10_000)
    expect(ledger.mined.map(({ success }) => success)).toEqual([false])
    expect(eventTypes(world)).not.toContain('transaction-ended')
    expect(eventTypes(world)).not.toContain('authorization-dead')
    ledger.reverting.delete(CALL_TARGET)
    ledger.reorg({ blocks: 40, againAfterMs: 500 })
    await world.runFor(30 * MINUTE)
    expect(executed(world)).toBe(1)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(world.state.transactions.size).toBe(0)
    expectSound(world)
  })

  test('is dead once its revert is final', async () => {
    const world = refused('reverted for good', 'trusted')
    const { ledger } = world.aggregation
    await untilFirstSlot(world)
    await untilEvent(world, 'transaction-signed')
    ledger.reverting.add(CALL_TARGET)
    await world.runFor(DEEP_MS + MINUTE)
    expect(eventTypes(world)).toContain('authorization-dead')
    expect(world.state.transactions.size).toBe(0)
    ledger.reverting.delete(CALL_TARGET)
    await world.runFor(10 * MINUTE)
    expect(executed(world)).toBeLessThanOrEqual(1)
    expectSound(world)
  })

  test('executes once and closes as filled again when a reorg mines it again', async () => {
    const world = refused('mined again', 'trusted')
    await untilFirstSlot(world)
    await untilEvent(world, 'slot-closed')
    expect(routes(world)).toEqual(['direct'])
    world.aggregation.ledger.reorg({ blocks: 10, againAfterMs: 1_000 })
    await world.runFor(30 * MINUTE)
    expect(executed(world)).toBe(1)
    expect(eventTypes(world)).not.toContain('authorization-dead')
    expect(outcomes(world, 'claim')).toEqual(['filled filled', 'filled filled'])
    const { state } = world
    expect([state.unfinal.size, state.transactions.size, state.directCalls.size]).toEqual([0, 0, 0])
    expect(state.strategies.get('claim')?.fills).toBe(1)
    expectSound(world)
  })
})

test('a direct call executes once when a crash is followed by a reorg of its block', async () => {
  const world = refused('crash', 'trusted')
  await untilFirstSlot(world)
  await untilEvent(world, 'slot-closed')
  expect(world.state.transactions.size).toBe(1)
  world.crash()
  world.aggregation.ledger.reorg({ blocks: 10, againAfterMs: 5_000 })
  world.start()
  await world.runFor(30 * MINUTE)
  expect(executed(world)).toBe(1)
  expect(outcomes(world, 'claim').at(-1)).toBe('filled filled')
  expect([world.state.intents.size, world.state.transactions.size]).toEqual([0, 0])
  expectSound(world)
})

test('direct calls block no other call before they are final', async () => {
  const strategies = [aCallStrategy({ schedule: aSchedule('* * * * *') })]
  const fallback = { mode: 'rejected-only', deadlineMs: 60_000 } as const
  const rule = { finality: 300 } as const
  const world = callWorld({ seed: 'beside', strategies, rule, aggregator: { fallback } })
  world.aggregation.faults.rejection = { tag: 'insufficientBalance', message: 'no deposit' }
  world.start()
  await world.runFor(5 * MINUTE + MINUTE / 2)
  expect(outcomes(world, 'claim')).toEqual(Array(5).fill('filled filled'))
  expect(routes(world)).toEqual(Array(5).fill('direct'))
  expect(world.state.transactions.size).toBe(5)
  await world.runFor(20 * MINUTE)
  expect(eventTypes(world).filter((type) => type === 'transaction-ended').length).toBeGreaterThan(9)
  expectSound(world)
})

test.each(['trusted', 'trustless'] as const)(
  'a direct %s call whose block never returns is followed to its end',
  async (proposer) => {
    const world = refused(`never again ${proposer}`, proposer)
    await untilFirstSlot(world)
    await untilEvent(world, 'slot-closed')
    world.aggregation.ledger.reorg({ blocks: 10, againAfterMs: undefined })
    await world.runFor(30 * MINUTE)
    expect(executed(world)).toBeLessThanOrEqual(1)
    const { state } = world
    expect([state.intents.size, state.unfinal.size, state.transactions.size]).toEqual([0, 0, 0])
    expect(outcomes(world, 'claim').at(-1)).toBe(
      executed(world) === 1 ? 'filled filled' : 'failed fill-reverted',
    )
    expectSound(world)
  },
)

test('a direct call that no node accepts after a reorg is dead once its nonce is cleared', async () => {
  const world = refused('cleared', 'trusted')
  const { ledger } = world.aggregation
  await untilFirstSlot(world)
  await untilEvent(world, 'slot-closed')
  ledger.losesDirect = true
  ledger.reorg({ blocks: 10, againAfterMs: undefined })
  await world.runFor(45_000)
  ledger.losesDirect = false
  await world.runFor(30_000)
  // Cleared at the newest block, but not at a final block.
  expect(eventTypes(world)).not.toContain('transaction-ended')
  expect([...world.state.intents.values()].map(({ state }) => state)).toEqual(['lapsing'])
  await world.runFor(30 * MINUTE)
  expect(outcomes(world, 'claim')).toEqual(['filled filled', 'failed fill-reverted'])
  expect(executed(world)).toBe(0)
  const { intents, transactions, directCalls, endedTransactions } = world.state
  const left = [intents, transactions, directCalls, endedTransactions]
  expect(left.map(({ size }) => size)).toEqual([0, 0, 0, 0])
  expectSound(world)
})
