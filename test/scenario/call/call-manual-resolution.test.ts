import { describe, expect, test } from 'vitest'
import { NATIVE_TOKEN } from '../../../src/domain/money/token.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callSimulation,
  executed,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { aSchedule, HOUR, MINUTE } from '../../support/builders.ts'
import { DEAD, EXECUTED, say, shown } from '../../support/settling.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const STRATEGIES = [aCallStrategy({ schedule: aSchedule('0 * * * *', { overlap: 'skip' }) })]

/** A simulation whose trusted call was accepted but never executes; it has no deadline. */
async function hangingTrusted(seed: string): Promise<Simulation> {
  const sim = callSimulation({ seed, strategies: STRATEGIES, aggregator: { proposer: 'trusted' } })
  sim.aggregation.faults.neverExecutes = true
  await untilFirstSlot(sim)
  await sim.runFor(2 * HOUR)
  expect(outcomes(sim, 'claim')).toEqual(['skipped too-many-open'])
  return sim
}

describe('a trusted call that never executes', () => {
  test('can be resolved as dead only once it can no longer execute', async () => {
    const sim = await hangingTrusted('trusted and dead')
    const { ledger } = sim.aggregation
    const evidence = await shown(sim)
    expect(evidence).toMatchObject({
      signed: { kind: 'trusted call', nonce: null, deadlineAt: null },
      chain: { head: { nonceUsed: null }, isDeadlinePast: null },
    })
    expect(evidence.answers.map(({ reason }) => reason)).toEqual(['still-live', null, null])
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    // Without the code, the submitted transaction can still be mined unchanged.
    const { code } = ledger
    ledger.code = '0x'
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    ledger.transactionCount += 1
    ledger.code = code
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    ledger.code = '0x'
    expect(await say(sim, DEAD)).toEqual({ ok: true, by: 'word', verdict: DEAD })
    await sim.runFor(1_000)
    expect(outcomes(sim, 'claim').at(-1)).toBe('failed settled')
    expect(sim.state.exposures.size).toBe(0)
    expect(sim.state.spent.get(NATIVE_TOKEN)).toBeUndefined()
    expectSound(sim)
  })

  test('counts in full from the moment that the operator resolves it as executed', async () => {
    const sim = await hangingTrusted('trusted and spoken for')
    const saidAtMs = sim.clock.trueMs
    expect(await say(sim, EXECUTED)).toMatchObject({ ok: true, by: 'word' })
    await sim.runFor(1_000)
    expect(outcomes(sim, 'claim').at(-1)).toBe('failed settled')
    expect(sim.state.spent.get(NATIVE_TOKEN)).toBe(1_000n)
    const [exposure] = sim.state.exposures.values()
    expect(exposure).toMatchObject({ amount: 1_000n, live: false })
    expect(Math.abs((exposure?.atMs ?? 0) - saidAtMs)).toBeLessThan(10_000)
    sim.aggregation.faults.neverExecutes = false
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'claim').at(-1)).toBe('filled filled')
    expect(executed(sim)).toBe(1)
  })

  test('can be resolved as dead at once when the journal shows no signature', async () => {
    const sim = callSimulation({
      seed: 'recorded and halted',
      strategies: STRATEGIES,
      aggregator: { proposer: 'trusted' },
    })
    sim.disk.onAppend = (type) => {
      if (type !== 'call-recorded') return
      sim.disk.crashAt = { append: sim.disk.appends + 1, when: 'after' }
      sim.haltFile = 'HALT is there'
    }
    await untilFirstSlot(sim)
    await sim.runFor(10 * MINUTE)
    expect(sim.aggregation.service.received).toEqual([])
    expect(await say(sim, DEAD)).toEqual({ ok: true, by: 'word', verdict: DEAD })
    await sim.runFor(1_000)
    expect(outcomes(sim, 'claim')).toEqual(['failed settled'])
    expect(eventTypes(sim)).not.toContain('call-signed')
    expectSound(sim)
  })
})

