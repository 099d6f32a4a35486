import { describe, expect, test } from 'vitest'
import { acceptLoss } from '../../simulation/operator.ts'
import { World } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilObserved, untilSigned } from '../../support/worlds/run-until.ts'

/** A stopped daemon that has filled three orders. */
async function traded(seed: string): Promise<World> {
  const world = new World({ seed, strategies: [aStrategy()], isAnchored: true })
  world.start()
  await world.runFor(3 * HOUR + 10 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
  world.crash()
  return world
}

/** Number of records before the last event of a type. */
function recordsBefore(world: World, type: string): number {
  return eventTypes(world).lastIndexOf(type)
}

describe('a state that was rolled back', () => {
  test('stops the start when it lacks its last permit', async () => {
    const world = await traded('cut')
    world.disk.cutTo(recordsBefore(world, 'permit-recorded'))
    world.start()
    await world.runFor(3 * HOUR)
    expect(world.ended).toMatchObject({ error: { message: 'state-behind' } })
    expect(world.watch.signatures).toBe(3)
  })

  test('stops the start when it is empty', async () => {
    const world = await traded('emptied')
    world.disk.cutTo(0)
    world.start()
    await world.runFor(3 * HOUR)
    expect(world.ended).toMatchObject({ error: { message: 'state-missing' } })
    expect(world.watch.signatures).toBe(3)
  })

  test('stops the start as another state once a daemon continued from it', async () => {
    const world = await traded('forked')
    const { anchor } = world.disk
    world.disk.cutTo(recordsBefore(world, 'slot-opened'))
    world.disk.anchor = undefined
    world.start()
    await world.runFor(MINUTE)
    expect(world.ended).toMatchObject({ error: { message: 'anchor-missing' } })
    // Without its two anchor records, the state counts as one that never had an anchor.
    world.disk.cutTo(0)
    world.start()
    await world.runFor(4 * HOUR)
    world.crash()
    world.disk.anchor = anchor
    world.start()
    await world.runFor(MINUTE)
    expect(world.ended).toMatchObject({ error: { message: 'other-state' } })
  })

  test('finds the outcome of its last permit again when only later records are lost', async () => {
    const world = await traded('tail')
    world.disk.cutTo(recordsBefore(world, 'permit-recorded') + 1)
    world.start()
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(4).fill('filled filled'))
    expectSound(world)
  })

  test('repeats no open order after the operator accepts the loss', async () => {
    const world = await traded('accepted')
    const settled = world.ledger.transactions.length
    world.disk.cutTo(recordsBefore(world, 'permit-recorded'))
    expect(world.state.intents.size).toBe(1)
    acceptLoss(world)
    world.start()
    await world.runFor(30 * MINUTE)
    expect(world.ledger.transactions).toHaveLength(settled)
    expect(outcomes(world, 'hourly').at(-1)).toBe('failed attempts-exhausted')
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly').at(-1)).toBe('filled filled')
    expectSound(world)
  })

  test('is distinguished from a state after a power cut at any append', async () => {
    const whole = await traded('steps')
    for (let append = 1; append <= whole.disk.appends; append += 1) {
      for (const when of ['before', 'after'] as const) {
        const world = new World({ seed: 'steps', strategies: [aStrategy()], isAnchored: true })
        world.disk.crashAt = { append, when }
        world.start()
        await world.runFor(3 * HOUR + 10 * MINUTE)
        expect(world.ended, `${append} ${when}`).toBeUndefined()
        expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
      }
    }
  })
})

describe('a suspended daemon', () => {
  test('writes and signs nothing when it continues after a second daemon took over', async () => {
    for (const stopAfterMs of [0, 1, 20, 400, 3_000]) {
      const world = new World({ seed: `overtaken ${stopAfterMs}`, strategies: [aStrategy()] })
      world.start()
      await world.runFor(HOUR - MINUTE)
      await untilSigned(world, 1)
      await world.runFor(stopAfterMs)
      const resumeFirst = world.overtake()
      await world.runFor(2 * MINUTE)
      resumeFirst()
      await world.runFor(2 * HOUR)
      expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
      expectSound(world)
    }
  })
})

test('a superseded daemon does not sign again an order that its successor leaves unsent', async () => {
  const world = new World({ seed: 'unsent', strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR - 1)
  await untilObserved(world, 'quote-verified')
  // The service has no order, so the same bytes are sent again without a new record.
  world.serviceFaults.failsBefore = 1
  await untilSigned(world, 1)
  await world.runFor(5_000)
  world.strategies = []
  const resumeFirst = world.overtake()
  await world.runFor(2_000)
  world.serviceFaults.failsBefore = 0
  await world.runFor(8_000)
  resumeFirst()
  await world.runFor(5 * MINUTE)
  expect(eventTypes(world)).toContain('authorization-dead')
  expect(world.ledger.transactions.filter(({ settled }) => settled.length > 0)).toEqual([])
  expectSound(world)
})

test('an unknown order under our client id is evidence and halts everything', async () => {
  const world = new World({ seed: 'another quote', strategies: [aStrategy()] })
  world.start()
  await world.runFor(2 * HOUR - 1_000)
  // The order never settles, so the chain shows no trace of it.
  world.serviceFaults.neverFills = 1
  await untilSigned(world, 2)
  await world.runFor(5_000)
  world.crash()
  world.disk.cutTo(recordsBefore(world, 'slot-opened'))
  world.start()
  await world.runFor(5 * MINUTE)
  expect(world.state.halted).toMatchObject({
    cause: 'evidence',
    detail: expect.stringContaining('the service has another order under ours'),
  })
  expect(world.watch.signatures).toBe(3)
})
