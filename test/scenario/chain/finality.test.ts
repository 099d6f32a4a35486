import { describe, expect, test } from 'vitest'
import { noChainFaults } from '../../simulation/chain/chain.ts'
import { recordedPermits } from '../../simulation/judge/watch.ts'
import { Simulation, type SimulationOptions } from '../../simulation/simulation.ts'
import { callSimulation, untilFirstSlot } from '../../support/aggregator/call-simulation.ts'
import { aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent, untilSigned } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

/** A simulation right after the signature of its first order, which is valid for a minute and never fills. */
async function signed(
  options: Partial<SimulationOptions> & { readonly seed: string },
): Promise<Simulation> {
  const sim = new Simulation({ strategies: [aStrategy()], ...options })
  if (options.rule?.agree === 2) sim.otherNodes.push(noChainFaults())
  sim.serviceFaults.neverFills = 1
  sim.start()
  await sim.runFor(HOUR - 1_000)
  await untilSigned(sim, 1)
  return sim
}

describe('a permit is not dead', () => {
  test('when only a node 90 s ahead reports its deadline as past', async () => {
    const sim = new Simulation({ seed: 'ahead', strategies: [aStrategy()] })
    Object.assign(sim.serviceFaults, { silent: 1, silence: 'not-found', fillsLate: 1 })
    sim.start()
    await sim.runFor(HOUR - 1_000)
    await untilSigned(sim, 1)
    sim.chainFaults.aheadSeconds = 90
    await sim.runFor(20_000)
    sim.chainFaults.aheadSeconds = 0
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(sim.watch.signatures).toBe(1)
    expectSound(sim)
  })

  test('before its deadline has passed on chain, when a node is ahead within the tolerance', async () => {
    for (let each = 0; each < 12; each += 1) {
      const sim = new Simulation({ seed: `a little ahead ${each}`, strategies: [aStrategy()] })
      sim.serviceFaults.neverFills = 1
      sim.start()
      await sim.runFor(HOUR - 1_000)
      await untilSigned(sim, 1)
      sim.chainFaults.aheadSeconds = 5
      const [recorded] = recordedPermits(sim.disk.events())
      if (recorded === undefined) throw new Error('no permit is on record')
      await untilEvent(sim, 'authorization-dead')
      expect([each, sim.ledger.isDead(recorded.permit)]).toEqual([each, true])
    }
  })

  test('before the block after its deadline reaches the configured finality depth', async () => {
    const sim = new Simulation({
      seed: 'deep death',
      strategies: [aStrategy()],
      rule: { finality: 30 },
    })
    sim.serviceFaults.neverFills = 1
    sim.start()
    await sim.runFor(HOUR - 1_000)
    await untilSigned(sim, 1)
    await sim.runFor(100_000)
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    await sim.runFor(MINUTE)
    expect(eventTypes(sim)).toContain('authorization-dead')
    expectSound(sim)
  })

  test('before a second node has reached its deadline', async () => {
    const sim = await signed({ seed: 'behind', rule: { agree: 2 } })
    Object.assign(sim.otherNodes[0] ?? {}, { lagSeconds: 100 })
    await sim.runFor(2 * MINUTE)
    const dead = sim.disk.events().find(({ type }) => type === 'authorization-dead')
    if (dead !== undefined) throw new Error('a node that is behind has agreed')
    await sim.runFor(2 * MINUTE)
    expect(eventTypes(sim)).toContain('authorization-dead')
    expectSound(sim)
  })

  test('while the second node is silent, but is dead once it answers', async () => {
    const sim = await signed({ seed: 'alone', rule: { agree: 2 } })
    Object.assign(sim.otherNodes[0] ?? {}, { down: true })
    await sim.runFor(10 * MINUTE)
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    expect(sim.watch.signatures).toBe(1)
    Object.assign(sim.otherNodes[0] ?? {}, noChainFaults())
    await sim.runFor(2 * MINUTE)
    expect(eventTypes(sim)).toContain('authorization-dead')
    expectSound(sim)
  })

  test("while this machine's clock is before its deadline", async () => {
    const sim = await signed({ seed: 'slow clock' })
    sim.clock.offsetMs = -10 * MINUTE
    await sim.runFor(5 * MINUTE)
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    sim.clock.offsetMs = 0
    await sim.runFor(2 * MINUTE)
    expect(eventTypes(sim)).toContain('authorization-dead')
    expectSound(sim)
  })
})

