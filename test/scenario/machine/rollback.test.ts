import { describe, expect, test } from 'vitest'
import { acceptLoss } from '../../simulation/operator.ts'
import { World } from '../../simulation/simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilObserved, untilSigned } from '../../support/worlds/run-until.ts'

/** A daemon that has filled some orders and is down. */
async function traded(seed: string): Promise<World> {
  const world = new World({ seed, strategies: [aStrategy()], isAnchored: true })
  world.start()
  await world.runFor(3 * HOUR + 10 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
  world.crash()
  return world
}

/** What would be left of the journal if everything from the last event of a type on were gone. */
function recordsBefore(world: World, type: string): number {
  return eventTypes(world).lastIndexOf(type)
}

describe('a state that went back', () => {
  test('before its last permit is not traded with, however whole it looks', async () => {
    const world = await traded('cut')
    world.disk.cutTo(recordsBefore(world, 'permit-recorded'))
    world.start()
    await world.runFor(3 * HOUR)
    expect(world.ended).toMatchObject({ error: { message: 'state-behind' } })
    expect(world.watch.signatures).toBe(3)
  })

  test('to nothing is not begun afresh', async () => {
    const world = await traded('emptied')
    world.disk.cutTo(0)
    world.start()
    await world.runFor(3 * HOUR)
    expect(world.ended).toMatchObject({ error: { message: 'state-missing' } })
    expect(world.watch.signatures).toBe(3)
  })

  test('and went on from there is another one', async () => {
    const world = await traded('forked')
    const { anchor } = world.disk
    world.disk.cutTo(recordsBefore(world, 'slot-opened'))
    world.disk.anchor = undefined
    world.start()
    await world.runFor(MINUTE)
    expect(world.ended).toMatchObject({ error: { message: 'anchor-missing' } })
    // Without the two records that tell of the anchor it is taken for one that never had any.
    world.disk.cutTo(0)
    world.start()
    await world.runFor(4 * HOUR)
    world.crash()
    world.disk.anchor = anchor
    world.start()
    await world.runFor(MINUTE)
    expect(world.ended).toMatchObject({ error: { message: 'other-state' } })
  })

  test('only behind its last permit finds again what followed from it', async () => {
    const world = await traded('tail')
    world.disk.cutTo(recordsBefore(world, 'permit-recorded') + 1)
    world.start()
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(4).fill('filled filled'))
    expectSound(world)
  })

  test('and that its operator goes on with makes no order again that was open in it', async () => {
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

  test('is told from one that a power cut at any step has left', async () => {
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

describe('two writers', () => {
  test('a daemon that was stopped and overtaken writes and signs nothing when it runs on', async () => {
    for (const stopAfterMs of [0, 1, 20, 400, 3_000]) {
      const world = new World({ seed: `overtaken ${stopAfterMs}`, strategies: [aStrategy()] })
      world.start()
      await world.runFor(HOUR - MINUTE)
      await untilSigned(world, 1)
      await world.runFor(stopAfterMs)
      const runOn = world.overtake()
      await world.runFor(2 * MINUTE)
      runOn()
      await world.runFor(2 * HOUR)
      expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
      expectSound(world)
    }
  })
})

test('a daemon that was overtaken does not sign again what its heir leaves unsent', async () => {
  const world = new World({ seed: 'unsent', strategies: [aStrategy()] })
  world.start()
  await world.runFor(HOUR - 1)
  await untilObserved(world, 'quote-verified')
  // Nobody has the order: it is sent again as the same bytes, for which nothing has to be recorded.
  world.serviceFaults.failsBefore = 1
  await untilSigned(world, 1)
  await world.runFor(5_000)
  world.strategies = []
  const runOn = world.overtake()
  await world.runFor(2_000)
  world.serviceFaults.failsBefore = 0
  await world.runFor(8_000)
  runOn()
  await world.runFor(5 * MINUTE)
  expect(eventTypes(world)).toContain('authorization-dead')
  expect(world.ledger.transactions.filter(({ settled }) => settled.length > 0)).toEqual([])
  expectSound(world)
})

test('an order of another quote under our own name is evidence, and everything halts', async () => {
  const world = new World({ seed: 'another quote', strategies: [aStrategy()] })
  world.start()
  await world.runFor(2 * HOUR - 1_000)
  // The chain has nothing to say of what was never settled.
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
