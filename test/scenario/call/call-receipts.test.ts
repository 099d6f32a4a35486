import { describe, expect, test } from 'vitest'
import { fingerprint } from '../../../src/domain/random.ts'
import { callWorld, executed, routes, untilFirstSlot } from '../../support/aggregator/call-world.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { runUntil, untilEvent } from '../../support/worlds/run-until.ts'

describe('a false receipt', () => {
  test('proves nothing for an unexecuted call and does not delay the fallback', async () => {
    const world = callWorld({ seed: 'a lie' })
    world.aggregation.faults.neverExecutes = true
    const account = world.aggregation.wallet.slice(2)
    world.aggregation.faults.namesHash = world.aggregation.ledger.strangersTransaction(
      `0x${account}4e71d92d`,
    )
    world.start()
    await world.runFor(HOUR + 10 * MINUTE)
    expect(routes(world)).toEqual(['direct'])
    expect(executed(world)).toBe(1)
    expectSound(world)
  })

  test.each(['a foreign transaction', 'an unknown transaction'])(
    'is replaced by the real transaction when it names %s for an executed call',
    async (what) => {
      const world = callWorld({ seed: what })
      world.aggregation.faults.namesHash =
        what === 'a foreign transaction'
          ? world.aggregation.ledger.strangersTransaction('0x1234')
          : fingerprint('nowhere')
      world.start()
      await world.runFor(HOUR + 5 * MINUTE)
      expect(outcomes(world, 'claim')).toEqual(['filled filled'])
      expect(routes(world)).toEqual(['aggregated'])
      expectSound(world)
    },
  )
})

describe('an executed call', () => {
  test('is found by its log when the service never shows a receipt', async () => {
    const world = callWorld({ seed: 'no receipt' })
    world.aggregation.faults.receipts = 'null'
    world.start()
    await world.runFor(HOUR + 10 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(executed(world)).toBe(1)
    expectSound(world)
  })

  test.each([
    ['reports the call as unknown', 'not-found' as const, 0],
    ['gives no answer', 'honest' as const, 1],
  ])('is proven within seconds when the service %s', async (_, receipts, silence) => {
    const world = callWorld({ seed: `silent ${receipts}` })
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    world.aggregation.faults.receipts = receipts
    world.aggregation.faults.receiptsLost = silence
    await runUntil(world, 'execution', () => executed(world) === 1)
    const executedAtMs = world.clock.trueMs
    await untilEvent(world, 'call-proven')
    expect(world.clock.trueMs - executedAtMs).toBeLessThan(10_000)
    expectSound(world)
  })

  test('is proven long before its deadline when the service reports no receipt', async () => {
    const world = callWorld({ seed: 'says null' })
    world.aggregation.faults.receipts = 'null'
    await untilFirstSlot(world)
    await runUntil(world, 'execution', () => executed(world) === 1)
    const executedAtMs = world.clock.trueMs
    await untilEvent(world, 'call-proven')
    expect(world.clock.trueMs - executedAtMs).toBeLessThan(25_000)
    expectSound(world)
  })

  test('is found by its receipt when the search finds no log', async () => {
    const world = callWorld({ seed: 'no log' })
    world.aggregation.chainFaults.hidesLogs = true
    world.start()
    await world.runFor(HOUR + 5 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('ends without another attempt when it cannot be found, and its value counts against the caps', async () => {
    const world = callWorld({ seed: 'nothing to find' })
    world.aggregation.chainFaults.hidesLogs = true
    world.aggregation.faults.receipts = 'null'
    world.start()
    await world.runFor(HOUR + 20 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['failed permit-cancelled'])
    expect(world.aggregation.watch.signatures).toBe(1)
    expect([...(world.state.strategies.get('claim')?.spent.values() ?? [])]).toEqual([1_000n])
    expect([...world.state.exposures.values()]).toMatchObject([{ amount: 1_000n, live: false }])
  })

  test('stays open while its direct transaction cannot be read', async () => {
    const world = callWorld({ seed: 'unreadable receipts' })
    world.aggregation.faults.neverExecutes = true
    await untilFirstSlot(world)
    await untilEvent(world, 'transaction-recorded')
    world.aggregation.chainFaults.tracesDown = true
    await world.runFor(30 * MINUTE)
    expect(eventTypes(world)).not.toContain('authorization-dead')
    world.aggregation.chainFaults.tracesDown = false
    await world.runFor(MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(routes(world)).toEqual(['direct'])
    expectSound(world)
  })
})

test('a negative charge from the service is not recorded', async () => {
  const world = callWorld({ seed: 'less than nothing' })
  world.aggregation.faults.status = {
    costs: { charged: '-5', blob_cost: '-7' },
    savings: { saved: '-9' },
  }
  await untilFirstSlot(world)
  await world.runFor(MINUTE)
  const costs = world.disk
    .events()
    .flatMap((event) => (event.type === 'call-proven' ? [event.execution.costs] : []))
  expect(costs).toEqual([{ direct: expect.any(BigInt), saved: -9n }])
  expectSound(world)
})
