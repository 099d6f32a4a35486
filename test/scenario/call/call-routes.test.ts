import { describe, expect, test } from 'vitest'
import type { FallbackMode } from '../../../src/domain/settings.ts'
import type { World } from '../../simulation/simulation.ts'
import {
  callWorld,
  executed,
  routes,
  unknowns,
  untilFirstSlot,
} from '../../support/aggregator/call-world.ts'
import { HOUR, MINUTE } from '../../support/builders.ts'
import { eventTypes, expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

const REJECTION = { tag: 'insufficientBalance', message: 'Insufficient balance.' } as const

function withFallback(seed: string, mode: FallbackMode): World {
  return callWorld({ seed, aggregator: { fallback: { mode, deadlineMs: 180_000 } } })
}

describe('a call through the service', () => {
  test('is recorded, accepted, proven on chain and closed', async () => {
    const world = callWorld({ seed: 'a plain call' })
    world.start()
    await world.runFor(HOUR + 2 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(routes(world)).toEqual(['aggregated'])
    expect(executed(world)).toBe(1)
    expect(eventTypes(world).slice(-8)).toEqual([
      'slot-opened',
      'call-recorded',
      'call-signed',
      'order-accepted',
      'call-proven',
      'intent-closed',
      'slot-closed',
      'fills-final',
    ])
    expectSound(world)
  })

  test('is made in every slot with the next nonce', async () => {
    const world = callWorld({ seed: 'a day of calls' })
    world.start()
    await world.runFor(24 * HOUR + 10 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(Array(24).fill('filled filled'))
    expect(world.aggregation.ledger.nestedNonce).toBe(24n)
    expect(world.aggregation.watch.signatures).toBe(24)
    expectSound(world)
  })
})

describe('the outcome of an accepted call that the service never executes', () => {
  test.each<[FallbackMode, string[], string[]]>([
    ['after-deadline', ['direct'], ['filled filled']],
    ['rejected-only', [], ['expired order-expired']],
    ['off', [], ['expired order-expired']],
  ])('follows fallback %s', async (mode, via, outcome) => {
    const world = withFallback(`silent service ${mode}`, mode)
    world.aggregation.faults.neverExecutes = true
    world.start()
    await world.runFor(HOUR + 40 * MINUTE)
    expect(routes(world)).toEqual(via)
    expect(outcomes(world, 'claim')).toEqual(outcome)
    expect(executed(world)).toBe(via.length)
    expectSound(world)
  })
})

test.each([10_000, HOUR])(
  'the direct route keeps the last third of the signed deadline when a restart configures %s ms',
  async (deadlineMs) => {
    const world = withFallback(`another deadline ${deadlineMs}`, 'after-deadline')
    world.aggregation.faults.neverExecutes = true
    await untilFirstSlot(world)
    await untilEvent(world, 'order-accepted')
    world.crash()
    Object.assign(world.aggregation.settings.fallback, { deadlineMs })
    world.start()
    await world.runFor(115_000)
    expect(eventTypes(world)).not.toContain('transaction-recorded')
    await world.runFor(MINUTE)
    expect(routes(world)).toEqual(['direct'])
    expect(executed(world)).toBe(1)
    expectSound(world)
  },
)

describe('the outcome of a call that the service refuses', () => {
  test.each<[FallbackMode, string[], string[]]>([
    ['after-deadline', ['direct'], ['filled filled']],
    ['rejected-only', ['direct'], ['filled filled']],
    ['off', [], ['failed order-rejected']],
  ])('follows fallback %s', async (mode, via, outcome) => {
    const world = withFallback(`refusing service ${mode}`, mode)
    world.aggregation.faults.rejection = REJECTION
    world.start()
    await world.runFor(HOUR + 40 * MINUTE)
    expect(routes(world)).toEqual(via)
    expect(outcomes(world, 'claim')).toEqual(outcome)
    expect(executed(world)).toBe(via.length)
    expectSound(world)
  })

  test('is one execution when the service executes it anyway, since both routes share the nonce', async () => {
    const world = withFallback('refuses and takes', 'rejected-only')
    Object.assign(world.aggregation.faults, { rejection: REJECTION, rejectsButTakes: true })
    world.start()
    await world.runFor(HOUR + 20 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(executed(world)).toBe(1)
    expectSound(world)
  })
})

describe('a direct call', () => {
  test('is not sent during the first two thirds of the deadline, which belong to the service', async () => {
    const world = withFallback('two thirds', 'after-deadline')
    world.aggregation.faults.neverExecutes = true
    world.start()
    await world.runFor(HOUR + 115_000)
    expect(eventTypes(world)).not.toContain('transaction-recorded')
    await world.runFor(20_000)
    expect(eventTypes(world)).toContain('transaction-recorded')
  })

  test('competes with a late service, and exactly one of them executes', async () => {
    for (const delayMs of [
      100_000, 110_000, 114_000, 116_000, 118_000, 120_000, 130_000, 175_000,
    ]) {
      const world = withFallback(`race ${delayMs}`, 'after-deadline')
      world.aggregation.faults.delayMs = delayMs
      world.start()
      await world.runFor(HOUR + 20 * MINUTE)
      expect([delayMs, executed(world)]).toEqual([delayMs, 1])
      expect([delayMs, outcomes(world, 'claim')]).toEqual([delayMs, ['filled filled']])
      expectSound(world)
    }
  })

  test('is reported when the account cannot pay for it, and the call keeps waiting for the service', async () => {
    const world = withFallback('no gas', 'after-deadline')
    world.aggregation.faults.delayMs = 150_000
    world.aggregation.chainFaults.noGas = true
    world.start()
    await world.runFor(HOUR + 10 * MINUTE)
    expect(unknowns(world)).toContain('not sent directly: not enough ETH for gas and value')
    expect(routes(world)).toEqual(['aggregated'])
    expectSound(world)
  })

  test('blocks neither the execution by the service nor later slots when it is never mined', async () => {
    const world = withFallback('lost in the mempool', 'after-deadline')
    world.aggregation.faults.delayMs = 150_000
    world.aggregation.ledger.losesDirect = true
    world.start()
    await world.runFor(HOUR + 4 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    world.aggregation.faults.delayMs = 0
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'claim')).toEqual(Array(3).fill('filled filled'))
    expect(routes(world)).toEqual(Array(3).fill('aggregated'))
    expectSound(world)
  })

  test('stops repeated submissions to the service once it is sent', async () => {
    const world = withFallback('both at once', 'after-deadline')
    Object.assign(world.aggregation.faults, { failsAfter: 1, neverExecutes: true })
    world.aggregation.ledger.losesDirect = true
    await untilFirstSlot(world)
    await untilEvent(world, 'transaction-recorded')
    const { received } = world.aggregation.service
    const before = received.length
    await world.runFor(MINUTE)
    expect(received.length).toBe(before)
  })

  test('does not keep the call open past its deadline when it is never mined', async () => {
    const world = withFallback('dead in the mempool', 'after-deadline')
    world.aggregation.faults.neverExecutes = true
    world.aggregation.ledger.losesDirect = true
    await untilFirstSlot(world)
    await untilEvent(world, 'authorization-dead')
    world.aggregation.faults.neverExecutes = false
    await world.runFor(5 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(executed(world)).toBe(1)
    expectSound(world)
  })
})
