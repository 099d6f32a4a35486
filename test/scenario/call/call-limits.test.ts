import { describe, expect, test } from 'vitest'
import { ETHER } from '../../../src/domain/money/token.ts'
import { baseUnits } from '../../../src/domain/money/units.ts'
import { CALL_CHAIN_ID, CALL_TARGET } from '../../simulation/aggregator/aggregation.ts'
import { World } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callWorld,
  executed,
  untilFirstSlot,
} from '../../support/aggregator/call-world.ts'
import { aStrategy, capOf, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

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
    const world = callWorld({ seed: 'caps', strategies })
    world.start()
    await world.runFor(5 * HOUR + 5 * MINUTE)
    expect(outcomes(world, 'daily')).toEqual([
      ...Array(2).fill('filled filled'),
      ...Array(3).fill('skipped limit-per-day'),
    ])
    expect(outcomes(world, 'total')).toEqual([
      'filled filled',
      ...Array(4).fill('skipped limit-total'),
    ])
    expectSound(world)
  })

  test('let each hourly call through once the previous call is an hour old', async () => {
    const limits = { ...OPEN, perHour: capOf(ETHER, baseUnits(1_000n)) }
    const world = callWorld({ seed: 'hourly value', strategies: [aCallStrategy({ limits })] })
    world.start()
    await world.runFor(20 * HOUR + 50 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(Array(20).fill('filled filled'))
    expectSound(world)
  })

  test('hold across strategies, per order and per day of the account', async () => {
    const world = new World({
      seed: 'account caps',
      strategies: [aCallStrategy(), aCallStrategy({ name: 'big', value: baseUnits(5_000n) })],
      account: {
        perOrder: capOf(ETHER, baseUnits(4_000n)),
        perDay: capOf(ETHER, baseUnits(2_000n)),
      },
    })
    world.start()
    await world.runFor(3 * HOUR + 5 * MINUTE)
    expect(outcomes(world, 'big')).toEqual(Array(3).fill('skipped limit-account-per-order'))
    expect(outcomes(world, 'claim')).toEqual([
      'filled filled',
      'filled filled',
      'skipped limit-account-per-day',
    ])
    expect(world.aggregation.ledger.balance).toBe(10n ** 19n - 2_000n)
  })

  test('stay full while a call is live', async () => {
    const limits = { ...OPEN, perDay: capOf(ETHER, baseUnits(1_500n)) }
    const world = callWorld({ seed: 'a live call', strategies: [aCallStrategy({ limits })] })
    world.aggregation.faults.neverExecutes = true
    world.aggregation.chainFaults.noGas = true
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    expect([...world.state.exposures.values()]).toMatchObject([{ amount: 1_000n, live: true }])
  })
})

describe('a call is not signed', () => {
  test('when its simulation reverts', async () => {
    const world = callWorld({ seed: 'reverts' })
    world.aggregation.ledger.reverting.add(CALL_TARGET)
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['failed call-reverts'])
    expect(world.aggregation.watch.signatures).toBe(0)
  })

  test('when its target is not allowlisted', async () => {
    const target = '0x000000000000000000000000000000000000bad0'
    const world = callWorld({ seed: 'target', strategies: [aCallStrategy({ target })] })
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['refused target-not-allowed'])
    expect(world.aggregation.watch.signatures).toBe(0)
  })

  test('when the account does not hold its value', async () => {
    const world = callWorld({ seed: 'poor' })
    world.aggregation.ledger.balance = 999n
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['failed insufficient-balance'])
  })

  test('by a wallet other than the one it was decided for', async () => {
    const world = callWorld({ seed: 'another wallet' })
    await untilFirstSlot(world)
    await untilEvent(world, 'slot-opened')
    world.crash()
    world.aggregation.wallet = '0x00000000000000000000000000000000000000cc'
    world.start()
    await world.runFor(MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['refused owner-mismatch'])
    expect(world.aggregation.service.received).toEqual([])
  })
})

