import { describe, expect, test } from 'vitest'
import { ETHER } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { CALL_CHAIN_ID, CALL_TARGET } from '../../simulation/aggregator/aggregation.ts'
import { Simulation } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callSimulation,
  executed,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { aStrategy, capOf, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

describe('caps on the value of calls', () => {
  test('stop a strategy per day and in total', async () => {
    const strategies = [
      aCallStrategy({
        name: 'daily',
        limits: { ...OPEN, perDay: capOf(ETHER, baseUnits(2_500n)) },
      }),
      aCallStrategy({
        name: 'total',
        limits: { ...OPEN, total: capOf(ETHER, baseUnits(1_000n)) },
      }),
    ]
    const sim = callSimulation({ seed: 'caps', strategies })
    sim.start()
    await sim.runFor(5 * HOUR + 5 * MINUTE)
    expect(outcomes(sim, 'daily')).toEqual([
      ...Array(2).fill('filled filled'),
      ...Array(3).fill('skipped limit-per-day'),
    ])
    expect(outcomes(sim, 'total')).toEqual([
      'filled filled',
      ...Array(4).fill('skipped limit-total'),
    ])
    expectSound(sim)
  })

  test('let each hourly call through once the previous call is an hour old', async () => {
    const limits = { ...OPEN, perHour: capOf(ETHER, baseUnits(1_000n)) }
    const sim = callSimulation({ seed: 'hourly value', strategies: [aCallStrategy({ limits })] })
    sim.start()
    await sim.runFor(20 * HOUR + 50 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(Array(20).fill('filled filled'))
    expectSound(sim)
  })

  test('hold across strategies, per order and per day of the account', async () => {
    const sim = new Simulation({
      seed: 'account caps',
      strategies: [aCallStrategy(), aCallStrategy({ name: 'big', value: baseUnits(5_000n) })],
      account: {
        perOrder: capOf(ETHER, baseUnits(4_000n)),
        perDay: capOf(ETHER, baseUnits(2_000n)),
      },
    })
    sim.start()
    await sim.runFor(3 * HOUR + 5 * MINUTE)
    expect(outcomes(sim, 'big')).toEqual(Array(3).fill('skipped limit-account-per-order'))
    expect(outcomes(sim, 'claim')).toEqual([
      'filled filled',
      'filled filled',
      'skipped limit-account-per-day',
    ])
    expect(sim.aggregation.ledger.balance).toBe(10n ** 19n - 2_000n)
  })

  test('stay full while a call is live', async () => {
    const limits = { ...OPEN, perDay: capOf(ETHER, baseUnits(1_500n)) }
    const sim = callSimulation({ seed: 'a live call', strategies: [aCallStrategy({ limits })] })
    sim.aggregation.faults.neverExecutes = true
    sim.aggregation.chainFaults.noGas = true
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    expect([...sim.state.exposures.values()]).toMatchObject([{ amount: 1_000n, live: true }])
  })
})

describe('a call is not signed', () => {
  test('when its simulation reverts', async () => {
    const sim = callSimulation({ seed: 'reverts' })
    sim.aggregation.ledger.reverting.add(CALL_TARGET)
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['failed call-reverts'])
    expect(sim.aggregation.watch.signatures).toBe(0)
  })

  test('when its target is not allowlisted', async () => {
    const target = '0x000000000000000000000000000000000000bad0'
    const sim = callSimulation({ seed: 'target', strategies: [aCallStrategy({ target })] })
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['refused target-not-allowed'])
    expect(sim.aggregation.watch.signatures).toBe(0)
  })

  test('when the account does not hold its value', async () => {
    const sim = callSimulation({ seed: 'poor' })
    sim.aggregation.ledger.balance = 999n
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['failed insufficient-balance'])
  })

  test('by a wallet other than the one it was decided for', async () => {
    const sim = callSimulation({ seed: 'another wallet' })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'slot-opened')
    sim.crash()
    sim.aggregation.wallet = '0x00000000000000000000000000000000000000cc'
    sim.start()
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['refused owner-mismatch'])
    expect(sim.aggregation.service.received).toEqual([])
  })
})

