import { describe, expect, test } from 'vitest'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { World as SimulatedWorld, type World } from '../../simulation/simulation.ts'
import { aCallStrategy, callWorld, executed } from '../../support/aggregator/call-world.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'
import { untilEvent } from '../../support/worlds/run-until.ts'

const HALF_HOUR_LATE = aSchedule('0 * * * *', { maxLatenessMs: 30 * MINUTE })

function swaps(seed: string): World {
  return new SimulatedWorld({ seed, strategies: [aStrategy({ schedule: HALF_HOUR_LATE })] })
}

function calls(seed: string): World {
  return callWorld({ seed, strategies: [aCallStrategy({ schedule: HALF_HOUR_LATE })] })
}

type WaitEvent = Extract<RuntimeEvent, { type: 'order-waits' | 'order-waited' }>

/** Published wait events, in order. */
function waits(world: World): string[] {
  return world.observations
    .filter(
      (event): event is WaitEvent => event.type === 'order-waits' || event.type === 'order-waited',
    )
    .map(({ type, reason }) => `${type} ${reason}`)
}

/** Detail of each closed intent. */
function details(world: World): (string | undefined)[] {
  return world.disk
    .events()
    .flatMap((event) => (event.type === 'intent-closed' ? [event.detail] : []))
}

async function untilSlot(world: World): Promise<void> {
  world.start()
  await world.runFor(HOUR - 100)
}

describe('an unsigned order within its maximum lateness', () => {
  test.each([5_000, 9_000, 20 * MINUTE])(
    'waits for a service that is down for %d ms, reported once at the start and once at the end',
    async (awayMs) => {
      const world = swaps(`away for ${awayMs}`)
      await untilSlot(world)
      world.loseServiceFor(awayMs)
      await world.runFor(awayMs + 2 * MINUTE)
      expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
      expect(waits(world)).toEqual([
        'order-waits quote-unavailable',
        'order-waited quote-unavailable',
      ])
      expectSound(world)
    },
  )

  test("waits for the service's rate limit", async () => {
    const world = swaps('limits')
    await untilSlot(world)
    world.serviceFaults.rateLimited = 1
    await world.runFor(10 * MINUTE)
    world.serviceFaults.rateLimited = 0
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(waits(world)).toHaveLength(2)
    expectSound(world)
  })

  test('waits for a node that is silent after the decision', async () => {
    const world = swaps('node')
    world.queueDelaysMs = { quote: 500 }
    await untilSlot(world)
    await world.runFor(400)
    world.chainFaults.down = true
    await world.runFor(10 * MINUTE)
    world.chainFaults.down = false
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(waits(world)[0]).toBe('order-waits chain-unavailable')
    expectSound(world)
  })

  test('waits while clocks disagree and while quotes expire too soon', async () => {
    const world = swaps('clocks')
    await untilSlot(world)
    await untilEvent(world, 'slot-opened')
    world.serviceFaults.skewMs = 6_000
    await world.runFor(5 * MINUTE)
    expect(waits(world)).toEqual(['order-waits clock-skew'])
    Object.assign(world.serviceFaults, { skewMs: 0, quoteLifetimeMs: 9_000 })
    await world.runFor(5 * MINUTE)
    expect(world.watch.signatures).toBe(0)
    world.serviceFaults.quoteLifetimeMs = 60_000
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expect(waits(world)).toEqual(['order-waits clock-skew', 'order-waited quote-stale'])
    expectSound(world)
  })

  test('expires with its slot and reports the cause of the wait', async () => {
    const world = swaps('too long')
    await untilSlot(world)
    world.serviceFaults.down = true
    await world.runFor(29 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual([])
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['expired too-late'])
    expect(details(world)[0]).toMatch(
      /maxLateness has passed; the last trouble: quote-unavailable, /,
    )
    expect(world.watch.signatures).toBe(0)
    expectSound(world)
  })

  test('ends at once after a definite refusal', async () => {
    const world = swaps('refused')
    world.serviceFaults.tamper = (quote) => ({ ...quote, spender: quote.from })
    await untilSlot(world)
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['refused spender-not-allowed'])
    expect(waits(world)).toEqual([])
  })

  test.each<[string, (world: World) => unknown, string]>([
    ['a halt', (world) => world.control.halt(), 'skipped halted'],
    ['a pause', (world) => world.control.pause('hourly'), 'skipped paused'],
    [
      'the removal of its strategy',
      (world) => world.control.reload({ strategies: [], account: world.account }),
      'failed strategy-removed',
    ],
  ])('ends within two seconds of %s', async (_what, act, end) => {
    const world = swaps('ended')
    await untilSlot(world)
    world.serviceFaults.down = true
    await world.runFor(10 * MINUTE)
    await Promise.all([act(world), world.runFor(2_000)])
    expect(outcomes(world, 'hourly')).toEqual([end])
    expectSound(world)
  })

  test('does not delay a drain, and the next start resumes it', async () => {
    const world = swaps('drained')
    await untilSlot(world)
    world.serviceFaults.down = true
    await world.runFor(5 * MINUTE)
    world.stop('SIGTERM')
    await world.runFor(1_000)
    expect(world.ended).toBe('returned')
    world.serviceFaults.down = false
    world.start()
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('counts as open, so later slots are skipped', async () => {
    const schedule = aSchedule('*/10 * * * *', { maxLatenessMs: 40 * MINUTE, overlap: 'skip' })
    const world = new SimulatedWorld({ seed: 'open', strategies: [aStrategy({ schedule })] })
    world.serviceFaults.down = true
    world.start()
    await world.runFor(35 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('skipped too-many-open'))
    world.serviceFaults.down = false
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'hourly').at(-1)).toBe('filled filled')
    expectSound(world)
  })
})