test('nodes that disagree about a nonce are reported, and no conclusion is drawn', async () => {
  const sim = await signed({ seed: 'two answers', rule: { agree: 2 } })
  const [open] = sim.state.intents.values()
  const permit = open?.venue === 'gasless' ? open.permit : undefined
  if (permit === undefined) throw new Error('no permit is open')
  const [second] = sim.otherNodes
  Object.assign(second ?? {}, { down: true })
  await sim.runFor(170_000)
  // The first node has not reached the block of the invalidation yet.
  sim.chainFaults.lagSeconds = 90
  sim.ledger.invalidateNonce(permit.owner, permit.nonce)
  await sim.runFor(10_000)
  Object.assign(second ?? {}, { down: false })
  await sim.runFor(MINUTE)
  expect(sim.observations.some(({ type }) => type === 'nodes-disagree')).toBe(true)
  expect(eventTypes(sim)).not.toContain('authorization-dead')
  sim.chainFaults.lagSeconds = 0
  await sim.runFor(3 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['failed permit-cancelled'])
  expectSound(sim)
})

test('an invalidated nonce ends its order only once the invalidation is final', async () => {
  const sim = await signed({ seed: 'cancelled', rule: { finality: 90 } })
  const [open] = sim.state.intents.values()
  const permit = open?.venue === 'gasless' ? open.permit : undefined
  if (permit === undefined) throw new Error('no permit is open')
  sim.ledger.invalidateNonce(permit.owner, permit.nonce)
  await sim.runFor(100_000)
  expect(eventTypes(sim)).not.toContain('authorization-dead')
  expect(sim.state.exposures.size).toBe(1)
  await sim.runFor(3 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['failed permit-cancelled'])
  expectSound(sim)
})

test('a fill is final once enough nodes show it at the required depth', async () => {
  const sim = new Simulation({
    seed: 'final',
    strategies: [aStrategy()],
    rule: { finality: 5, agree: 2 },
  })
  sim.otherNodes.push({ ...noChainFaults(), lagSeconds: 60 })
  sim.start()
  await sim.runFor(HOUR - 1_000)
  await untilEvent(sim, 'slot-closed')
  await sim.runFor(40_000)
  expect(eventTypes(sim)).not.toContain('fills-final')
  await sim.runFor(2 * MINUTE)
  expect(eventTypes(sim).at(-1)).toBe('fills-final')
  expect(sim.state.unfinal.size).toBe(0)
  const lags = sim.observations.flatMap((event) =>
    event.type === 'finality' ? [event.lagBlocks] : [],
  )
  expect(Math.max(...lags)).toBeGreaterThanOrEqual(5)
  expectSound(sim)
})

test('an order costs at most two finality reads', async () => {
  const sim = new Simulation({ seed: 'cheap', strategies: [aStrategy()], rule: { finality: 30 } })
  sim.start()
  await sim.runFor(5 * HOUR + 5 * MINUTE)
  const finalityReads = sim.observations.filter(({ type }) => type === 'finality')
  expect(sim.state.unfinal.size).toBe(0)
  expect(sim.state.strategies.get('hourly')?.fills).toBe(5)
  expect(finalityReads.length).toBeLessThanOrEqual(10)
})

test('a call is not dead when only a node that is ahead reports its deadline as past', async () => {
  const sim = callSimulation({ seed: 'call ahead' })
  sim.aggregation.faults.delayMs = 100_000
  await untilFirstSlot(sim)
  await untilEvent(sim, 'call-recorded')
  await sim.runFor(1_000)
  sim.aggregation.chainFaults.aheadSeconds = 900
  await sim.runFor(MINUTE)
  sim.aggregation.chainFaults.aheadSeconds = 0
  await sim.runFor(10 * MINUTE)
  expect(eventTypes(sim)).not.toContain('authorization-dead')
  expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
  expect(sim.aggregation.watch.signatures).toBe(1)
  expectSound(sim)
})
