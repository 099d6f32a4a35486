import { describe, expect, test } from 'vitest'
import type { Address } from '../../../src/domain/money/units.ts'
import type { RebalanceStrategy } from '../../../src/strategies/rebalance/rebalance-kind.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { Simulation, type SimulationOptions } from '../../simulation/simulation.ts'
import { USDC, WALLET, WETH, WETH_USDC } from '../../simulation/stage.ts'
import {
  aCustomStrategy,
  aSchedule,
  aStrategy,
  HOUR,
  MINUTE,
  milliWeth,
  OPEN,
  usdc,
} from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import {
  above,
  aThreshold,
  aTwap,
  ofShare,
  trailing,
} from '../../unit/strategies/decide-fixture.ts'

const schedule = aSchedule('0 * * * *', { overlap: 'skip' })
const {
  size: _,
  dips: __,
  dipWindowMs: ___,
  sell: _sell,
  buy: _buy,
  price: ____,
  ...base
} = aStrategy({
  schedule,
})

/** 50 WETH at 2,500 USDC and 100,000 USDC are about 56 % and 44 %, which is inside the band. */
const rebalance: RebalanceStrategy = {
  ...base,
  kind: 'rebalance',
  name: 'portfolio',
  targets: [
    { token: WETH, weightBps: 5_500 },
    { token: USDC, weightBps: 4_500 },
  ],
  bandBps: 500,
  to: 'target',
  quote: USDC,
  minTrade: usdc(10),
  maxCostBps: undefined,
}
const custom = aCustomStrategy({ schedule })
/** Buys WETH for 25 USDC whenever its WETH balance reads zero. */
const modules: SimulationOptions['modules'] = {
  own: ({ balances }) =>
    balances['WETH']?.amount === 0n
      ? { orders: [{ sell: 'USDC', buy: 'WETH', amount: usdc(25) }] }
      : { skip: 'it has some' },
}
const drawdown = aThreshold({
  schedule,
  limits: { ...OPEN, drawdownBps: 2_000 },
  rungs: [trailing(8_000)],
})

function unreadable(sim: Simulation, of: { balances?: Address[]; allowances?: Address[] }): void {
  Object.assign(sim.chainFaults.unreadable, of)
}

/** A strategy with a maximum lateness of five minutes. */
const briefly = aStrategy({ schedule: aSchedule('0 * * * *', { maxLatenessMs: 5 * MINUTE }) })

/** Cause of the last order's wait before its signature. */
function lastWaitReason(sim: Simulation): string | undefined {
  const waits = sim.observations.flatMap((each) =>
    each.type === 'order-waited' ? [each.reason] : [],
  )
  return waits.at(-1)
}

/** Token balances of the wallet, without ether, which pays for gas. */
function held(sim: Simulation): readonly bigint[] {
  return [sim.balance(USDC.address), sim.balance(WETH.address)]
}

describe('a failed read within a batch', () => {
  test.each<[string, Strategy, Address]>([
    ['a balanced portfolio', rebalance, USDC.address],
    ['a balanced portfolio, other token', rebalance, WETH.address],
    ["an operator's own module", custom, WETH.address],
    ['a strategy that buys a fixed amount', aStrategy({ name: 'dca', schedule }), USDC.address],
    ['a slice', aTwap({}, { startSeconds: 1_803_862_800 }), USDC.address],
    [
      'a level that sells a share',
      aThreshold({ schedule, rungs: [ofShare(above(1), 5_000)] }),
      WETH.address,
    ],
    ['a drawdown limit', drawdown, WETH.address],
    ['a drawdown limit, unsold token', drawdown, USDC.address],
  ])('skips the slot by name instead of reading zero: %s', async (_name, strategy, token) => {
    const sim = new Simulation({ seed: `unread ${strategy.name}`, strategies: [strategy], modules })
    const before = held(sim)
    unreadable(sim, { balances: [token] })
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    expect(outcomes(sim, strategy.name)).toEqual(['skipped balance-unreadable'])
    expect(held(sim)).toEqual(before)
    const { paused, memory } = sim.state.strategies.get(strategy.name) ?? {}
    expect(paused).toBeUndefined()
    // The peak of a drawdown limit must not start at a partial balance.
    expect(memory).not.toHaveProperty(['drawdown.peak'])
    const known = sim.observations.filter(
      (each) => each.type === 'wallet-balance' && each.amount === 0n,
    )
    expect(known).toEqual([])
    expectSound(sim)
  })

  test('skips the slot when it affects a feed', async () => {
    const sim = new Simulation({ seed: 'unread feed', strategies: [aStrategy()] })
    sim.chainFaults.unreadable.feeds = [WETH_USDC.feed]
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['skipped price-missing'])
    expectSound(sim)
  })

  test('is repeated right before the signature, and the order continues', async () => {
    const sim = new Simulation({
      seed: 'unread at the signature',
      strategies: [aStrategy()],
      policy: { quotesPerAttemptMax: 100 },
    })
    sim.start()
    await sim.runFor(HOUR - 1_000)
    await untilEvent(sim, 'slot-opened', 5)
    unreadable(sim, { balances: [USDC.address] })
    await sim.runFor(3_000)
    unreadable(sim, { balances: [], allowances: [USDC.address] })
    await sim.runFor(3_000)
    expect(sim.watch.signatures).toBe(0)
    unreadable(sim, { allowances: [] })
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('blocks the signature until the slot expires when it affects a balance', async () => {
    const sim = new Simulation({ seed: 'unread balance', strategies: [briefly] })
    sim.start()
    await sim.runFor(HOUR - 1_000)
    await untilEvent(sim, 'slot-opened', 5)
    unreadable(sim, { balances: [USDC.address] })
    await sim.runFor(6 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['expired too-late'])
    expect(lastWaitReason(sim)).toBe('balance-unreadable')
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })

  test('causes no approval and no signature when it affects an allowance', async () => {
    const sim = new Simulation({
      seed: 'unread allowance',
      strategies: [briefly],
      gasless: { approval: 'exact' },
    })
    sim.ledger.setAllowance(USDC.address, WALLET, 10n ** 12n)
    unreadable(sim, { allowances: [USDC.address] })
    sim.start()
    await sim.runFor(HOUR + 6 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['expired too-late'])
    expect(lastWaitReason(sim)).toBe('allowance-unreadable')
    expect(eventTypes(sim)).not.toContain('transaction-recorded')
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })
})

test('intermittent read failures skip slots and cause no wrong trade', async () => {
  const quick = aSchedule('*/5 * * * *', { overlap: 'skip' })
  const strategies = [
    { ...rebalance, schedule: quick },
    { ...custom, schedule: quick },
    aStrategy({ schedule: quick }),
    aThreshold({ schedule: quick, rungs: [ofShare(above(9_000), 5_000)] }),
  ]
  const sim = new Simulation({ seed: 'parts', strategies, modules })
  sim.chainFaults.subReadFails = 0.3
  sim.start()
  await sim.runFor(12 * HOUR)
  expect(await sim.calmDown()).toBe(true)
  // Only the strategy without a condition has bought.
  const fills = sim.state.strategies.get('hourly')?.fills ?? 0
  expect(fills).toBeGreaterThan(20)
  expect(sim.balance(USDC.address)).toBe(usdc(100_000) - BigInt(fills) * usdc(25))
  expect(sim.balance(WETH.address)).toBeGreaterThan(milliWeth(50_000))
  for (const name of ['portfolio', 'own'])
    expect(outcomes(sim, name)).toContain('skipped balance-unreadable')
  expectSound(sim)
})