describe('a trustless call', () => {
  test("counts in full on the operator's word when its nonce is used unseen, and the next call continues", async () => {
    const sim = callSimulation({ seed: 'no receipts', strategies: STRATEGIES })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    Object.assign(sim.aggregation.chainFaults, { tracesDown: true, hidesLogs: true })
    await sim.runFor(2 * HOUR)
    expect(outcomes(sim, 'claim')).toEqual(Array(2).fill('skipped too-many-open'))
    expect(executed(sim)).toBe(1)
    const [run] = sim.aggregation.ledger.executions
    const evidence = await shown(sim)
    expect(evidence).toMatchObject({ chain: { final: { nonceUsed: true } } })
    expect(evidence.searchFault).toBe('not every transaction of the call could be read')
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'nonce-used' })
    const named = { as: 'executed', txHash: run?.hash } as const
    expect(await say(sim, named)).toMatchObject({ ok: false, reason: 'chain-unknown' })
    expect(await say(sim, EXECUTED)).toMatchObject({ ok: true, by: 'word' })
    await sim.runFor(1_000)
    expect(outcomes(sim, 'claim').at(-1)).toBe('failed settled')
    expect(sim.state.spent.get(NATIVE_TOKEN)).toBe(1_000n)
    Object.assign(sim.aggregation.chainFaults, { tracesDown: false, hidesLogs: false })
    await sim.runFor(HOUR + MINUTE)
    expect(outcomes(sim, 'claim').at(-1)).toBe('filled filled')
    expect(executed(sim)).toBe(2)
    expectSound(sim)
  })

  test('is proven by the ordinary rules when the operator names its transaction', async () => {
    const sim = callSimulation({ seed: 'named', strategies: STRATEGIES })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    // The service names no transaction, and no search finds one.
    sim.aggregation.faults.receipts = 'null'
    sim.aggregation.chainFaults.hidesLogs = true
    await sim.runFor(MINUTE)
    const [run] = sim.aggregation.ledger.executions
    if (run === undefined) throw new Error('nothing was executed')
    const word = { as: 'executed', txHash: run.hash } as const
    expect(await say(sim, word)).toEqual({ ok: true, by: 'proof', verdict: word })
    await sim.runFor(1_000)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('cannot be resolved either way while it may still execute', async () => {
    const sim = callSimulation({ seed: 'live call', strategies: STRATEGIES })
    sim.aggregation.faults.neverExecutes = true
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'still-live' })
    expect(await say(sim, EXECUTED)).toMatchObject({ ok: false, reason: 'nonce-unused' })
    const txHash = sim.aggregation.ledger.strangersTransaction('0x1234')
    const named = { as: 'executed', txHash } as const
    expect(await say(sim, named)).toMatchObject({ ok: false, reason: 'nonce-unused' })
    expect(eventTypes(sim)).not.toContain('order-settled')
  })

  test('can be resolved after its deadline when the config no longer names its wallet', async () => {
    const sim = callSimulation({ seed: 'another wallet', strategies: STRATEGIES })
    sim.aggregation.faults.neverExecutes = true
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    sim.crash()
    sim.aggregation.wallet = '0x00000000000000000000000000000000000000cc'
    sim.start()
    await sim.runFor(10_000)
    expect(await shown(sim)).toMatchObject({ chain: { head: null, final: null } })
    expect(await say(sim, EXECUTED)).toMatchObject({ ok: false, reason: 'still-live' })
    await sim.runFor(2 * HOUR)
    expect(outcomes(sim, 'claim').every((end) => end === 'skipped too-many-open')).toBe(true)
    expect(await say(sim, DEAD)).toMatchObject({ ok: false, reason: 'chain-unknown' })
    expect(await say(sim, EXECUTED)).toMatchObject({ ok: true, by: 'word' })
    await sim.runFor(1_000)
    expect(outcomes(sim, 'claim').at(-1)).toBe('failed settled')
    expectSound(sim)
  })
})
