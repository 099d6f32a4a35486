import { describe, expect, test } from 'vitest'
import type { Hex } from '../../../src/domain/money/units.ts'
import { AGGREGATOR, CALL_CHAIN_ID } from '../../simulation/aggregator/aggregation.ts'
import { delegationTo, domainOf } from '../../simulation/aggregator/ledger.ts'
import type { World } from '../../simulation/simulation.ts'
import {
  callWorld,
  executed,
  unknowns,
  untilFirstSlot,
} from '../../support/aggregator/call-world.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

const FOREIGN = delegationTo('0x000000000000000000000000000000000000bad0')
const OWN = delegationTo(AGGREGATOR.contracts.trustlessProposer)

async function oneSlot(world: World): Promise<World> {
  world.start()
  await world.runFor(HOUR + 2 * MINUTE)
  return world
}

describe('delegation check before a signature', () => {
  test.each<[string, Hex, string]>([
    ['no code', '0x', 'refused not-delegated'],
    ['a foreign delegation', FOREIGN, 'refused foreign-delegation'],
    ['contract code of its own', '0x6080604052', 'refused foreign-delegation'],
  ])('refuses an account with %s and signs nothing', async (_name, code, outcome) => {
    const world = callWorld({ seed: 'delegation' })
    world.aggregation.ledger.code = code
    await oneSlot(world)
    expect(outcomes(world, 'claim')).toEqual([outcome])
    expect(world.aggregation.watch.signatures).toBe(0)
    expect(world.aggregation.service.received).toEqual([])
  })

  test("signs for the proposer or the account, as the code's domain names it", async () => {
    for (const contract of [AGGREGATOR.contracts.trustlessProposer, callWorldAccount()]) {
      const world = callWorld({ seed: `domain ${contract}` })
      world.aggregation.ledger.domain = domainOf(contract, CALL_CHAIN_ID)
      world.aggregation.ledger.verifyingContract = contract
      await oneSlot(world)
      expect([contract, outcomes(world, 'claim')]).toEqual([contract, ['filled filled']])
    }
  })

  test('signs for the proposer when the code does not report its domain', async () => {
    const world = callWorld({ seed: 'no domain' })
    world.aggregation.ledger.domain = undefined
    await oneSlot(world)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
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
      const world = callWorld({ seed: 'another domain' })
      world.aggregation.ledger.domain = domain
      await oneSlot(world)
      expect(outcomes(world, 'claim')).toEqual(['refused proposer-mismatch'])
      expect(world.aggregation.watch.signatures).toBe(0)
    }
  })
})

function callWorldAccount(): Hex {
  return callWorld({ seed: 'an account' }).aggregation.wallet
}

describe('a delegation change while a call is live', () => {
  test.each<[string, Hex]>([
    ['a cleared delegation', '0x'],
    ['a change to foreign code', FOREIGN],
  ])('stops submissions on both routes until it is reverted: %s', async (_name, code) => {
    const world = callWorld({ seed: `changed to ${code}` })
    world.aggregation.faults.failsBefore = 1
    await untilFirstSlot(world)
    await untilEvent(world, 'call-recorded')
    world.aggregation.ledger.code = code
    await world.runFor(2_000)
    world.aggregation.faults.failsBefore = 0
    await world.runFor(4 * MINUTE)
    expect(world.aggregation.service.received).toEqual([])
    expect(eventTypes(world)).not.toContain('transaction-recorded')
    expect(unknowns(world).some((each) => each.startsWith('nothing more is sent'))).toBe(true)
    world.aggregation.ledger.code = OWN
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(executed(world)).toBe(1)
    expectSound(world)
  })

  test('does not let foreign code cause a second execution of a call', async () => {
    const world = callWorld({ seed: 'lying code' })
    world.aggregation.faults.receipts = 'null'
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    await world.runFor(30_000)
    expect(executed(world)).toBe(1)
    world.aggregation.chainFaults.hidesLogs = true
    world.aggregation.ledger.code = FOREIGN
    world.aggregation.ledger.nestedNonce = 0n
    await world.runFor(6 * MINUTE)
    world.aggregation.ledger.code = OWN
    world.aggregation.ledger.nestedNonce = 1n
    world.aggregation.chainFaults.hidesLogs = false
    await world.runFor(10 * MINUTE)
    expect(executed(world)).toBe(1)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('ends the call as lost when the delegation is never restored', async () => {
    const world = callWorld({ seed: 'cleared for good' })
    world.aggregation.faults.neverExecutes = true
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    world.aggregation.ledger.code = '0x'
    await world.runFor(20 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['failed permit-cancelled'])
    expect(world.aggregation.watch.signatures).toBe(1)
  })

  test('refuses the next attempt when it happens between attempts', async () => {
    const fallback = { mode: 'off', deadlineMs: 180_000 } as const
    const world = callWorld({ seed: 'between attempts', aggregator: { fallback } })
    world.aggregation.faults.neverExecutes = true
    await untilFirstSlot(world)
    await untilEvent(world, 'authorization-dead')
    world.aggregation.ledger.code = FOREIGN
    await world.runFor(20 * MINUTE)
    expect(world.aggregation.watch.signatures).toBeLessThanOrEqual(2)
    expect(outcomes(world, 'claim').length).toBe(1)
    expectSound(world)
  })
})
