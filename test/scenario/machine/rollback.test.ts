import { describe, expect, test } from 'vitest'
import { acceptLoss } from '../../simulation/operator.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { untilObserved, untilSigned } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

/** A stopped daemon that has filled three orders. */
async function traded(seed: string): Promise<Simulation> {
  const sim = new Simulation({ seed, strategies: [aStrategy()], isAnchored: true })
  sim.start()
  await sim.runFor(3 * HOUR + 10 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('filled filled'))
  sim.crash()
  return sim
}

/** Number of records before the last event of a type. */
function recordsBefore(sim: Simulation, type: string): number {
  return eventTypes(sim).lastIndexOf(type)
}

describe('a state that was rolled back', () => {
  test('stops the start when it lacks its last permit', async () => {
    const sim = await traded('cut')
    sim.disk.cutTo(recordsBefore(sim, 'permit-recorded'))
    sim.start()
    await sim.runFor(3 * HOUR)
    expect(sim.ended).toMatchObject({ error: { message: 'state-behind' } })
    expect(sim.watch.signatures).toBe(3)
  })

  test('stops the start when it is empty', async () => {
    const sim = await traded('emptied')
    sim.disk.cutTo(0)
    sim.start()
    await sim.runFor(3 * HOUR)
    expect(sim.ended).toMatchObject({ error: { message: 'state-missing' } })
    expect(sim.watch.signatures).toBe(3)
  })

  test('stops the start as another state once a daemon continued from it', async () => {
    const sim = await traded('forked')
    const { anchor } = sim.disk
    sim.disk.cutTo(recordsBefore(sim, 'slot-opened'))
    sim.disk.anchor = undefined
    sim.start()
    await sim.runFor(MINUTE)
    expect(sim.ended).toMatchObject({ error: { message: 'anchor-missing' } })
    // Without its two anchor records, the state counts as one that never had an anchor.
    sim.disk.cutTo(0)
    sim.start()
    await sim.runFor(4 * HOUR)
    sim.crash()
    sim.disk.anchor = anchor
    sim.start()
    await sim.runFor(MINUTE)
    expect(sim.ended).toMatchObject({ error: { message: 'other-state' } })
  })

  test('finds the outcome of its last permit again when only later records are lost', async () => {
    const sim = await traded('tail')
    sim.disk.cutTo(recordsBefore(sim, 'permit-recorded') + 1)
    sim.start()
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(Array(4).fill('filled filled'))
    expectSound(sim)
  })

  test('repeats no open order after the operator accepts the loss', async () => {
    const sim = await traded('accepted')
    const settled = sim.ledger.transactions.length
    sim.disk.cutTo(recordsBefore(sim, 'permit-recorded'))
    expect(sim.state.intents.size).toBe(1)
    acceptLoss(sim)
    sim.start()
    await sim.runFor(30 * MINUTE)
    expect(sim.ledger.transactions).toHaveLength(settled)
    expect(outcomes(sim, 'hourly').at(-1)).toBe('failed attempts-exhausted')
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly').at(-1)).toBe('filled filled')
    expectSound(sim)
  })

  test('is distinguished from a state after a power cut at any append', async () => {
    const whole = await traded('steps')
    for (let append = 1; append <= whole.disk.appends; append += 1) {
      for (const when of ['before', 'after'] as const) {
        const sim = new Simulation({ seed: 'steps', strategies: [aStrategy()], isAnchored: true })
        sim.disk.crashAt = { append, when }
        sim.start()
        await sim.runFor(3 * HOUR + 10 * MINUTE)
        expect(sim.ended, `${append} ${when}`).toBeUndefined()
        expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('filled filled'))
      }
    }
  })
})

describe('a suspended daemon', () => {
  test('writes and signs nothing when it continues after a second daemon took over', async () => {
    for (const stopAfterMs of [0, 1, 20, 400, 3_000]) {
      const sim = new Simulation({ seed: `overtaken ${stopAfterMs}`, strategies: [aStrategy()] })
      sim.start()
      await sim.runFor(HOUR - MINUTE)
      await untilSigned(sim, 1)
      await sim.runFor(stopAfterMs)
      const resumeFirst = sim.overtake()
      await sim.runFor(2 * MINUTE)
      resumeFirst()
      await sim.runFor(2 * HOUR)
      expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('filled filled'))
      expectSound(sim)
    }
  })
})

test('a superseded daemon does not sign again an order that its successor leaves unsent', async () => {
  const sim = new Simulation({ seed: 'unsent', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(HOUR - 1)
  await untilObserved(sim, 'quote-verified')
  // The service has no order, so the same bytes are sent again without a new record.
  sim.serviceFaults.failsBefore = 1
  await untilSigned(sim, 1)
  await sim.runFor(5_000)
  sim.strategies = []
  const resumeFirst = sim.overtake()
  await sim.runFor(2_000)
  sim.serviceFaults.failsBefore = 0
  await sim.runFor(8_000)
  resumeFirst()
  await sim.runFor(5 * MINUTE)
  expect(eventTypes(sim)).toContain('authorization-dead')
  expect(sim.ledger.transactions.filter(({ settled }) => settled.length > 0)).toEqual([])
  expectSound(sim)
})

test('an unknown order under our client id is evidence and halts everything', async () => {
  const sim = new Simulation({ seed: 'another quote', strategies: [aStrategy()] })
  sim.start()
  await sim.runFor(2 * HOUR - 1_000)
  // The order never settles, so the chain shows no trace of it.
  sim.serviceFaults.neverFills = 1
  await untilSigned(sim, 2)
  await sim.runFor(5_000)
  sim.crash()
  sim.disk.cutTo(recordsBefore(sim, 'slot-opened'))
  sim.start()
  await sim.runFor(5 * MINUTE)
  expect(sim.state.halted).toMatchObject({
    cause: 'evidence',
    detail: expect.stringContaining('the service has another order under ours'),
  })
  expect(sim.watch.signatures).toBe(3)
})
