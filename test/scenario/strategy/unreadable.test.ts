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

/** A strategy with a maximum lateness of five minutes. */
const briefly = aStrategy({ schedule: aSchedule('0 * * * *', { maxLatenessMs: 5 * MINUTE }) })

/** Cause of the last order's wait before its signature. */
function lastWaitReason(world: World): string | undefined {
  const waits = world.observations.flatMap((each) =>
    each.type === 'order-waited' ? [each.reason] : [],
  )
  return waits.at(-1)
}

/** Token balances of the wallet, without ether, which pays for gas. */
function held(world: World): readonly bigint[] {
  return [world.balance(USDC.address), world.balance(WETH.address)]
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
    const world = new World({ seed: `unread ${strategy.name}`, strategies: [strategy], modules })
    const before = held(world)
    unreadable(world, { balances: [token] })
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, strategy.name)).toEqual(['skipped balance-unreadable'])
    expect(held(world)).toEqual(before)
    const { paused, memory } = world.state.strategies.get(strategy.name) ?? {}
    expect(paused).toBeUndefined()
    // The peak of a drawdown limit must not start at a partial balance.
    expect(memory).not.toHaveProperty(['drawdown.peak'])
    const known = world.observations.filter(
      (each) => each.type === 'wallet-balance' && each.amount === 0n,
    )
    expect(known).toEqual([])
    expectSound(world)
  })

  test('skips the slot when it affects a feed', async () => {
    const world = new World({ seed: 'unread feed', strategies: [aStrategy()] })
    world.chainFaults.unreadable.feeds = [WETH_USDC.feed]
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['skipped price-missing'])
    expectSound(world)
  })

  test('is repeated right before the signature, and the order continues', async () => {
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

  test('blocks the signature until the slot expires when it affects a balance', async () => {
    const world = new World({ seed: 'unread balance', strategies: [briefly] })
    world.start()
    await world.runFor(HOUR - 1_000)
    await untilEvent(world, 'slot-opened', 5)
    unreadable(world, { balances: [USDC.address] })
    await world.runFor(6 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['expired too-late'])
    expect(lastWaitReason(world)).toBe('balance-unreadable')
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('causes no approval and no signature when it affects an allowance', async () => {
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
    expect(lastWaitReason(world)).toBe('allowance-unreadable')
    expect(eventTypes(world)).not.toContain('transaction-recorded')
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
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
  const world = new World({ seed: 'parts', strategies, modules })
  world.chainFaults.subReadFails = 0.3
  world.start()
  await world.runFor(12 * HOUR)
  expect(await world.calmDown()).toBe(true)
  // Only the strategy without a condition has bought.
  const fills = world.state.strategies.get('hourly')?.fills ?? 0
  expect(fills).toBeGreaterThan(20)
  expect(world.balance(USDC.address)).toBe(usdc(100_000) - BigInt(fills) * usdc(25))
  expect(world.balance(WETH.address)).toBeGreaterThan(milliWeth(50_000))
  for (const name of ['portfolio', 'own'])
    expect(outcomes(world, name)).toContain('skipped balance-unreadable')
  expectSound(world)
})
