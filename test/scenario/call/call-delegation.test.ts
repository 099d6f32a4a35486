import { describe, expect, test } from 'vitest'
import type { Hex } from '../../../src/domain/money/units.ts'
import { AGGREGATOR, CALL_CHAIN_ID } from '../../simulation/aggregator/aggregation.ts'
import { delegationTo, domainOf } from '../../simulation/aggregator/ledger.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import {
  callSimulation,
  executed,
  unknowns,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const FOREIGN = delegationTo('0x000000000000000000000000000000000000bad0')
const OWN = delegationTo(AGGREGATOR.contracts.trustlessProposer)

async function oneSlot(sim: Simulation): Promise<Simulation> {
  sim.start()
  await sim.runFor(HOUR + 2 * MINUTE)
  return sim
}

describe('delegation check before a signature', () => {
  test.each<[string, Hex, string]>([
    ['no code', '0x', 'refused not-delegated'],
    ['a foreign delegation', FOREIGN, 'refused foreign-delegation'],
    ['contract code of its own', '0x6080604052', 'refused foreign-delegation'],
  ])('refuses an account with %s and signs nothing', async (_name, code, outcome) => {
    const sim = callSimulation({ seed: 'delegation' })
    sim.aggregation.ledger.code = code
    await oneSlot(sim)
    expect(outcomes(sim, 'claim')).toEqual([outcome])
    expect(sim.aggregation.watch.signatures).toBe(0)
    expect(sim.aggregation.service.received).toEqual([])
  })

  test("signs for the proposer or the account, as the code's domain names it", async () => {
    for (const contract of [AGGREGATOR.contracts.trustlessProposer, callSimulationAccount()]) {
      const sim = callSimulation({ seed: `domain ${contract}` })
      sim.aggregation.ledger.domain = domainOf(contract, CALL_CHAIN_ID)
      sim.aggregation.ledger.verifyingContract = contract
      await oneSlot(sim)
      expect([contract, outcomes(sim, 'claim')]).toEqual([contract, ['filled filled']])
    }
  })

  test('signs for the proposer when the code does not report its domain', async () => {
    const sim = callSimulation({ seed: 'no domain' })
    sim.aggregation.ledger.domain = undefined
    await oneSlot(sim)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
  })

  test('refuses a domain of any other contract, chain or name', async () => {
    const good = domainOf(AGGREGATOR.contracts.trustlessProposer, CALL_CHAIN_ID)
    for (const domain of [
      domainOf(AGGREGATOR.contracts.multicall, CALL_CHAIN_ID),
      domainOf(AGGREGATOR.contracts.trustlessProposer, 1),
      { ...good, name: 'Permit2' },
      { ...good, version: '2' },
      { ...good, hasExtras: true },
    ]) {
      const sim = callSimulation({ seed: 'another domain' })
      sim.aggregation.ledger.domain = domain
      await oneSlot(sim)
      expect(outcomes(sim, 'claim')).toEqual(['refused proposer-mismatch'])
      expect(sim.aggregation.watch.signatures).toBe(0)
    }
  })
})

function callSimulationAccount(): Hex {
  return callSimulation({ seed: 'an account' }).aggregation.wallet
}

describe('a delegation change while a call is live', () => {
  test.each<[string, Hex]>([
    ['a cleared delegation', '0x'],
    ['a change to foreign code', FOREIGN],
  ])('stops submissions on both routes until it is reverted: %s', async (_name, code) => {
    const sim = callSimulation({ seed: `changed to ${code}` })
    sim.aggregation.faults.failsBefore = 1
    await untilFirstSlot(sim)
    await untilEvent(sim, 'call-recorded')
    sim.aggregation.ledger.code = code
    await sim.runFor(2_000)
    sim.aggregation.faults.failsBefore = 0
    await sim.runFor(4 * MINUTE)
    expect(sim.aggregation.service.received).toEqual([])
    expect(eventTypes(sim)).not.toContain('transaction-recorded')
    expect(unknowns(sim).some((each) => each.startsWith('nothing more is sent'))).toBe(true)
    sim.aggregation.ledger.code = OWN
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })

  test('does not let foreign code cause a second execution of a call', async () => {
    const sim = callSimulation({ seed: 'lying code' })
    sim.aggregation.faults.receipts = 'null'
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    await sim.runFor(30_000)
    expect(executed(sim)).toBe(1)
    sim.aggregation.chainFaults.hidesLogs = true
    sim.aggregation.ledger.code = FOREIGN
    sim.aggregation.ledger.nestedNonce = 0n
    await sim.runFor(6 * MINUTE)
    sim.aggregation.ledger.code = OWN
    sim.aggregation.ledger.nestedNonce = 1n
    sim.aggregation.chainFaults.hidesLogs = false
    await sim.runFor(10 * MINUTE)
    expect(executed(sim)).toBe(1)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('ends the call as lost when the delegation is never restored', async () => {
    const sim = callSimulation({ seed: 'cleared for good' })
    sim.aggregation.faults.neverExecutes = true
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    sim.aggregation.ledger.code = '0x'
    await sim.runFor(20 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['failed permit-cancelled'])
    expect(sim.aggregation.watch.signatures).toBe(1)
  })

  test('refuses the next attempt when it happens between attempts', async () => {
    const fallback = { mode: 'off', deadlineMs: 180_000 } as const
    const sim = callSimulation({ seed: 'between attempts', aggregator: { fallback } })
    sim.aggregation.faults.neverExecutes = true
    await untilFirstSlot(sim)
    await untilEvent(sim, 'authorization-dead')
    sim.aggregation.ledger.code = FOREIGN
    await sim.runFor(20 * MINUTE)
    expect(sim.aggregation.watch.signatures).toBeLessThanOrEqual(2)
    expect(outcomes(sim, 'claim').length).toBe(1)
    expectSound(sim)
  })
})
