import { describe, expect, test } from 'vitest'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { AggregatorSettings } from '../../../src/domain/settings.ts'
import type { CallStrategy } from '../../../src/strategies/call/call-kind.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { USDC } from '../../simulation/stage.ts'
import {
  aCallStrategy,
  callSimulation,
  executed,
  routes,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
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
import { untilEvent, untilObserved, untilSigned } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

/** Rule T1: an order is signed for the first time only if the current files still contain its terms. */

/** Slot one hour after the start of a simulation, epoch seconds. */
const FIRST_SLOT = Date.UTC(2027, 2, 1, 1) / 1000

async function reload(sim: Simulation, strategies: readonly Strategy[]): Promise<void> {
  const { account } = sim
  sim.strategies = strategies
  await Promise.all([sim.control.reload({ strategies, account }), sim.runFor(5_000)])
}

/** A simulation whose first order is decided and waits for a silent service. */
async function waiting(strategy: Strategy): Promise<Simulation> {
  const sim = new Simulation({ seed: 'changed terms', strategies: [strategy] })
  sim.start()
  await sim.runFor(HOUR - 1_000)
  sim.loseServiceFor(20 * MINUTE)
  await sim.runFor(10 * MINUTE)
  expect(eventTypes(sim)).toContain('slot-opened')
  expect(sim.watch.signatures).toBe(0)
  return sim
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
    const sim = await waiting(aStrategy())
    await reload(sim, [aStrategy(by)])
    await sim.runFor(30 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['skipped strategy-changed'])
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })

  test('continues when its terms stay the same', async () => {
    const sim = await waiting(aStrategy())
    const { limits } = aStrategy()
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: 2 * HOUR, missed: 'skip' })
    const others = { schedule, limits: { ...limits, cooldownMs: 1 }, file: 'elsewhere.yaml' }
    await reload(sim, [aStrategy(others)])
    await sim.runFor(15 * MINUTE)
    expect(outcomes(sim, 'hourly')[0]).toBe('filled filled')
    expectSound(sim)
  })

  test('is dropped as a TWAP slice when the number of slices changes', async () => {
    const slices = (count: number) => ({
      ...aSchedule('0 * * * *'),
      ...({ type: 'interval', everySeconds: 3_600, count, startSeconds: FIRST_SLOT } as const),
    })
    const sim = await waiting(aTwap({ schedule: slices(10) }))
    await reload(sim, [aTwap({ schedule: slices(20) })])
    await sim.runFor(MINUTE)
    expect(sim.watch.signatures).toBe(0)
    expect(outcomes(sim, 'twap')[0]).toBe('skipped strategy-changed')
  })
})

describe('a waiting order of a module', () => {
  async function decided(): Promise<Simulation> {
    const modules = { own: () => ({ orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(25) }] }) }
    const sim = new Simulation({ seed: 'changed module', strategies: [aCustomStrategy()], modules })
    sim.start()
    await sim.runFor(HOUR - 1_000)
    sim.loseServiceFor(20 * MINUTE)
    await sim.runFor(10 * MINUTE)
    expect(eventTypes(sim)).toContain('slot-opened')
    return sim
  }

  test('continues with the same module', async () => {
    const sim = await decided()
    await reload(sim, [aCustomStrategy()])
    await sim.runFor(15 * MINUTE)
    expect(outcomes(sim, 'own')).toEqual(['filled filled'])
  })

  test('is dropped when the params change', async () => {
    const sim = await decided()
    await reload(sim, [aCustomStrategy({ params: { amount: '1' } })])
    await sim.runFor(15 * MINUTE)
    expect(outcomes(sim, 'own')).toEqual(['skipped strategy-changed'])
    expect(sim.watch.signatures).toBe(0)
  })

  test("is dropped when the module's source changes", async () => {
    const sim = await decided()
    sim.modules.set('own', () => ({ orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(1) }] }))
    await reload(sim, [aCustomStrategy()])
    await sim.runFor(15 * MINUTE)
    expect(outcomes(sim, 'own')).toEqual(['skipped strategy-changed'])
    expect(sim.watch.signatures).toBe(0)
  })
})

