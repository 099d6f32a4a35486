import { describe, expect, test } from 'vitest'
import { clientOrderId } from '../../../src/domain/order/intent.ts'
import { createRandom } from '../../../src/domain/random.ts'
import { hashCall } from '../../../src/signing/call-data.ts'
import { createSimulatedJournal } from '../../simulation/journal.ts'
import { SimulatedProcess } from '../../simulation/process.ts'
import type { World } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callWorld,
  executed,
  untilFirstSlot,
} from '../../support/aggregator/call-world.ts'
import { aSchedule, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

/** Nonces of the recorded calls, in order. */
function nonces(world: World): bigint[] {
  return world.disk
    .events()
    .flatMap((event) =>
      event.type === 'call-recorded' && event.call.trust === 'trustless' ? [event.call.nonce] : [],
    )
}

/** Records a second call with the used nonce, as a daemon with a stale read of the account would. */
async function recordWithUsedNonce(world: World): Promise<void> {
  const { clock, disk } = world
  const { intents, usedNonces } = disk.reducedState()
  const open = [...intents.values()].find(({ state }) => state === 'planned')
  const first = disk.events().find((event) => event.type === 'call-recorded')
  if (open === undefined || first?.call.trust !== 'trustless') throw new Error('no second call')
  expect([...usedNonces.values()]).toMatchObject([{ nonce: first.call.nonce }])
  const { id } = open.intent
  const later = { ...first.call, deadlineSeconds: first.call.deadlineSeconds + 1 }
  const call = { ...later, clientOrderId: clientOrderId(id, 1), digest: hashCall(later) }
  const journal = createSimulatedJournal({
    disk,
    clock,
    process: new SimulatedProcess(clock, createRandom('before')),
    crash: () => undefined,
    recorded: () => undefined,
  })
  await Promise.all([
    journal.append({ type: 'call-recorded', intentId: id, call }),
    world.runFor(5),
  ])
}

const TWO = ['one', 'two'].map((name) => aCallStrategy({ name, file: `${name}.yaml` }))

describe('two calls of one account in one second', () => {
  test.each(Array.from({ length: 8 }, (_, at) => `race ${at}`))(
    'use one nonce each when account reads are late: %s',
    async (seed) => {
      const world = callWorld({ seed, strategies: TWO })
      await untilFirstSlot(world)
      Object.assign(world.aggregation.chainFaults, { lateAccounts: 1, accountLateMs: 60_000 })
      await world.runFor(10 * MINUTE)
      expect(nonces(world)).toEqual([0n, 1n])
      // Each call reads the account after the other's turn, so neither waits for the chain.
      expect(world.observations.filter(({ type }) => type === 'order-waits')).toEqual([])
      expect(outcomes(world, 'one')).toEqual(['filled filled'])
      expect(outcomes(world, 'two')).toEqual(['filled filled'])
      expect(executed(world)).toBe(2)
      expectSound(world)
    },
  )
})

test('a nonce used by a proven call is never signed again, even when a node reports it as next', async () => {
  const schedule = aSchedule('*/10 * * * *')
  const world = callWorld({ seed: 'behind', strategies: [aCallStrategy({ schedule })] })
  world.start()
  await world.runFor(11 * MINUTE)
  expect(executed(world)).toBe(1)
  world.aggregation.chainFaults.nonceBehind = true
  await world.runFor(10 * MINUTE)
  expect(nonces(world)).toEqual([0n])
  world.aggregation.chainFaults.nonceBehind = false
  await world.runFor(2 * MINUTE)
  expect(nonces(world)).toEqual([0n, 1n])
  expect(executed(world)).toBe(2)
  const waits = world.observations.filter(({ type }) => type === 'order-waits')
  expect(waits).toMatchObject([
    { reason: 'chain-stale', detail: expect.stringMatching(/1 is next/) },
  ])
  expectSound(world)
})

test('a call whose nonce another of our calls has used is dead at once, and is repeated', async () => {
  const world = callWorld({ seed: 'outran', strategies: TWO })
  await untilFirstSlot(world)
  await untilEvent(world, 'call-proven')
  world.crash()
  await recordWithUsedNonce(world)
  world.start()
  await world.runFor(MINUTE)
  expect(eventTypes(world)).toContain('authorization-dead')
  expect(outcomes(world, 'two')).toEqual(['filled filled'])
  expect(executed(world)).toBe(2)
  expect(nonces(world)).toEqual([0n, 0n, 1n])
})
