import { describe, expect, test } from 'vitest'
import { noChainFaults } from '../../simulation/chain/chain.ts'
import { recordedPermits } from '../../simulation/judge/watch.ts'
import { World, type WorldOptions } from '../../simulation/simulation.ts'
import { callWorld, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent, untilSigned } from '../../support/worlds/run-until.ts'

/** A world right after the signature of its first order, which is valid for a minute and never fills. */
async function signed(options: Partial<WorldOptions> & { readonly seed: string }): Promise<World> {
  const world = new World({ strategies: [aStrategy()], ...options })
  if (options.rule?.agree === 2) world.otherNodes.push(noChainFaults())
  world.serviceFaults.neverFills = 1
  world.start()
  await world.runFor(HOUR - 1_000)
  await untilSigned(world, 1)
  return world
}

describe('a permit is not dead', () => {
  test('when only a node 90 s ahead reports its deadline as past', async () => {
    const world = new World({ seed: 'ahead', strategies: [aStrategy()] })
    Object.assign(world.serviceFaults, { silent: 1, silence: 'not-found', fillsLate: 1 })
    world.start()
    await world.runFor(HOUR - 1_000)
    await untilSigned(world, 1)
    world.chainFaults.aheadSeconds = 90
    await world.runFor(20_000)
    world.chainFaults.aheadSeconds = 0
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(world.watch.signatures).toBe(1)
    expectSound(world)
  })

  test('before its deadline has passed on chain, when a node is ahead within the tolerance', async () => {
    for (let each = 0; each < 12; each += 1) {
      const world = new World({ seed: `a little ahead ${each}`, strategies: [aStrategy()] })
      world.serviceFaults.neverFills = 1
      world.start()
      await world.runFor(HOUR - 1_000)
      await untilSigned(world, 1)
      world.chainFaults.aheadSeconds = 5
      const [recorded] = recordedPermits(world.disk.events())
      if (recorded === undefined) throw new Error('no permit is on record')
      await untilEvent(world, 'authorization-dead')
      expect([each, world.ledger.isDead(recorded.permit)]).toEqual([each, true])
    }
  })

  test('before the block after its deadline reaches the configured finality depth', async () => {
    const world = new World({
      seed: 'deep death',
      strategies: [aStrategy()],
      rule: { finality: 30 },
    })
    world.serviceFaults.neverFills = 1
    world.start()
    await world.runFor(HOUR - 1_000)
    await untilSigned(world, 1)
    await world.runFor(100_000)
    expect(eventTypes(world)).not.toContain('authorization-dead')
    await world.runFor(MINUTE)
    expect(eventTypes(world)).toContain('authorization-dead')
    expectSound(world)
  })

  test('before a second node has reached its deadline', async () => {
    const world = await signed({ seed: 'behind', rule: { agree: 2 } })
    Object.assign(world.otherNodes[0] ?? {}, { lagSeconds: 100 })
    await world.runFor(2 * MINUTE)
    const dead = world.disk.events().find(({ type }) => type === 'authorization-dead')
    if (dead !== undefined) throw new Error('a node that is behind has agreed')
    await world.runFor(2 * MINUTE)
    expect(eventTypes(world)).toContain('authorization-dead')
    expectSound(world)
  })

  test('while the second node is silent, but is dead once it answers', async () => {
    const world = await signed({ seed: 'alone', rule: { agree: 2 } })
    Object.assign(world.otherNodes[0] ?? {}, { down: true })
    await world.runFor(10 * MINUTE)
    expect(eventTypes(world)).not.toContain('authorization-dead')
    expect(world.watch.signatures).toBe(1)
    Object.assign(world.otherNodes[0] ?? {}, noChainFaults())
    await world.runFor(2 * MINUTE)
    expect(eventTypes(world)).toContain('authorization-dead')
    expectSound(world)
  })

  test("while this machine's clock is before its deadline", async () => {
    const world = await signed({ seed: 'slow clock' })
    world.clock.offsetMs = -10 * MINUTE
    await world.runFor(5 * MINUTE)
    expect(eventTypes(world)).not.toContain('authorization-dead')
    world.clock.offsetMs = 0
    await world.runFor(2 * MINUTE)
    expect(eventTypes(world)).toContain('authorization-dead')
    expectSound(world)
  })
})