test('ETH wrapped for a dropped order is unwrapped', async () => {
  const selling = {
    sell: ETH,
    buy: { token: USDC, native: false },
    price: { min: undefined, max: undefined },
  }
  const order = aStrategy({ ...selling, size: { side: 'sell', amount: baseUnits(10n ** 16n) } })
  const sim = await waiting(order)
  expect(eventTypes(sim)).toContain('transaction-ended')
  await reload(sim, [{ ...order, slippageBps: 1 }])
  await sim.runFor(15 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['skipped strategy-changed'])
  expect(eventTypes(sim).filter((type) => type === 'transaction-ended')).toHaveLength(2)
  expectSound(sim)
})

test('a submitted order without an answer is submitted again after its file changes', async () => {
  const sim = new Simulation({ seed: 'changed after the signature', strategies: [aStrategy()] })
  sim.start()
  sim.queueDelayMs = 5_000
  await sim.runFor(HOUR)
  await untilObserved(sim, 'quote-verified')
  sim.serviceFaults.failsBefore = 1
  await untilSigned(sim, 1)
  await reload(sim, [aStrategy({ size: { side: 'sell', amount: usdc(1) } })])
  sim.serviceFaults.failsBefore = 0
  await sim.runFor(10 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
  expectSound(sim)
})

describe('a call', () => {
  const OTHERS: readonly (readonly [string, Partial<CallStrategy>])[] = [
    ['value', { value: baseUnits(0n) }],
    ['calldata', { calldata: '0x11111111' }],
    ['gas limit', { gasLimit: 190_000n }],
  ]

  test.each(OTHERS)('is dropped after its decision when the %s changes', async (_, by) => {
    const sim = callSimulation({ seed: 'changed call' })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'slot-opened')
    sim.aggregation.chainFaults.down = true
    await sim.runFor(5 * MINUTE)
    await reload(sim, [aCallStrategy(by)])
    sim.aggregation.chainFaults.down = false
    await sim.runFor(30 * MINUTE)
    expect(outcomes(sim, 'claim')[0]).toBe('skipped strategy-changed')
    expect(executed(sim)).toBe(0)
  })

  /** A simulation whose call is recorded and queued for submission. */
  async function withQueuedCall(aggregator: Partial<AggregatorSettings>): Promise<Simulation> {
    const sim = callSimulation({ seed: 'changed in the queue', aggregator })
    sim.queueDelaysMs.sendRawTransaction = 8_000
    await untilFirstSlot(sim)
    await untilEvent(sim, 'call-recorded')
    await reload(sim, [aCallStrategy({ value: baseUnits(0n) })])
    return sim
  }

  test('is sent by neither route after its record, and ends at its deadline', async () => {
    const sim = await withQueuedCall({})
    await sim.runFor(30 * MINUTE)
    expect(eventTypes(sim)).not.toContain('call-signed')
    expect(outcomes(sim, 'claim')[0]).toBe('skipped strategy-changed')
    expect(executed(sim)).toBe(0)
    expectSound(sim)
  })

  test('is withdrawn after its record when it uses the trusted proposer, since it has no deadline', async () => {
    const sim = await withQueuedCall({ proposer: 'trusted' })
    await sim.runFor(5 * MINUTE)
    expect(eventTypes(sim)).toContain('authorization-withdrawn')
    expect(outcomes(sim, 'claim')[0]).toBe('skipped strategy-changed')
    expect(executed(sim)).toBe(0)
    expectSound(sim)
  })

  test('continues by either route once the service may have it', async () => {
    const sim = callSimulation({ seed: 'changed and out' })
    await untilFirstSlot(sim)
    sim.aggregation.faults.down = true
    await untilEvent(sim, 'call-signed')
    await reload(sim, [aCallStrategy({ value: baseUnits(0n) })])
    await sim.runFor(30 * MINUTE)
    expect(outcomes(sim, 'claim')[0]).toBe('filled filled')
    expect(routes(sim)[0]).toBe('direct')
    expectSound(sim)
  })
})
