import { describe, expect, test } from 'vitest'
import type { Address } from '../../../src/domain/money/units.ts'
import type { RebalanceStrategy } from '../../../src/strategies/rebalance/rebalance-kind.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { World, type WorldOptions } from '../../simulation/simulation.ts'
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
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'
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

/** 50 WETH at 2,500 and 100,000 USDC are some 56 and 44 of a hundred: nearly balanced. */
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
/** Buys WETH for 25 USDC whenever it believes that it has none. */
const modules: WorldOptions['modules'] = {
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

function unreadable(world: World, of: { balances?: Address[]; allowances?: Address[] }): void {
  Object.assign(world.chainFaults.unreadable, of)
}

/** It may begin within five minutes. */
const briefly = aStrategy({ schedule: aSchedule('0 * * * *', { maxLatenessMs: 5 * MINUTE }) })

/** What the last order waited for before anything was signed. */
function lastTrouble(world: World): string | undefined {
  const waits = world.observations.flatMap((each) =>
    each.type === 'order-waited' ? [each.reason] : [],
  )
  return waits.at(-1)
}

/** What the wallet holds besides the ether that its gas took. */
function held(world: World): readonly bigint[] {
  return [world.balance(USDC.address), world.balance(WETH.address)]
}

describe('one read of a batch that fails', () => {
  test.each<[string, Strategy, Address]>([
    ['a balanced portfolio', rebalance, USDC.address],
    ['a portfolio, the other way round', rebalance, WETH.address],
    ["an operator's own module", custom, WETH.address],
    ['a strategy that buys a fixed amount', aStrategy({ name: 'dca', schedule }), USDC.address],
    ['a slice', aTwap({}, { startSeconds: 1_803_862_800 }), USDC.address],
    [
      'a level that sells a share',
      aThreshold({ schedule, rungs: [ofShare(above(1), 5_000)] }),
      WETH.address,
    ],
    ['a drawdown limit', drawdown, WETH.address],
    ['a drawdown limit, of what is not sold', drawdown, USDC.address],
  ])('is no zero to %s: the slot is skipped by name', async (_name, strategy, token) => {
    const world = new World({ seed: `unread ${strategy.name}`, strategies: [strategy], modules })
    const before = held(world)
    unreadable(world, { balances: [token] })
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, strategy.name)).toEqual(['skipped balance-unreadable'])
    expect(held(world)).toEqual(before)
    const { paused, memory } = world.state.strategies.get(strategy.name) ?? {}
    expect(paused).toBeUndefined()
    // A drawdown's highest value does not begin at a part of what there is.
    expect(memory).not.toHaveProperty(['drawdown.peak'])
    const known = world.observations.filter(
      (each) => each.type === 'wallet-balance' && each.amount === 0n,
    )
    expect(known).toEqual([])
    expectSound(world)
  })

  test('of a feed skips the slot as well', async () => {
    const world = new World({ seed: 'unread feed', strategies: [aStrategy()] })
    world.chainFaults.unreadable.feeds = [WETH_USDC.feed]
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['skipped price-missing'])
    expectSound(world)
  })

  test('right before the signature is read again, and the order goes on', async () => {
    const world = new World({
      seed: 'unread at the signature',
      strategies: [aStrategy()],
      policy: { quotesPerAttemptMax: 100 },
    })
    world.start()
    await world.runFor(HOUR - 1_000)
    await untilEvent(world, 'slot-opened', 5)
    unreadable(world, { balances: [USDC.address] })
    await world.runFor(3_000)
    unreadable(world, { balances: [], allowances: [USDC.address] })
    await world.runFor(3_000)
    expect(world.watch.signatures).toBe(0)
    unreadable(world, { allowances: [] })
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('of a balance for good signs nothing', async () => {
    const world = new World({ seed: 'unread balance', strategies: [briefly] })
    world.start()
    await world.runFor(HOUR - 1_000)
    await untilEvent(world, 'slot-opened', 5)
    unreadable(world, { balances: [USDC.address] })
    await world.runFor(6 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['expired too-late'])
    expect(lastTrouble(world)).toBe('balance-unreadable')
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('of an allowance neither approves nor signs, and takes no allowance away', async () => {
    const world = new World({
      seed: 'unread allowance',
      strategies: [briefly],
      gasless: { approval: 'exact' },
    })
    world.ledger.setAllowance(USDC.address, WALLET, 10n ** 12n)
    unreadable(world, { allowances: [USDC.address] })
    world.start()
    await world.runFor(HOUR + 6 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['expired too-late'])
    expect(lastTrouble(world)).toBe('allowance-unreadable')
    expect(eventTypes(world)).not.toContain('transaction-recorded')
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })
})

test('reads that fail here and there cost slots, and never money', async () => {
  const quick = aSchedule('*/5 * * * *', { overlap: 'skip' })
  const strategies = [
    { ...rebalance, schedule: quick },
    { ...custom, schedule: quick },
    aStrategy({ schedule: quick }),
    aThreshold({ schedule: quick, rungs: [ofShare(above(9_000), 5_000)] }),
  ]
  const world = new World({ seed: 'parts', strategies, modules })
  world.chainFaults.subReadFails = 0.3
  world.start()
  await world.runFor(12 * HOUR)
  expect(await world.calmDown()).toBe(true)
  // All that was ever bought is what the one strategy without a condition bought.
  const fills = world.state.strategies.get('hourly')?.fills ?? 0
  expect(fills).toBeGreaterThan(20)
  expect(world.balance(USDC.address)).toBe(usdc(100_000) - BigInt(fills) * usdc(25))
  expect(world.balance(WETH.address)).toBeGreaterThan(milliWeth(50_000))
  for (const name of ['portfolio', 'own'])
    expect(outcomes(world, name)).toContain('skipped balance-unreadable')
  expectSound(world)
})
