import { describe, expect, test } from 'vitest'
import { ETHER as ETHER_TOKEN } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { World } from '../../simulation/simulation.ts'
import { PERMIT2, SIMULATED_CHAIN_ID, USDC, WALLET, WETH } from '../../simulation/stage.ts'
import { aCallStrategy, callWorld, executed } from '../../support/aggregator/call-world.ts'
import { aSchedule, aStrategy, capOf, ETH, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const STRANGER = `0x${'5e'.repeat(20)}` as const
const ETHER = 10n ** 18n

/** A world that lost power with an unsigned permit on record, and stays down. */
async function diedAtTheRecord(strategies: readonly Strategy[] = [aStrategy()]): Promise<World> {
  for (let append = 1; append < 20; append += 1) {
    const world = new World({ seed: 'died at the record', strategies })
    world.restartAfterMs = 1_000 * HOUR
    world.disk.crashAt = { append, when: 'after' }
    world.start()
    await world.runFor(HOUR + MINUTE)
    if (eventTypes(world).at(-1) === 'permit-recorded' && world.watch.signatures === 0) return world
  }
  throw new Error('no permit came')
}

async function startAgain(world: World): Promise<void> {
  world.disk.crashAt = undefined
  world.start()
  await world.runFor(10 * MINUTE)
}

describe('a recorded permit left unsigned by a crash', () => {
  test('is signed and sent by the next daemon when nothing has changed', async () => {
    const world = await diedAtTheRecord()
    world.clock.offsetMs = 0
    world.disk.crashAt = undefined
    world.start()
    await world.runFor(10 * MINUTE)
    expect(world.watch.signatures).toBeGreaterThan(0)
    expectSound(world)
  })

  const CHANGES: readonly (readonly [string, (world: World) => void])[] = [
    [
      'the strategy is gone',
      (world) => {
        world.strategies = []
      },
    ],
    [
      'the strategy is disabled',
      (world) => {
        world.strategies = [aStrategy({ enabled: false })]
      },
    ],
    [
      'the strategy sells less',
      (world) => {
        world.strategies = [aStrategy({ size: { side: 'sell', amount: usdc(1) } })]
      },
    ],
    [
      "the strategy's price is bounded",
      (world) => {
        const max = { num: 1n, den: 10n ** 12n }
        world.strategies = [aStrategy({ price: { min: undefined, max } })]
      },
    ],
    [
      'the spender is no longer named',
      (world) => void Object.assign(world.gasless, { spenders: [STRANGER] }),
    ],
    [
      'the files name another Permit2',
      (world) => void Object.assign(world.gasless, { permit2: STRANGER }),
    ],
    [
      "the account's cap has shrunk",
      (world) => void Object.assign(world.account, { perDay: capOf(USDC, usdc(10)) }),
    ],
    [
      "the strategy's own cap has shrunk",
      (world) => {
        const limits = { ...aStrategy().limits, perOrder: capOf(USDC, usdc(10)) }
        world.strategies = [aStrategy({ limits })]
      },
    ],
    [
      'everything is halted outside the journal',
      (world) => {
        world.blocked = 'a file says so'
      },
    ],
  ]

  test.each(CHANGES)('is not signed when %s', async (_, change) => {
    const world = await diedAtTheRecord()
    change(world)
    await startAgain(world)
    expect(world.watch.signatures).toBe(0)
    expect(eventTypes(world)).toContain('authorization-dead')
    expectSound(world)
  })

  test('is not signed after the price moved away, and its order continues with another quote', async () => {
    const world = await diedAtTheRecord()
    world.market.setPrice(1_250n)
    await startAgain(world)
    const types = eventTypes(world)
    expect(types.filter((type) => type === 'permit-recorded')).toHaveLength(2)
    expect(types).toContain('authorization-dead')
    // Of both permits, the one that filled.
    expect(world.watch.signatures).toBe(1)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('is not signed after the maximum lateness of its slot', async () => {
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: 30_000 })
    const world = await diedAtTheRecord([aStrategy({ schedule })])
    await startAgain(world)
    expect(world.watch.signatures).toBe(0)
    expect(outcomes(world, 'hourly')).toContain('expired too-late')
    expectSound(world)
  })
})

test('an order requests another quote when the price moves while it waits in the queue', async () => {
  const schedule = aSchedule('30 12 * * *')
  const strategies = [aStrategy(), aStrategy({ name: 'other', schedule })]
  const world = new World({ seed: 'moved in the queue', strategies })
  world.queueDelayMs = 4_500
  world.start()
  await world.runFor(2 * HOUR + 1_500)
  world.market.setPrice(1_250n)
  await Promise.all([world.control.trigger('other'), world.runFor(5 * MINUTE)])
  expect(withdrawn(world, 'hourly')).toEqual(['price-deviation'])
  expect(outcomes(world, 'hourly')).toEqual(['filled filled', 'filled filled'])
  expect(outcomes(world, 'other')).toEqual(['filled filled'])
  expectSound(world)
})

/** Reasons for the withdrawn permits of a strategy. */
function withdrawn(world: World, strategy: string): readonly string[] {
  return world.disk.events().flatMap((event) => {
    const isOf = event.type === 'authorization-withdrawn' && event.intentId.startsWith(strategy)
    return isOf ? [event.reason] : []
  })
}

test('an order is not signed when its strategy is removed while it waits in the queue', async () => {
  const world = new World({ seed: 'removed in the queue', strategies: [aStrategy()] })
  world.queueDelayMs = 20_000
  world.start()
  await world.runFor(HOUR + 5_000)
  await Promise.all([
    world.control.reload({ strategies: [], account: world.account }),
    world.runFor(1_000),
  ])
  await world.runFor(5 * MINUTE)
  expect(world.watch.signatures).toBe(0)
  expect(outcomes(world, 'hourly')).toEqual(['failed strategy-removed'])
  expectSound(world)
})

function forged(changes: Partial<TransactionRecord>): TransactionRecord {
  return {
    id: `approve:${USDC.address}:0`,
    purpose: 'approve',
    intentId: undefined,
    chainId: SIMULATED_CHAIN_ID,
    from: WALLET,
    nonce: 0,
    to: USDC.address,
    data: '0x',
    value: 0n,
    gas: 100_000n,
    maxFeePerGas: 10n ** 9n,
    maxPriorityFeePerGas: 1n,
    ...changes,
  }
}

describe('a forged transaction in the journal', () => {
  const padded = (hex: string): string => hex.replace('0x', '').padStart(64, '0')
  const approval = (spender: string, amount: string): `0x${string}` =>
    `0x095ea7b3${padded(spender)}${padded(amount)}`
  const FORGERIES: readonly (readonly [string, Partial<TransactionRecord>])[] = [
    ['sends ether to a stranger as an approval', { to: STRANGER, value: 5n * ETHER }],
    ['approves a stranger', { data: approval(STRANGER, '0x01') }],
    ['approves the maximum amount for Permit2', { data: approval(PERMIT2, 'f'.repeat(64)) }],
    ['approves a token that no strategy trades', { to: STRANGER, data: approval(PERMIT2, '0x01') }],
    ['sends ether with an approval', { data: approval(PERMIT2, '0x01'), value: ETHER }],
    [
      'wraps at a foreign contract',
      { id: 'wrap', purpose: 'wrap', to: STRANGER, data: '0xd0e30db0', value: ETHER },
    ],
    [
      'unwraps for no order',
      { id: 'unwrap', purpose: 'unwrap', to: WETH.address, data: `0x2e1a7d4d${padded('0x01')}` },
    ],
    [
      'deposits at a foreign contract',
      { id: 'deposit', purpose: 'deposit', to: STRANGER, data: '0xd0e30db0', value: ETHER },
    ],
    ['calls a stranger', { id: 'hourly:1:0:1:call', purpose: 'call', to: STRANGER, value: ETHER }],
  ]

  test.each(FORGERIES)('is never signed when it %s', async (_, changes) => {
    const world = new World({
      seed: 'forged',
      strategies: [
        aStrategy({
          sell: ETH,
          buy: aStrategy().sell,
          size: { side: 'sell', amount: aStrategy().size.amount },
        }),
      ],
    })
    world.start()
    await world.runFor(MINUTE)
    world.crash()
    world.disk.plant(
      { type: 'transaction-recorded', transaction: forged(changes) },
      world.clock.trueMs,
    )
    const before = world.balance('native')
    world.start()
    await world.runFor(10 * MINUTE)
    expect(world.balance('native')).toBe(before)
    expect(world.state.transactions.size).toBe(0)
    expect(world.disk.events().filter(({ type }) => type === 'transaction-signed')).toEqual([])
  })
})

test('the journal holds no signature of a direct call', async () => {
  const world = callWorld({
    seed: 'no signature is kept',
    aggregator: { fallback: { mode: 'rejected-only', deadlineMs: 180_000 } },
  })
  world.aggregation.faults.rejection = { tag: 'rejected', message: 'not today' }
  world.start()
  await world.runFor(HOUR + 2 * MINUTE)
  const execution = world.aggregation.ledger.mined.find(
    ({ from }) => from === world.aggregation.wallet,
  )
  const signature = /0{62}41([0-9a-f]{130})/.exec(execution?.input ?? '')?.[1] ?? 'none was found'
  expect(signature).toHaveLength(130)
  expect(world.disk.lines.join('\n')).not.toContain(signature)
  expectSound(world)
})

describe('a recorded call left unsigned by a crash', () => {
  async function diedAtTheCall(): Promise<World> {
    for (let append = 1; append < 20; append += 1) {
      const world = callWorld({ seed: 'died at the call' })
      world.restartAfterMs = 1_000 * HOUR
      world.disk.crashAt = { append, when: 'after' }
      world.start()
      await world.runFor(HOUR + MINUTE)
      if (eventTypes(world).at(-1) === 'call-recorded') return world
    }
    throw new Error('no call came')
  }

  test('is sent by the next daemon when nothing has changed', async () => {
    const world = await diedAtTheCall()
    await startAgain(world)
    expect(executed(world)).toBe(1)
    expectSound(world)
  })

  const CHANGES: readonly (readonly [string, (world: World) => void])[] = [
    [
      'its target is no longer named',
      ({ aggregation }) => void Object.assign(aggregation.settings, { targets: new Map() }),
    ],
    [
      'its strategy calls another contract now',
      (world) => {
        world.strategies = [aCallStrategy({ target: STRANGER })]
      },
    ],
    [
      'its strategy is gone',
      (world) => {
        world.strategies = [aCallStrategy({ name: 'another' })]
      },
    ],
    [
      "the account's cap has shrunk",
      (world) => void Object.assign(world.account, { perOrder: capOf(ETHER_TOKEN, baseUnits(1n)) }),
    ],
    [
      'everything is halted outside the journal',
      (world) => {
        world.blocked = 'a file says so'
      },
    ],
  ]

  test.each(CHANGES)('is not signed when %s', async (_, change) => {
    const world = await diedAtTheCall()
    const { targets } = world.aggregation.settings
    change(world)
    await startAgain(world)
    expect(executed(world)).toBe(0)
    expect(eventTypes(world)).not.toContain('call-signed')
    Object.assign(world.aggregation.settings, { targets })
    expectSound(world)
  })
})
