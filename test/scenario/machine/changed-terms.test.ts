import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { AggregatorSettings } from '../../../src/domain/settings.ts'
import type { CallStrategy } from '../../../src/strategies/call/call-kind.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { World } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import {
  aCallStrategy,
  callWorld,
  executed,
  routes,
  untilFirstSlot,
} from '../../support/aggregator/call-world.ts'
import {
  aCustomStrategy,
  aSchedule,
  aStrategy,
  ETH,
  HOUR,
  MINUTE,
  usdc,
} from '../../support/builders.ts'
import { aTwap } from '../../support/market-view.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent, untilObserved, untilSigned } from '../../support/worlds/run-until.ts'

/** Rule T1: an order is signed for the first time only if the current files still contain its terms. */

/** Slot one hour after the start of a simulation, epoch seconds. */
const FIRST_SLOT = Date.UTC(2027, 2, 1, 1) / 1000

async function reload(world: World, strategies: readonly Strategy[]): Promise<void> {
  const { account } = world
  world.strategies = strategies
  await Promise.all([world.control.reload({ strategies, account }), world.runFor(5_000)])
}

/** A world whose first order is decided and waits for a silent service. */
async function waiting(strategy: Strategy): Promise<World> {
  const world = new World({ seed: 'changed terms', strategies: [strategy] })
  world.start()
  await world.runFor(HOUR - 1_000)
  world.loseServiceFor(20 * MINUTE)
  await world.runFor(10 * MINUTE)
  expect(eventTypes(world)).toContain('slot-opened')
  expect(world.watch.signatures).toBe(0)
  return world
}

describe('a waiting order whose file changes', () => {
  const CHANGES: readonly (readonly [string, Parameters<typeof aStrategy>[0]])[] = [
    ['amount', { size: { side: 'sell', amount: usdc(1) } }],
    ['side', { size: { side: 'buy', amount: baseUnits(10n ** 16n) } }],
    ['slippage', { slippageBps: 1 }],
    ['widest deviation', { maxDeviationBps: 1 }],
    ['highest price', { price: { min: undefined, max: { num: 1n, den: 10n ** 12n } } }],
    ['form of the bought token', { buy: ETH }],
  ]

  test.each(CHANGES)('is dropped at once when the %s changes', async (_, by) => {
    const world = await waiting(aStrategy())
    await reload(world, [aStrategy(by)])
    await world.runFor(30 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['skipped strategy-changed'])
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('continues when its terms stay the same', async () => {
    const world = await waiting(aStrategy())
    const { limits } = aStrategy()
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: 2 * HOUR, missed: 'skip' })
    const others = { schedule, limits: { ...limits, cooldownMs: 1 }, file: 'elsewhere.yaml' }
    await reload(world, [aStrategy(others)])
    await world.runFor(15 * MINUTE)
    expect(outcomes(world, 'hourly')[0]).toBe('filled filled')
    expectSound(world)
  })

  test('is dropped as a TWAP slice when the number of slices changes', async () => {
    const slices = (count: number) => ({
      ...aSchedule('0 * * * *'),
      ...({ type: 'interval', everySeconds: 3_600, count, startSeconds: FIRST_SLOT } as const),
    })
    const world = await waiting(aTwap({ schedule: slices(10) }))
    await reload(world, [aTwap({ schedule: slices(20) })])
    await world.runFor(MINUTE)
    expect(world.watch.signatures).toBe(0)
    expect(outcomes(world, 'twap')[0]).toBe('skipped strategy-changed')
  })
})

describe('a waiting order of a module', () => {
  async function decided(): Promise<World> {
    const modules = { own: () => ({ orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(25) }] }) }
    const world = new World({ seed: 'changed module', strategies: [aCustomStrategy()], modules })
    world.start()
    await world.runFor(HOUR - 1_000)
    world.loseServiceFor(20 * MINUTE)
    await world.runFor(10 * MINUTE)
    expect(eventTypes(world)).toContain('slot-opened')
    return world
  }

  test('continues with the same module', async () => {
    const world = await decided()
    await reload(world, [aCustomStrategy()])
    await world.runFor(15 * MINUTE)
    expect(outcomes(world, 'own')).toEqual(['filled filled'])
  })

  test('is dropped when the params change', async () => {
    const world = await decided()
    await reload(world, [aCustomStrategy({ params: { amount: '1' } })])
    await world.runFor(15 * MINUTE)
    expect(outcomes(world, 'own')).toEqual(['skipped strategy-changed'])
    expect(world.watch.signatures).toBe(0)
  })

  test("is dropped when the module's source changes", async () => {
    const world = await decided()
    world.modules.set('own', () => ({ orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(1) }] }))
    await reload(world, [aCustomStrategy()])
    await world.runFor(15 * MINUTE)
    expect(outcomes(world, 'own')).toEqual(['skipped strategy-changed'])
    expect(world.watch.signatures).toBe(0)
  })
})

