import { describe, expect, test } from 'vitest'
import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import type { World } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callWorld,
  executed,
  untilFirstSlot,
} from '../../support/aggregator/call-world.ts'
import { aSchedule, HOUR, MINUTE } from '../../support/builders.ts'
import { DEAD, EXECUTED, say, shown } from '../../support/settling.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

const STRATEGIES = [aCallStrategy({ schedule: aSchedule('0 * * * *', { overlap: 'skip' }) })]

/** A world whose trusted call was accepted but never executes; it has no deadline. */
async function hangingTrusted(seed: string): Promise<World> {
  const world = callWorld({ seed, strategies: STRATEGIES, aggregator: { proposer: 'trusted' } })
  world.aggregation.faults.neverExecutes = true
  await untilFirstSlot(world)
  await world.runFor(2 * HOUR)
  expect(outcomes(world, 'claim')).toEqual(['skipped too-many-open'])
  return world
}

describe('a trusted call that never executes', () => {
  test('can be resolved as dead only once it can no longer execute', async () => {
    const world = await hangingTrusted('trusted and dead')
    const { ledger } = world.aggregation
    const evidence = await shown(world)
    expect(evidence).toMatchObject({
      signed: { kind: 'trusted call', nonce: null, deadlineAt: null },
      chain: { head: { nonceUsed: null }, isDeadlinePast: null },
    })
    expect(evidence.answers.map(({ reason }) => reason)).toEqual(['still-live', null, null])
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    // Without the code, the submitted transaction can still be mined unchanged.
    const { code } = ledger
    ledger.code = '0x'
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    ledger.transactionCount += 1
    ledger.code = code
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    ledger.code = '0x'
    expect(await say(world, DEAD)).toEqual({ ok: true, by: 'word', verdict: DEAD })
    await world.runFor(1_000)
    expect(outcomes(world, 'claim').at(-1)).toBe('failed settled')
    expect(world.state.exposures.size).toBe(0)
    expect(world.state.spent.get(NATIVE_TOKEN)).toBeUndefined()
    expectSound(world)
  })

  test('counts in full from the moment that the operator resolves it as executed', async () => {
    const world = await hangingTrusted('trusted and spoken for')
    const saidAtMs = world.clock.trueMs
    expect(await say(world, EXECUTED)).toMatchObject({ ok: true, by: 'word' })
    await world.runFor(1_000)
    expect(outcomes(world, 'claim').at(-1)).toBe('failed settled')
    expect(world.state.spent.get(NATIVE_TOKEN)).toBe(1_000n)
    const [exposure] = world.state.exposures.values()
    expect(exposure).toMatchObject({ amount: 1_000n, live: false })
    expect(Math.abs((exposure?.atMs ?? 0) - saidAtMs)).toBeLessThan(10_000)
    world.aggregation.faults.neverExecutes = false
    await world.runFor(HOUR)
    expect(outcomes(world, 'claim').at(-1)).toBe('filled filled')
    expect(executed(world)).toBe(1)
  })

  test('can be resolved as dead at once when the journal shows no signature', async () => {
    const world = callWorld({
      seed: 'recorded and halted',
      strategies: STRATEGIES,
      aggregator: { proposer: 'trusted' },
    })
    world.disk.onAppend = (type) => {
      if (type !== 'call-recorded') return
      world.disk.crashAt = { append: world.disk.appends + 1, when: 'after' }
      world.haltFile = 'HALT is there'
    }
    await untilFirstSlot(world)
    await world.runFor(10 * MINUTE)
    expect(world.aggregation.service.received).toEqual([])
    expect(await say(world, DEAD)).toEqual({ ok: true, by: 'word', verdict: DEAD })
    await world.runFor(1_000)
    expect(outcomes(world, 'claim')).toEqual(['failed settled'])
    expect(eventTypes(world)).not.toContain('call-signed')
    expectSound(world)
  })
})

describe('a trustless call', () => {
  test("counts in full on the operator's word when its nonce is used unseen, and the next call continues", async () => {
    const world = callWorld({ seed: 'no receipts', strategies: STRATEGIES })
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    Object.assign(world.aggregation.chainFaults, { tracesDown: true, hidesLogs: true })
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'claim')).toEqual(Array(2).fill('skipped too-many-open'))
    expect(executed(world)).toBe(1)
    const [run] = world.aggregation.ledger.executions
    const evidence = await shown(world)
    expect(evidence).toMatchObject({ chain: { final: { nonceUsed: true } } })
    expect(evidence.searchFault).toBe('not every transaction of the call could be read')
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'nonce-used' })
    const named = { as: 'executed', txHash: run?.hash } as const
    expect(await say(world, named)).toMatchObject({ ok: false, reason: 'chain-unknown' })
    expect(await say(world, EXECUTED)).toMatchObject({ ok: true, by: 'word' })
    await world.runFor(1_000)
    expect(outcomes(world, 'claim').at(-1)).toBe('failed settled')
    expect(world.state.spent.get(NATIVE_TOKEN)).toBe(1_000n)
    Object.assign(world.aggregation.chainFaults, { tracesDown: false, hidesLogs: false })
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, 'claim').at(-1)).toBe('filled filled')
    expect(executed(world)).toBe(2)
    expectSound(world)
  })

  test('is proven by the ordinary rules when the operator names its transaction', async () => {
    const world = callWorld({ seed: 'named', strategies: STRATEGIES })
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    // The service names no transaction, and no search finds one.
    world.aggregation.faults.receipts = 'null'
    world.aggregation.chainFaults.hidesLogs = true
    await world.runFor(MINUTE)
    const [run] = world.aggregation.ledger.executions
    if (run === undefined) throw new Error('nothing was executed')
    const word = { as: 'executed', txHash: run.hash } as const
    expect(await say(world, word)).toEqual({ ok: true, by: 'proof', word })
    await world.runFor(1_000)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('cannot be resolved either way while it may still execute', async () => {
    const world = callWorld({ seed: 'live call', strategies: STRATEGIES })
    world.aggregation.faults.neverExecutes = true
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    expect(await say(world, EXECUTED)).toMatchObject({ ok: false, reason: 'nonce-unused' })
    const txHash = world.aggregation.ledger.strangersTransaction('0x1234')
    const named = { as: 'executed', txHash } as const
    expect(await say(world, named)).toMatchObject({ ok: false, reason: 'nonce-unused' })
    expect(eventTypes(world)).not.toContain('order-settled')
  })

  test('can be resolved after its deadline when the config no longer names its wallet', async () => {
    const world = callWorld({ seed: 'another wallet', strategies: STRATEGIES })
    world.aggregation.faults.neverExecutes = true
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    world.crash()
    world.aggregation.wallet = '0x00000000000000000000000000000000000000cc'
    world.start()
    await world.runFor(10_000)
    expect(await shown(world)).toMatchObject({ chain: { head: null, final: null } })
    expect(await say(world, EXECUTED)).toMatchObject({ ok: false, reason: 'still-live' })
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'claim').every((end) => end === 'skipped too-many-open')).toBe(true)
    expect(await say(world, DEAD)).toMatchObject({ ok: false, reason: 'chain-unknown' })
    expect(await say(world, EXECUTED)).toMatchObject({ ok: true, by: 'word' })
    await world.runFor(1_000)
    expect(outcomes(world, 'claim').at(-1)).toBe('failed settled')
    expectSound(world)
  })
})
