import { describe, expect, test } from 'vitest'
import { ETHER as ETHER_TOKEN } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import type { TransactionRecord } from '../../../src/journal/records.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { PERMIT2, SIMULATED_CHAIN_ID, USDC, WALLET, WETH } from '../../simulation/stage.ts'
import {
  aCallStrategy,
  callSimulation,
  executed,
} from '../../support/aggregator/call-simulation.ts'
import { aSchedule, aStrategy, capOf, ETH, HOUR, MINUTE, usdc } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const STRANGER = `0x${'5e'.repeat(20)}` as const
const ETHER = 10n ** 18n

/** A simulation that lost power with an unsigned permit on record, and stays down. */
async function diedAtTheRecord(
  strategies: readonly Strategy[] = [aStrategy()],
): Promise<Simulation> {
  for (let append = 1; append < 20; append += 1) {
    const sim = new Simulation({ seed: 'died at the record', strategies })
    sim.restartAfterMs = 1_000 * HOUR
    sim.disk.crashAt = { append, when: 'after' }
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    if (eventTypes(sim).at(-1) === 'permit-recorded' && sim.watch.signatures === 0) return sim
  }
  throw new Error('no permit came')
}

async function startAgain(sim: Simulation): Promise<void> {
  sim.disk.crashAt = undefined
  sim.start()
  await sim.runFor(10 * MINUTE)
}

describe('a recorded permit left unsigned by a crash', () => {
  test('is signed and sent by the next daemon when nothing has changed', async () => {
    const sim = await diedAtTheRecord()
    sim.clock.offsetMs = 0
    sim.disk.crashAt = undefined
    sim.start()
    await sim.runFor(10 * MINUTE)
    expect(sim.watch.signatures).toBeGreaterThan(0)
    expectSound(sim)
  })

  const CHANGES: readonly (readonly [string, (sim: Simulation) => void])[] = [
    [
      'the strategy is gone',
      (sim) => {
        sim.strategies = []
      },
    ],
    [
      'the strategy is disabled',
      (sim) => {
        sim.strategies = [aStrategy({ enabled: false })]
      },
    ],
    [
      'the strategy sells less',
      (sim) => {
        sim.strategies = [aStrategy({ size: { side: 'sell', amount: usdc(1) } })]
      },
    ],
    [
      "the strategy's price is bounded",
      (sim) => {
        const max = { num: 1n, den: 10n ** 12n }
        sim.strategies = [aStrategy({ price: { min: undefined, max } })]
      },
    ],
    [
      'the spender is no longer named',
      (sim) => void Object.assign(sim.gasless, { spenders: [STRANGER] }),
    ],
    [
      'the files name another Permit2',
      (sim) => void Object.assign(sim.gasless, { permit2: STRANGER }),
    ],
    [
      "the account's cap has shrunk",
      (sim) => void Object.assign(sim.account, { perDay: capOf(USDC, usdc(10)) }),
    ],
    [
      "the strategy's own cap has shrunk",
      (sim) => {
        const limits = { ...aStrategy().limits, perOrder: capOf(USDC, usdc(10)) }
        sim.strategies = [aStrategy({ limits })]
      },
    ],
    [
      'everything is halted outside the journal',
      (sim) => {
        sim.blocked = 'a file says so'
      },
    ],
  ]

  test.each(CHANGES)('is not signed when %s', async (_, change) => {
    const sim = await diedAtTheRecord()
    change(sim)
    await startAgain(sim)
    expect(sim.watch.signatures).toBe(0)
    expect(eventTypes(sim)).toContain('authorization-dead')
    expectSound(sim)
  })

  test('is not signed after the price moved away, and its order continues with another quote', async () => {
    const sim = await diedAtTheRecord()
    sim.market.setPrice(1_250n)
    await startAgain(sim)
    const types = eventTypes(sim)
    expect(types.filter((type) => type === 'permit-recorded')).toHaveLength(2)
    expect(types).toContain('authorization-dead')
    // Of both permits, the one that filled.
    expect(sim.watch.signatures).toBe(1)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('is not signed after the maximum lateness of its slot', async () => {
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: 30_000 })
    const sim = await diedAtTheRecord([aStrategy({ schedule })])
    await startAgain(sim)
    expect(sim.watch.signatures).toBe(0)
    expect(outcomes(sim, 'hourly')).toContain('expired too-late')
    expectSound(sim)
  })
})

test('an order requests another quote when the price moves while it waits in the queue', async () => {
  const schedule = aSchedule('30 12 * * *')
  const strategies = [aStrategy(), aStrategy({ name: 'other', schedule })]
  const sim = new Simulation({ seed: 'moved in the queue', strategies })
  sim.queueDelayMs = 4_500
  sim.start()
  await sim.runFor(2 * HOUR + 1_500)
  sim.market.setPrice(1_250n)
  await Promise.all([sim.control.trigger('other'), sim.runFor(5 * MINUTE)])
  expect(withdrawn(sim, 'hourly')).toEqual(['price-deviation'])
  expect(outcomes(sim, 'hourly')).toEqual(['filled filled', 'filled filled'])
  expect(outcomes(sim, 'other')).toEqual(['filled filled'])
  expectSound(sim)
})

