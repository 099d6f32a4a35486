import { describe, expect, test } from 'vitest'
import type { FallbackMode } from '../../../src/domain/settings.ts'
import type { Simulation } from '../../simulation/simulation.ts'
import {
  callSimulation,
  executed,
  routes,
  unknowns,
  untilFirstSlot,
} from '../../support/aggregator/call-simulation.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'

const REJECTION = { tag: 'insufficientBalance', message: 'Insufficient balance.' } as const

function withFallback(seed: string, mode: FallbackMode): Simulation {
  return callSimulation({ seed, aggregator: { fallback: { mode, deadlineMs: 180_000 } } })
}

describe('a call through the service', () => {
  test('is recorded, accepted, proven on chain and closed', async () => {
    const sim = callSimulation({ seed: 'a plain call' })
    sim.start()
    await sim.runFor(HOUR + 2 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(routes(sim)).toEqual(['aggregated'])
    expect(executed(sim)).toBe(1)
    expect(eventTypes(sim).slice(-8)).toEqual([
      'slot-opened',
      'call-recorded',
      'call-signed',
      'order-accepted',
      'call-proven',
      'intent-closed',
      'slot-closed',
      'fills-final',
    ])
    expectSound(sim)
  })

  test('is made in every slot with the next nonce', async () => {
    const sim = callSimulation({ seed: 'a day of calls' })
    sim.start()
    await sim.runFor(24 * HOUR + 10 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(Array(24).fill('filled filled'))
    expect(sim.aggregation.ledger.nestedNonce).toBe(24n)
    expect(sim.aggregation.watch.signatures).toBe(24)
    expectSound(sim)
  })
})

describe('the outcome of an accepted call that the service never executes', () => {
  test.each<[FallbackMode, string[], string[]]>([
    ['after-deadline', ['direct'], ['filled filled']],
    ['rejected-only', [], ['expired order-expired']],
    ['off', [], ['expired order-expired']],
  ])('follows fallback %s', async (mode, via, outcome) => {
    const sim = withFallback(`silent service ${mode}`, mode)
    sim.aggregation.faults.neverExecutes = true
    sim.start()
    await sim.runFor(HOUR + 40 * MINUTE)
    expect(routes(sim)).toEqual(via)
    expect(outcomes(sim, 'claim')).toEqual(outcome)
    expect(executed(sim)).toBe(via.length)
    expectSound(sim)
  })
})

test.each([10_000, HOUR])(
  'the direct route keeps the last third of the signed deadline when a restart configures %s ms',
  async (deadlineMs) => {
    const sim = withFallback(`another deadline ${deadlineMs}`, 'after-deadline')
    sim.aggregation.faults.neverExecutes = true
    await untilFirstSlot(sim)
    await untilEvent(sim, 'order-accepted')
    sim.crash()
    Object.assign(sim.aggregation.settings.fallback, { deadlineMs })
    sim.start()
    await sim.runFor(115_000)
    expect(eventTypes(sim)).not.toContain('transaction-recorded')
    await sim.runFor(MINUTE)
    expect(routes(sim)).toEqual(['direct'])
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  },
)

describe('the outcome of a call that the service refuses', () => {
  test.each<[FallbackMode, string[], string[]]>([
    ['after-deadline', ['direct'], ['filled filled']],
    ['rejected-only', ['direct'], ['filled filled']],
    ['off', [], ['failed order-rejected']],
  ])('follows fallback %s', async (mode, via, outcome) => {
    const sim = withFallback(`refusing service ${mode}`, mode)
    sim.aggregation.faults.rejection = REJECTION
    sim.start()
    await sim.runFor(HOUR + 40 * MINUTE)
    expect(routes(sim)).toEqual(via)
    expect(outcomes(sim, 'claim')).toEqual(outcome)
    expect(executed(sim)).toBe(via.length)
    expectSound(sim)
  })

  test('is one execution when the service executes it anyway, since both routes share the nonce', async () => {
    const sim = withFallback('refuses and takes', 'rejected-only')
    Object.assign(sim.aggregation.faults, { rejection: REJECTION, rejectsButTakes: true })
    sim.start()
    await sim.runFor(HOUR + 20 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })
})

describe('a direct call', () => {
  test('is not sent during the first two thirds of the deadline, which belong to the service', async () => {
    const sim = withFallback('two thirds', 'after-deadline')
    sim.aggregation.faults.neverExecutes = true
    sim.start()
    await sim.runFor(HOUR + 115_000)
    expect(eventTypes(sim)).not.toContain('transaction-recorded')
    await sim.runFor(20_000)
    expect(eventTypes(sim)).toContain('transaction-recorded')
  })

  test('competes with a late service, and exactly one of them executes', async () => {
    for (const delayMs of [
      100_000, 110_000, 114_000, 116_000, 118_000, 120_000, 130_000, 175_000,
    ]) {
      const sim = withFallback(`race ${delayMs}`, 'after-deadline')
      sim.aggregation.faults.delayMs = delayMs
      sim.start()
      await sim.runFor(HOUR + 20 * MINUTE)
      expect([delayMs, executed(sim)]).toEqual([delayMs, 1])
      expect([delayMs, outcomes(sim, 'claim')]).toEqual([delayMs, ['filled filled']])
      expectSound(sim)
    }
  })

  test('is reported when the account cannot pay for it, and the call keeps waiting for the service', async () => {
    const sim = withFallback('no gas', 'after-deadline')
    sim.aggregation.faults.delayMs = 150_000
    sim.aggregation.chainFaults.noGas = true
    sim.start()
    await sim.runFor(HOUR + 10 * MINUTE)
    expect(unknowns(sim)).toContain('not sent directly: not enough ETH for gas and value')
    expect(routes(sim)).toEqual(['aggregated'])
    expectSound(sim)
  })

  test('blocks neither the execution by the service nor later slots when it is never mined', async () => {
    const sim = withFallback('lost in the mempool', 'after-deadline')
    sim.aggregation.faults.delayMs = 150_000
    sim.aggregation.ledger.losesDirect = true
    sim.start()
    await sim.runFor(HOUR + 4 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    sim.aggregation.faults.delayMs = 0
    await sim.runFor(2 * HOUR)
    expect(outcomes(sim, 'claim')).toEqual(Array(3).fill('filled filled'))
    expect(routes(sim)).toEqual(Array(3).fill('aggregated'))
    expectSound(sim)
  })

  test('stops repeated submissions to the service once it is sent', async () => {
    const sim = withFallback('both at once', 'after-deadline')
    Object.assign(sim.aggregation.faults, { failsAfter: 1, neverExecutes: true })
    sim.aggregation.ledger.losesDirect = true
    await untilFirstSlot(sim)
    await untilEvent(sim, 'transaction-recorded')
    const { received } = sim.aggregation.service
    const before = received.length
    await sim.runFor(MINUTE)
    expect(received.length).toBe(before)
  })

  test('does not keep the call open past its deadline when it is never mined', async () => {
    const sim = withFallback('dead in the mempool', 'after-deadline')
    sim.aggregation.faults.neverExecutes = true
    sim.aggregation.ledger.losesDirect = true
    await untilFirstSlot(sim)
    await untilEvent(sim, 'authorization-dead')
    sim.aggregation.faults.neverExecutes = false
    await sim.runFor(5 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(executed(sim)).toBe(1)
    expectSound(sim)
  })
})