test('nodes that disagree about a nonce are reported, and no conclusion is drawn', async () => {
  const world = await signed({ seed: 'two answers', rule: { agree: 2 } })
  const [open] = world.state.intents.values()
  const permit = open?.venue === 'gasless' ? open.permit : undefined
  if (permit === undefined) throw new Error('no permit is open')
  const [second] = world.otherNodes
  Object.assign(second ?? {}, { down: true })
  await world.runFor(170_000)
  // The first node has not reached the block of the invalidation yet.
  world.chainFaults.lagSeconds = 90
  world.ledger.invalidateNonce(permit.owner, permit.nonce)
  await world.runFor(10_000)
  Object.assign(second ?? {}, { down: false })
  await world.runFor(MINUTE)
  expect(world.observations.some(({ type }) => type === 'nodes-disagree')).toBe(true)
  expect(eventTypes(world)).not.toContain('authorization-dead')
  world.chainFaults.lagSeconds = 0
  await world.runFor(3 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['failed permit-cancelled'])
  expectSound(world)
})

test('an invalidated nonce ends its order only once the invalidation is final', async () => {
  const world = await signed({ seed: 'cancelled', rule: { finality: 90 } })
  const [open] = world.state.intents.values()
  const permit = open?.venue === 'gasless' ? open.permit : undefined
  if (permit === undefined) throw new Error('no permit is open')
  world.ledger.invalidateNonce(permit.owner, permit.nonce)
  await world.runFor(100_000)
  expect(eventTypes(world)).not.toContain('authorization-dead')
  expect(world.state.exposures.size).toBe(1)
  await world.runFor(3 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['failed permit-cancelled'])
  expectSound(world)
})

test('a fill is final once enough nodes show it at the required depth', async () => {
  const world = new World({
    seed: 'final',
    strategies: [aStrategy()],
    rule: { finality: 5, agree: 2 },
  })
  world.otherNodes.push({ ...noChainFaults(), lagSeconds: 60 })
  world.start()
  await world.runFor(HOUR - 1_000)
  await untilEvent(world, 'slot-closed')
  await world.runFor(40_000)
  expect(eventTypes(world)).not.toContain('fills-final')
  await world.runFor(2 * MINUTE)
  expect(eventTypes(world).at(-1)).toBe('fills-final')
  expect(world.state.unfinal.size).toBe(0)
  const lags = world.observations.flatMap((event) =>
    event.type === 'finality' ? [event.lagBlocks] : [],
  )
  expect(Math.max(...lags)).toBeGreaterThanOrEqual(5)
  expectSound(world)
})

test('an order costs at most two finality reads', async () => {
  const world = new World({ seed: 'cheap', strategies: [aStrategy()], rule: { finality: 30 } })
  world.start()
  await world.runFor(5 * HOUR + 5 * MINUTE)
  const finalityReads = world.observations.filter(({ type }) => type === 'finality')
  expect(world.state.unfinal.size).toBe(0)
  expect(world.state.strategies.get('hourly')?.fills).toBe(5)
  expect(finalityReads.length).toBeLessThanOrEqual(10)
})

test('a call is not dead when only a node that is ahead reports its deadline as past', async () => {
  const world = callWorld({ seed: 'call ahead' })
  world.aggregation.faults.delayMs = 100_000
  await untilFirstSlot(world)
  await untilEvent(world, 'call-recorded')
  await world.runFor(1_000)
  world.aggregation.chainFaults.aheadSeconds = 900
  await world.runFor(MINUTE)
  world.aggregation.chainFaults.aheadSeconds = 0
  await world.runFor(10 * MINUTE)
  expect(eventTypes(world)).not.toContain('authorization-dead')
  expect(outcomes(world, 'claim')).toEqual(['filled filled'])
  expect(world.aggregation.watch.signatures).toBe(1)
  expectSound(world)
})
