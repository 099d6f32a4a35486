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

/** Rule T1: what the files as they are now do not say is not signed for the first time, however much it waited. */

/** One hour after worlds begin. */
const FIRST_SLOT = Date.UTC(2027, 2, 1, 1) / 1000

async function reload(world: World, strategies: readonly Strategy[]): Promise<void> {
  const { account } = world
  world.strategies = strategies
  await Promise.all([world.control.reload({ strategies, account }), world.runFor(5_000)])
}

/** A world whose order of the first slot has been decided, and waits for a service that is silent. */
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

describe('an order that waits while its file is changed', () => {
  const CHANGES: readonly (readonly [string, Parameters<typeof aStrategy>[0]])[] = [
    ['amount', { size: { side: 'sell', amount: usdc(1) } }],
    ['side', { size: { side: 'buy', amount: baseUnits(10n ** 16n) } }],
    ['slippage', { slippageBps: 1 }],
    ['widest deviation', { maxDeviationBps: 1 }],
    ['highest price', { price: { min: undefined, max: { num: 1n, den: 10n ** 12n } } }],
    ['form of what it buys', { buy: ETH }],
  ]

  test.each(CHANGES)('is dropped at once for another %s', async (_, by) => {
    const world = await waiting(aStrategy())
    await reload(world, [aStrategy(by)])
    await world.runFor(30 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['skipped strategy-changed'])
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('goes on where nothing of its terms has changed', async () => {
    const world = await waiting(aStrategy())
    const { limits } = aStrategy()
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: 2 * HOUR, missed: 'skip' })
    const others = { schedule, limits: { ...limits, cooldownMs: 1 }, file: 'elsewhere.yaml' }
    await reload(world, [aStrategy(others)])
    await world.runFor(15 * MINUTE)
    expect(outcomes(world, 'hourly')[0]).toBe('filled filled')
    expectSound(world)
  })

  test('is dropped as a slice of a program that has other slices now', async () => {
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

describe('an order of a module', () => {
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

  test('goes on under the module that decided it', async () => {
    const world = await decided()
    await reload(world, [aCustomStrategy()])
    await world.runFor(15 * MINUTE)
    expect(outcomes(world, 'own')).toEqual(['filled filled'])
  })

  test('is dropped for other params', async () => {
    const world = await decided()
    await reload(world, [aCustomStrategy({ params: { amount: '1' } })])
    await world.runFor(15 * MINUTE)
    expect(outcomes(world, 'own')).toEqual(['skipped strategy-changed'])
    expect(world.watch.signatures).toBe(0)
  })

  test('is dropped for another text of the module', async () => {
    const world = await decided()
    world.modules.set('own', () => ({ orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(1) }] }))
    await reload(world, [aCustomStrategy()])
    await world.runFor(15 * MINUTE)
    expect(outcomes(world, 'own')).toEqual(['skipped strategy-changed'])
    expect(world.watch.signatures).toBe(0)
  })
})

test('ETH that was wrapped for an order which is dropped is unwrapped again', async () => {
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

test('an order that was sent, and that nobody has answered for, is sent again after its file has changed', async () => {
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

  test.each(OTHERS)('that was decided is dropped for another %s', async (_, by) => {
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

  /** A call that is on record, and waits for its turn to be given to the service. */
  async function inLine(aggregator: Partial<AggregatorSettings>): Promise<World> {
    const world = callWorld({ seed: 'changed in line', aggregator })
    world.queueDelaysMs.sendRawTransaction = 8_000
    await untilFirstSlot(world)
    await untilEvent(world, 'call-recorded')
    await reload(world, [aCallStrategy({ value: baseUnits(0n) })])
    return world
  }

  test('that is on record is not sent by either route, and ends with its deadline', async () => {
    const world = await inLine({})
    await world.runFor(30 * MINUTE)
    expect(eventTypes(world)).not.toContain('call-signed')
    expect(outcomes(world, 'claim')[0]).toBe('skipped strategy-changed')
    expect(executed(world)).toBe(0)
    expectSound(world)
  })

  test('that trusts the service, and is on record, is taken back: nothing else would ever end it', async () => {
    const world = await inLine({ proposer: 'trusted' })
    await world.runFor(5 * MINUTE)
    expect(eventTypes(world)).toContain('authorization-withdrawn')
    expect(outcomes(world, 'claim')[0]).toBe('skipped strategy-changed')
    expect(executed(world)).toBe(0)
    expectSound(world)
  })

  test('that the service has, or may have, goes on by either route', async () => {
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