test('a live call stays open while the config names another wallet, and is resolved once the wallet returns', async () => {
  const sim = callSimulation({ seed: 'a wallet for a while' })
  sim.aggregation.faults.failsAfter = 1
  sim.aggregation.faults.delayMs = 30_000
  await untilFirstSlot(sim)
  await untilEvent(sim, 'call-recorded')
  await sim.runFor(2_000)
  const { wallet, service } = sim.aggregation
  const before = service.received.length
  sim.aggregation.calmDown()
  sim.aggregation.wallet = '0x00000000000000000000000000000000000000cc'
  sim.start()
  await sim.runFor(20 * MINUTE)
  sim.start()
  await sim.runFor(MINUTE)
  expect(service.received.length).toBe(before)
  expect(eventTypes(sim)).not.toContain('authorization-dead')
  sim.aggregation.wallet = wallet
  sim.start()
  await sim.runFor(MINUTE)
  expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
  expect(executed(sim)).toBe(1)
})

describe('calls of one account', () => {
  test('wait for each other, so that one signed call is live at a time', async () => {
    const names = ['a', 'b', 'c', 'd']
    const strategies = names.map((name) => aCallStrategy({ name }))
    const sim = callSimulation({ seed: 'a queue', strategies })
    sim.start()
    await sim.runFor(HOUR + 10 * MINUTE)
    for (const name of names) expect(outcomes(sim, name)).toEqual(['filled filled'])
    expect(sim.aggregation.ledger.nestedNonce).toBe(4n)
    expectSound(sim)
  })

  test('do not wait for swaps, and swaps do not wait for calls', async () => {
    const sim = new Simulation({ seed: 'both venues', strategies: [aStrategy(), aCallStrategy()] })
    sim.aggregation.faults.neverExecutes = true
    sim.start()
    await sim.runFor(HOUR + 2 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    sim.aggregation.faults.neverExecutes = false
    await sim.runFor(10 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('end as too late when the previous call stays open past their time', async () => {
    const fallback = { mode: 'off', deadlineMs: 2 * HOUR } as const
    const strategies = [aCallStrategy({ name: 'a' }), aCallStrategy({ name: 'b' })]
    const sim = callSimulation({ seed: 'too late', strategies, aggregator: { fallback } })
    sim.aggregation.faults.neverExecutes = true
    sim.start()
    await sim.runFor(2 * HOUR + 5 * MINUTE)
    const ended = [...outcomes(sim, 'a'), ...outcomes(sim, 'b')]
    expect(ended).toEqual(['expired too-late'])
    expectSound(sim)
  })
})

describe('a gas limit', () => {
  test('refuses a call before its signature when the whole call needs more, and names the gas needed', async () => {
    // The simulated target alone uses about 29,000.
    const sim = callSimulation({
      seed: 'tight',
      strategies: [aCallStrategy({ gasLimit: 40_000n })],
    })
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['refused gas-limit-too-low'])
    expect(sim.aggregation.watch.signatures).toBe(0)
    const detail = sim.disk
      .events()
      .flatMap((event) => (event.type === 'intent-closed' ? (event.detail ?? '') : []))
    expect(detail).toEqual([
      expect.stringMatching(/^gasLimit 40000 is too low: the whole call may take \d{5}, /),
    ])
    expectSound(sim)
  })
})

describe('a daily gas budget', () => {
  test('makes a call wait before its signature when it is exhausted', async () => {
    const sim = callSimulation({ seed: 'gas of a day', strategies: [aCallStrategy()] })
    sim.start()
    await untilFirstSlot(sim)
    const used = { chainId: CALL_CHAIN_ID, atMs: 0, wei: 10n ** 30n, isOpen: true }
    sim.state.gasCharges.set('others', used)
    await sim.runFor(2 * MINUTE)
    expect(eventTypes(sim)).not.toContain('call-recorded')
    const waits = sim.observations.find(({ type }) => type === 'order-waits')
    expect(waits).toMatchObject({ reason: 'gas-too-dear' })
    sim.state.gasCharges.delete('others')
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expectSound(sim)
  })
})
