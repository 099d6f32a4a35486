import { describe, expect, test } from 'vitest'
import { clientOrderId } from '../../../src/domain/order/intent.ts'
import { createRandom } from '../../../src/domain/random.ts'
import { hashCall } from '../../../src/signing/call-data.ts'
import { createSimulatedJournal } from '../../simulation/journal.ts'
import { SimulatedProcess } from '../../simulation/process.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callSimulation,
  executed,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { aSchedule, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

/** Nonces of the recorded calls, in order. */
function nonces(sim: Simulation): bigint[] {
  return sim.disk
    .events()
    .flatMap((event) =>
      event.type === 'call-recorded' && event.call.trust === 'trustless' ? [event.call.nonce] : [],
    )
}

/** Records a second call with the used nonce, as a daemon with a stale read of the account would. */
async function recordWithUsedNonce(sim: Simulation): Promise<void> {
  const { clock, disk } = sim
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
  await Promise.all([journal.append({ type: 'call-recorded', intentId: id, call }), sim.runFor(5)])
}

const TWO = ['one', 'two'].map((name) => aCallStrategy({ name, file: `${name}.yaml` }))

describe('two calls of one account in one second', () => {
  test.each(Array.from({ length: 8 }, (_, at) => `race ${at}`))(
    'use one nonce each when account reads are late: %s',
    async (seed) => {
      const sim = callSimulation({ seed, strategies: TWO })
      await untilFirstSlot(sim)
      Object.assign(sim.aggregation.chainFaults, { lateAccounts: 1, accountLateMs: 60_000 })
      await sim.runFor(10 * MINUTE)
      expect(nonces(sim)).toEqual([0n, 1n])
      // Each call reads the account after the other's turn, so neither waits for the chain.
      expect(sim.observations.filter(({ type }) => type === 'order-waits')).toEqual([])
      expect(outcomes(sim, 'one')).toEqual(['filled filled'])
      expect(outcomes(sim, 'two')).toEqual(['filled filled'])
      expect(executed(sim)).toBe(2)
      expectSound(sim)
    },
  )
})

test('a nonce used by a proven call is never signed again, even when a node reports it as next', async () => {
  const schedule = aSchedule('*/10 * * * *')
  const sim = callSimulation({ seed: 'behind', strategies: [aCallStrategy({ schedule })] })
  sim.start()
  await sim.runFor(11 * MINUTE)
  expect(executed(sim)).toBe(1)
  sim.aggregation.chainFaults.nonceBehind = true
  await sim.runFor(10 * MINUTE)
  expect(nonces(sim)).toEqual([0n])
  sim.aggregation.chainFaults.nonceBehind = false
  await sim.runFor(2 * MINUTE)
  expect(nonces(sim)).toEqual([0n, 1n])
  expect(executed(sim)).toBe(2)
  const waits = sim.observations.filter(({ type }) => type === 'order-waits')
  expect(waits).toMatchObject([
    { reason: 'chain-stale', detail: expect.stringMatching(/1 is next/) },
  ])
  expectSound(sim)
})

test('a call whose nonce another of our calls has used is dead at once, and is repeated', async () => {
  const sim = callSimulation({ seed: 'outran', strategies: TWO })
  await untilFirstSlot(sim)
  await untilEvent(sim, 'call-proven')
  sim.crash()
  await recordWithUsedNonce(sim)
  sim.start()
  await sim.runFor(MINUTE)
  expect(eventTypes(sim)).toContain('authorization-dead')
  expect(outcomes(sim, 'two')).toEqual(['filled filled'])
  expect(executed(sim)).toBe(2)
  expect(nonces(sim)).toEqual([0n, 0n, 1n])
})