describe('a call before its record', () => {
  test.each([9_000, 20 * MINUTE])('waits for a node that is down for %d ms', async (awayMs) => {
    const world = calls(`call ${awayMs}`)
    await untilSlot(world)
    await untilEvent(world, 'slot-opened')
    world.aggregation.chainFaults.down = true
    await world.runFor(awayMs)
    world.aggregation.chainFaults.down = false
    await world.runFor(2 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['filled filled'])
    expect(executed(world)).toBe(1)
    expect(waits(world)).toEqual([
      'order-waits chain-unavailable',
      'order-waited chain-unavailable',
    ])
    expectSound(world)
  })

  test('expires with its slot once a node confirms the time', async () => {
    const world = calls('call too late')
    await untilSlot(world)
    await untilEvent(world, 'slot-opened')
    world.aggregation.chainFaults.down = true
    await world.runFor(31 * MINUTE)
    expect(outcomes(world, 'claim')).toEqual([])
    world.aggregation.chainFaults.down = false
    await world.runFor(MINUTE)
    expect(outcomes(world, 'claim')).toEqual(['expired too-late'])
    expect(details(world)[0]).toMatch(/the last trouble: chain-unavailable, /)
    expect(world.aggregation.watch.signatures).toBe(0)
  })
})

describe('an order whose slot becomes too late', () => {
  test('is not signed after a wait in the queue', async () => {
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: MINUTE })
    const world = new SimulatedWorld({ seed: 'turn', strategies: [aStrategy({ schedule })] })
    world.serviceFaults.quoteLifetimeMs = 9 * MINUTE
    world.queueDelayMs = 90_000
    world.start()
    await world.runFor(HOUR + 5 * MINUTE)
    expect(world.watch.signatures).toBe(0)
    expect(outcomes(world, 'hourly')).toEqual(['expired too-late'])
    expectSound(world)
  })

  test('is not signed after more than an hour of 429s and stale quotes', async () => {
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: MINUTE })
    const world = new SimulatedWorld({ seed: 'held', strategies: [aStrategy({ schedule })] })
    await untilSlot(world)
    world.serviceFaults.rateLimited = 1
    world.serviceFaults.quoteLifetimeMs = 9_000
    await world.runFor(40_000)
    world.serviceFaults.rateLimited = 0
    world.queueDelayMs = 20 * MINUTE
    await world.runFor(5_000)
    world.serviceFaults.quoteLifetimeMs = 9 * MINUTE
    await world.runFor(80 * MINUTE)
    expect(world.watch.signatures).toBe(0)
    expect(outcomes(world, 'hourly')[0]).toBe('expired too-late')
    expectSound(world)
  })

  describe.each(['swap', 'call'])('while the record of a %s is written', (kind) => {
    const name = kind === 'swap' ? 'hourly' : 'claim'

    /** Runs `act` when the record is written. */
    async function recording(act: (world: World) => void): Promise<World> {
      const world = kind === 'swap' ? swaps('record') : calls('record')
      await untilSlot(world)
      world.disk.onAppend = (type) => {
        if (!type.endsWith('-recorded') || type === 'transaction-recorded') return
        world.disk.onAppend = undefined
        act(world)
      }
      await world.runFor(MINUTE)
      expect(world.watch.signatures + world.aggregation.watch.signatures).toBe(0)
      return world
    }
    const types = (world: World) => world.disk.events().map(({ type }) => type)

    test('is withdrawn', async () => {
      const world = await recording(({ clock }) => clock.stall(31 * MINUTE))
      await world.runFor(31 * MINUTE)
      expect(types(world)).toContain('authorization-withdrawn')
      expect(outcomes(world, name)).toEqual(['expired too-late'])
    })

    test('is withdrawn when only the clock is wrong, and filled once the clock is right', async () => {
      const world = await recording(({ clock }) => {
        clock.offsetMs = 31 * MINUTE
      })
      expect(types(world)).toContain('authorization-withdrawn')
      expect(outcomes(world, name)).toEqual([])
      world.clock.offsetMs = 0
      await world.runFor(MINUTE)
      expect(outcomes(world, name)).toEqual(['filled filled'])
      expectSound(world)
    })
  })
})