test('ETH wrapped for a dropped order is unwrapped', async () => {
  const selling = {
    sell: ETH,
    buy: { token: USDC, native: false },
    price: { min: undefined, max: undefined },
  }
  const order = aStrategy({ ...selling, size: { side: 'sell', amount: baseUnits(10n ** 16n) } })
  const world = await waiting(order)
  expect(eventTypes(world)).toContain('transaction-ended')
  await reload(world, [{ ...order, slippageBps: 1 }])
  await world.runFor(15 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['skipped strategy-changed'])
  expect(eventTypes(world).filter((type) => type === 'transaction-ended')).toHaveLength(2)
  expectSound(world)
})

test('a submitted order without an answer is submitted again after its file changes', async () => {
  const world = new World({ seed: 'changed after the signature', strategies: [aStrategy()] })
  world.start()
  world.queueDelayMs = 5_000
  await world.runFor(HOUR)
  await untilObserved(world, 'quote-verified')
  world.serviceFaults.failsBefore = 1
  await untilSigned(world, 1)
  await reload(world, [aStrategy({ size: { side: 'sell', amount: usdc(1) } })])
  world.serviceFaults.failsBefore = 0
  await world.runFor(10 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
  expectSound(world)
})

describe('a call', () => {
  const OTHERS: readonly (readonly [string, Partial<CallStrategy>])[] = [
    ['value', { value: baseUnits(0n) }],
    ['calldata', { calldata: '0x11111111' }],
    ['gas limit', { gasLimit: 190_000n }],
  ]

  test.each(OTHERS)('is dropped after its decision when the %s changes', async (_, by) => {
    const world = callWorld({ seed: 'changed call' })
    await untilFirstSlot(world)
    await untilEvent(world, 'slot-opened')
    world.aggregation.chainFaults.down = true
    await world.runFor(5 * MINUTE)
    await reload(world, [aCallStrategy(by)])
    world.aggregation.chainFaults.down = false
    await world.runFor(30 * MINUTE)
    expect(outcomes(world, 'claim')[0]).toBe('skipped strategy-changed')
    expect(executed(world)).toBe(0)
  })

  /** A world whose call is recorded and queued for submission. */
  async function withQueuedCall(aggregator: Partial<AggregatorSettings>): Promise<World> {
    const world = callWorld({ seed: 'changed in the queue', aggregator })
    world.queueDelaysMs.sendRawTransaction = 8_000
    await untilFirstSlot(world)
    await untilEvent(world, 'call-recorded')
    await reload(world, [aCallStrategy({ value: baseUnits(0n) })])
    return world
  }

  test('is sent by neither route after its record, and ends at its deadline', async () => {
    const world = await withQueuedCall({})
    await world.runFor(30 * MINUTE)
    expect(eventTypes(world)).not.toContain('call-signed')
    expect(outcomes(world, 'claim')[0]).toBe('skipped strategy-changed')
    expect(executed(world)).toBe(0)
    expectSound(world)
  })

  test('is withdrawn after its record when it uses the trusted proposer, since it has no deadline', async () => {
    const world = await withQueuedCall({ proposer: 'trusted' })
    await world.runFor(5 * MINUTE)
    expect(eventTypes(world)).toContain('authorization-withdrawn')
    expect(outcomes(world, 'claim')[0]).toBe('skipped strategy-changed')
    expect(executed(world)).toBe(0)
    expectSound(world)
  })

  test('continues by either route once the service may have it', async () => {
    const world = callWorld({ seed: 'changed and out' })
    await untilFirstSlot(world)
    world.aggregation.faults.down = true
    await untilEvent(world, 'call-signed')
    await reload(world, [aCallStrategy({ value: baseUnits(0n) })])
    await world.runFor(30 * MINUTE)
    expect(outcomes(world, 'claim')[0]).toBe('filled filled')
    expect(routes(world)[0]).toBe('direct')
    expectSound(world)
  })
})