/** Reasons for the withdrawn permits of a strategy. */
function withdrawn(sim: Simulation, strategy: string): readonly string[] {
  return sim.disk.events().flatMap((event) => {
    const isOf = event.type === 'authorization-withdrawn' && event.intentId.startsWith(strategy)
    return isOf ? [event.reason] : []
  })
}

test('an order is not signed when its strategy is removed while it waits in the queue', async () => {
  const sim = new Simulation({ seed: 'removed in the queue', strategies: [aStrategy()] })
  sim.queueDelayMs = 20_000
  sim.start()
  await sim.runFor(HOUR + 5_000)
  await Promise.all([
    sim.control.reload({ strategies: [], account: sim.account }),
    sim.runFor(1_000),
  ])
  await sim.runFor(5 * MINUTE)
  expect(sim.watch.signatures).toBe(0)
  expect(outcomes(sim, 'hourly')).toEqual(['failed strategy-removed'])
  expectSound(sim)
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
    const sim = new Simulation({
      seed: 'forged',
      strategies: [
        aStrategy({
          sell: ETH,
          buy: aStrategy().sell,
          size: { side: 'sell', amount: aStrategy().size.amount },
        }),
      ],
    })
    sim.start()
    await sim.runFor(MINUTE)
    sim.crash()
    sim.disk.plant({ type: 'transaction-recorded', transaction: forged(changes) }, sim.clock.trueMs)
    const before = sim.balance('native')
    sim.start()
    await sim.runFor(10 * MINUTE)
    expect(sim.balance('native')).toBe(before)
    expect(sim.state.transactions.size).toBe(0)
    expect(sim.disk.events().filter(({ type }) => type === 'transaction-signed')).toEqual([])
  })
})

test('the journal holds no signature of a direct call', async () => {
  const sim = callSimulation({
    seed: 'no signature is kept',
    aggregator: { fallback: { mode: 'rejected-only', deadlineMs: 180_000 } },
  })
  sim.aggregation.faults.rejection = { tag: 'rejected', message: 'not today' }
  sim.start()
  await sim.runFor(HOUR + 2 * MINUTE)
  const execution = sim.aggregation.ledger.mined.find(({ from }) => from === sim.aggregation.wallet)
  const signature = /0{62}41([0-9a-f]{130})/.exec(execution?.input ?? '')?.[1] ?? 'none was found'
  expect(signature).toHaveLength(130)
  expect(sim.disk.lines.join('\n')).not.toContain(signature)
  expectSound(sim)
})

describe('a recorded call left unsigned by a crash', () => {
  async function diedAtTheCall(): Promise<Simulation> {
    for (let append = 1; append < 20; append += 1) {
      const sim = callSimulation({ seed: 'died at the call' })
      sim.restartAfterMs = 1_000 * HOUR
      sim.disk.crashAt = { append, when: 'after' }
      sim.start()
      await sim.runFor(HOUR + MINUTE)
      if (eventTypes(sim).at(-1) === 'call-recorded') return sim
    }
    throw new Error('no call came')
  }

  test('is sent by the next daemon when nothing has changed', async () => {
    const sim = await diedAtTheCall()
    await startAgain(sim)
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })

  const CHANGES: readonly (readonly [string, (sim: Simulation) => void])[] = [
    [
      'its target is no longer named',
      ({ aggregation }) => void Object.assign(aggregation.settings, { targets: new Map() }),
    ],
    [
      'its strategy calls another contract now',
      (sim) => {
        sim.strategies = [aCallStrategy({ target: STRANGER })]
      },
    ],
    [
      'its strategy is gone',
      (sim) => {
        sim.strategies = [aCallStrategy({ name: 'another' })]
      },
    ],
    [
      "the account's cap has shrunk",
      (sim) => void Object.assign(sim.account, { perOrder: capOf(ETHER_TOKEN, baseUnits(1n)) }),
    ],
    [
      'everything is halted outside the journal',
      (sim) => {
        sim.blocked = 'a file says so'
      },
    ],
  ]

  test.each(CHANGES)('is not signed when %s', async (_, change) => {
    const sim = await diedAtTheCall()
    const { targets } = sim.aggregation.settings
    change(sim)
    await startAgain(sim)
    expect(executed(sim)).toBe(0)
    expect(eventTypes(sim)).not.toContain('call-signed')
    Object.assign(sim.aggregation.settings, { targets })
    expectSound(sim)
  })
})
