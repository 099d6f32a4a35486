import { describe, expect, test } from 'vitest'
import {
  callSimulation,
  executed,
  routes,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { fingerprint } from '../../support/random-hex.ts'
import { runUntil, untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

describe('a false receipt', () => {
  test('proves nothing for an unexecuted call and does not delay the fallback', async () => {
    const sim = callSimulation({ seed: 'a lie' })
    sim.aggregation.faults.neverExecutes = true
    const account = sim.aggregation.wallet.slice(2)
    sim.aggregation.faults.namesHash = sim.aggregation.ledger.strangersTransaction(
      `0x${account}4e71d92d`,
    )
    sim.start()
    await sim.runFor(HOUR + 10 * MINUTE)
    expect(routes(sim)).toEqual(['direct'])
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })

  test.each(['a foreign transaction', 'an unknown transaction'])(
    'is replaced by the real transaction when it names %s for an executed call',
    async (what) => {
      const sim = callSimulation({ seed: what })
      sim.aggregation.faults.namesHash =
        what === 'a foreign transaction'
          ? sim.aggregation.ledger.strangersTransaction('0x1234')
          : fingerprint('nowhere')
      sim.start()
      await sim.runFor(HOUR + 5 * MINUTE)
      expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
      expect(routes(sim)).toEqual(['aggregated'])
      expectSound(sim)
    },
  )
})

describe('an executed call', () => {
  test('is found by its log when the service never shows a receipt', async () => {
    const sim = callSimulation({ seed: 'no receipt' })
    sim.aggregation.faults.receipts = 'null'
    sim.start()
    await sim.runFor(HOUR + 10 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })

  test.each([
    ['reports the call as unknown', 'not-found' as const, 0],
    ['gives no answer', 'honest' as const, 1],
  ])('is proven within seconds when the service %s', async (_, receipts, silence) => {
    const sim = callSimulation({ seed: `silent ${receipts}` })
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    sim.aggregation.faults.receipts = receipts
    sim.aggregation.faults.receiptsLost = silence
    await runUntil(sim, 'execution', () => executed(sim) === 1)
    const executedAtMs = sim.clock.trueMs
    await untilEvent(sim, 'call-proven')
    expect(sim.clock.trueMs - executedAtMs).toBeLessThan(10_000)
    expectSound(sim)
  })

  test('is proven long before its deadline when the service reports no receipt', async () => {
    const sim = callSimulation({ seed: 'says null' })
    sim.aggregation.faults.receipts = 'null'
    await untilFirstSlot(sim)
    await runUntil(sim, 'execution', () => executed(sim) === 1)
    const executedAtMs = sim.clock.trueMs
    await untilEvent(sim, 'call-proven')
    expect(sim.clock.trueMs - executedAtMs).toBeLessThan(25_000)
    expectSound(sim)
  })

  test('is found by its receipt when the search finds no log', async () => {
    const sim = callSimulation({ seed: 'no log' })
    sim.aggregation.chainFaults.hidesLogs = true
    sim.start()
    await sim.runFor(HOUR + 5 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('ends without another attempt when it cannot be found, and its value counts against the caps', async () => {
    const sim = callSimulation({ seed: 'nothing to find' })
    sim.aggregation.chainFaults.hidesLogs = true
    sim.aggregation.faults.receipts = 'null'
    sim.start()
    await sim.runFor(HOUR + 20 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['failed permit-cancelled'])
    expect(sim.aggregation.watch.signatures).toBe(1)
    expect([...(sim.state.strategies.get('claim')?.spent.values() ?? [])]).toEqual([1_000n])
    expect([...sim.state.exposures.values()]).toMatchObject([{ amount: 1_000n, live: false }])
  })

  test('stays open while its direct transaction cannot be read', async () => {
    const sim = callSimulation({ seed: 'unreadable receipts' })
    sim.aggregation.faults.neverExecutes = true
    await untilFirstSlot(sim)
    await untilEvent(sim, 'transaction-recorded')
    sim.aggregation.chainFaults.tracesDown = true
    await sim.runFor(30 * MINUTE)
    expect(eventTypes(sim)).not.toContain('authorization-dead')
    sim.aggregation.chainFaults.tracesDown = false
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(routes(sim)).toEqual(['direct'])
    expectSound(sim)
  })
})

test('a negative charge from the service is not recorded', async () => {
  const sim = callSimulation({ seed: 'less than nothing' })
  sim.aggregation.faults.status = {
    costs: { charged: '-5', blob_cost: '-7' },
    savings: { saved: '-9' },
  }
  await untilFirstSlot(sim)
  await sim.runFor(MINUTE)
  const costs = sim.disk
    .events()
    .flatMap((event) => (event.type === 'call-proven' ? [event.execution.costs] : []))
  expect(costs).toEqual([{ direct: expect.any(BigInt), saved: -9n }])
  expectSound(sim)
})