test('a live call stays open while the config names another wallet, and is resolved once the wallet returns', async () => {
  const world = callWorld({ seed: 'a wallet for a while' })
  world.aggregation.faults.failsAfter = 1
  world.aggregation.faults.delayMs = 30_000
  await untilFirstSlot(world)
  await untilEvent(world, 'call-recorded')
  await world.runFor(2_000)
  const { wallet, service } = world.aggregation
  const before = service.received.length
  world.aggregation.calmDown()
  world.aggregation.wallet = '0x00000000000000000000000000000000000000cc'
  world.start()
  await world.runFor(20 * MINUTE)
  world.start()
  await world.runFor(MINUTE)
  expect(service.received.length).toBe(before)
  expect(eventTypes(world)).not.toContain('authorization-dead')
  world.aggregation.wallet = wallet
  world.start()
  await world.runFor(MINUTE)
  expect(outcomes(world, 'claim')).toEqual(['filled filled'])
  expect(executed(world)).toBe(1)
})

describe('calls of one account', () => {
  test('wait for each other, so that one signed call is live at a time', async () => {
    const names = ['a', 'b', 'c', 'd']
    const strategies = names.map((name) => aCallStrategy({ name }))
    const world = callWorld({ seed: 'a queue', strategies })
    world.start()
    await world.runFor(HOUR + 10 * MINUTE)
    for (const name of names) expect(outcomes(world, name)).toEqual(['filled filled'])
    expect(world.aggregation.ledger.nestedNonce).toBe(4n)
    expectSound(world)
  })

  test('do not wait for swaps, and swaps do not wait for calls', async () => {
    const world = new World({ seed: 'both venues', strategies: [aStrategy(), aCallStrategy()] })
    world.aggregation.faults.neverExecutes = true
    world.start()
    await world.runFor(HOUR + 2 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    world.aggregation.faults.neverExecutes = false
    await world.runFor(10 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('end as too late when the previous call stays open past their time', async () => {
    const fallback = { mode: 'off', deadlineMs: 2 * HOUR } as const
    const strategies = [aCallStrategy({ name: 'a' }), aCallStrategy({ name: 'b' })]
    const world = callWorld({ seed: 'too late', strategies, aggregator: { fallback } })
    world.aggregation.faults.neverExecutes = true
    world.start()
    await world.runFor(2 * HOUR + 5 * MINUTE)
    const ended = [...outcomes(world, 'a'), ...outcomes(world, 'b')]
    expect(ended).toEqual(['expired too-late'])
    expectSound(world)
  })
})

describe('a gas limit', () => {
  test('refuses a call before its signature when the whole call needs more, and names the gas needed', async () => {
    // The simulated target alone uses about 29,000.
    const world = callWorld({ seed: 'tight', strategies: [aCallStrategy({ gasLimit: 40_000n })] })
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['refused gas-limit-too-low'])
    expect(world.aggregation.watch.signatures).toBe(0)
    const detail = world.disk
      .events()
      .flatMap((event) => (event.type === 'intent-closed' ? (event.detail ?? '') : []))
    expect(detail).toEqual([
      expect.stringMatching(/^gasLimit 40000 is too low: the whole call may take \d{5}, /),
    ])
    expectSound(world)
  })
})

describe('a daily gas budget', () => {
  test('makes a call wait before its signature when it is exhausted', async () => {
    const world = callWorld({ seed: 'gas of a day', strategies: [aCallStrategy()] })
    world.start()
    await untilFirstSlot(world)
    const used = { chainId: CALL_CHAIN_ID, atMs: 0, wei: 10n ** 30n, isOpen: true }
    world.state.gasCharges.set('others', used)
    await world.runFor(2 * MINUTE)
    expect(eventTypes(world)).not.toContain('call-recorded')
    const waits = world.observations.find(({ type }) => type === 'order-waits')
    expect(waits).toMatchObject({ reason: 'gas-too-dear' })
    world.state.gasCharges.delete('others')
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expectSound(world)
  })
})
