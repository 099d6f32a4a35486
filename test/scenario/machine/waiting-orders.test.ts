import { describe, expect, test } from 'vitest'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { Simulation } from '../../simulation/simulation.ts'
import {
  aCallStrategy,
  callSimulation,
  executed,
} from '../../support/aggregator/call-simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE } from '../../support/builders.ts'
import { untilEvent } from '../../support/simulations/run-until.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

const HALF_HOUR_LATE = aSchedule('0 * * * *', { maxLatenessMs: 30 * MINUTE })

function swaps(seed: string): Simulation {
  return new Simulation({ seed, strategies: [aStrategy({ schedule: HALF_HOUR_LATE })] })
}

function calls(seed: string): Simulation {
  return callSimulation({ seed, strategies: [aCallStrategy({ schedule: HALF_HOUR_LATE })] })
}

type WaitEvent = Extract<RuntimeEvent, { type: 'order-waits' | 'order-waited' }>

/** Published wait events, in order. */
function waits(sim: Simulation): string[] {
  return sim.observations
    .filter(
      (event): event is WaitEvent => event.type === 'order-waits' || event.type === 'order-waited',
    )
    .map(({ type, reason }) => `${type} ${reason}`)
}

/** Detail of each closed intent. */
function details(sim: Simulation): (string | undefined)[] {
  return sim.disk
    .events()
    .flatMap((event) => (event.type === 'intent-closed' ? [event.detail] : []))
}

async function untilSlot(sim: Simulation): Promise<void> {
  sim.start()
  await sim.runFor(HOUR - 100)
}

describe('an unsigned order within its maximum lateness', () => {
  test.each([5_000, 9_000, 20 * MINUTE])(
    'waits for a service that is down for %d ms, reported once at the start and once at the end',
    async (awayMs) => {
      const sim = swaps(`away for ${awayMs}`)
      await untilSlot(sim)
      sim.loseServiceFor(awayMs)
      await sim.runFor(awayMs + 2 * MINUTE)
      expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
      expect(waits(sim)).toEqual([
        'order-waits quote-unavailable',
        'order-waited quote-unavailable',
      ])
      expectSound(sim)
    },
  )

  test("waits for the service's rate limit", async () => {
    const sim = swaps('limits')
    await untilSlot(sim)
    sim.serviceFaults.rateLimited = 1
    await sim.runFor(10 * MINUTE)
    sim.serviceFaults.rateLimited = 0
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(waits(sim)).toHaveLength(2)
    expectSound(sim)
  })

  test('waits for a node that is silent after the decision', async () => {
    const sim = swaps('node')
    sim.queueDelaysMs = { quote: 500 }
    await untilSlot(sim)
    await sim.runFor(400)
    sim.chainFaults.down = true
    await sim.runFor(10 * MINUTE)
    sim.chainFaults.down = false
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(waits(sim)[0]).toBe('order-waits chain-unavailable')
    expectSound(sim)
  })

  test('waits while clocks disagree and while quotes expire too soon', async () => {
    const sim = swaps('clocks')
    await untilSlot(sim)
    await untilEvent(sim, 'slot-opened')
    sim.serviceFaults.skewMs = 6_000
    await sim.runFor(5 * MINUTE)
    expect(waits(sim)).toEqual(['order-waits clock-skew'])
    Object.assign(sim.serviceFaults, { skewMs: 0, quoteLifetimeMs: 9_000 })
    await sim.runFor(5 * MINUTE)
    expect(sim.watch.signatures).toBe(0)
    sim.serviceFaults.quoteLifetimeMs = 60_000
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expect(waits(sim)).toEqual(['order-waits clock-skew', 'order-waited quote-stale'])
    expectSound(sim)
  })

  test('expires with its slot and reports the cause of the wait', async () => {
    const sim = swaps('too long')
    await untilSlot(sim)
    sim.serviceFaults.down = true
    await sim.runFor(29 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual([])
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['expired too-late'])
    expect(details(sim)[0]).toMatch(/maxLateness has passed; the last failure: quote-unavailable, /)
    expect(sim.watch.signatures).toBe(0)
    expectSound(sim)
  })

  test('ends at once after a definite refusal', async () => {
    const sim = swaps('refused')
    sim.serviceFaults.tamper = (quote) => ({ ...quote, spender: quote.from })
    await untilSlot(sim)
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['refused spender-not-allowed'])
    expect(waits(sim)).toEqual([])
  })

  test.each<[string, (sim: Simulation) => unknown, string]>([
    ['a halt', (sim) => sim.control.halt(), 'skipped halted'],
    ['a pause', (sim) => sim.control.pause('hourly'), 'skipped paused'],
    [
      'the removal of its strategy',
      (sim) => sim.control.reload({ strategies: [], account: sim.account }),
      'failed strategy-removed',
    ],
  ])('ends within two seconds of %s', async (_what, act, end) => {
    const sim = swaps('ended')
    await untilSlot(sim)
    sim.serviceFaults.down = true
    await sim.runFor(10 * MINUTE)
    await Promise.all([act(sim), sim.runFor(2_000)])
    expect(outcomes(sim, 'hourly')).toEqual([end])
    expectSound(sim)
  })

  test('does not delay a drain, and the next start resumes it', async () => {
    const sim = swaps('drained')
    await untilSlot(sim)
    sim.serviceFaults.down = true
    await sim.runFor(5 * MINUTE)
    sim.stop('SIGTERM')
    await sim.runFor(1_000)
    expect(sim.ended).toBe('returned')
    sim.serviceFaults.down = false
    sim.start()
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('counts as open, so later slots are skipped', async () => {
    const schedule = aSchedule('*/10 * * * *', { maxLatenessMs: 40 * MINUTE, overlap: 'skip' })
    const sim = new Simulation({ seed: 'open', strategies: [aStrategy({ schedule })] })
    sim.serviceFaults.down = true
    sim.start()
    await sim.runFor(35 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(Array(2).fill('skipped too-many-open'))
    sim.serviceFaults.down = false
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'hourly').at(-1)).toBe('filled filled')
    expectSound(sim)
  })
})

describe('a call before its record', () => {
  test.each([9_000, 20 * MINUTE])('waits for a node that is down for %d ms', async (awayMs) => {
    const sim = calls(`call ${awayMs}`)
    await untilSlot(sim)
    await untilEvent(sim, 'slot-opened')
    sim.aggregation.chainFaults.down = true
    await sim.runFor(awayMs)
    sim.aggregation.chainFaults.down = false
    await sim.runFor(2 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['filled filled'])
    expect(executed(sim)).toBe(1)
    expect(waits(sim)).toEqual(['order-waits chain-unavailable', 'order-waited chain-unavailable'])
    expectSound(sim)
  })

  test('expires with its slot once a node confirms the time', async () => {
    const sim = calls('call too late')
    await untilSlot(sim)
    await untilEvent(sim, 'slot-opened')
    sim.aggregation.chainFaults.down = true
    await sim.runFor(31 * MINUTE)
    expect(outcomes(sim, 'claim')).toEqual([])
    sim.aggregation.chainFaults.down = false
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'claim')).toEqual(['expired too-late'])
    expect(details(sim)[0]).toMatch(/the last failure: chain-unavailable, /)
    expect(sim.aggregation.watch.signatures).toBe(0)
  })
})

describe('an order whose slot becomes too late', () => {
  test('is not signed after a wait in the queue', async () => {
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: MINUTE })
    const sim = new Simulation({ seed: 'turn', strategies: [aStrategy({ schedule })] })
    sim.serviceFaults.quoteLifetimeMs = 9 * MINUTE
    sim.queueDelayMs = 90_000
    sim.start()
    await sim.runFor(HOUR + 5 * MINUTE)
    expect(sim.watch.signatures).toBe(0)
    expect(outcomes(sim, 'hourly')).toEqual(['expired too-late'])
    expectSound(sim)
  })

  test('is not signed after more than an hour of 429s and stale quotes', async () => {
    const schedule = aSchedule('0 * * * *', { maxLatenessMs: MINUTE })
    const sim = new Simulation({ seed: 'held', strategies: [aStrategy({ schedule })] })
    await untilSlot(sim)
    sim.serviceFaults.rateLimited = 1
    sim.serviceFaults.quoteLifetimeMs = 9_000
    await sim.runFor(40_000)
    sim.serviceFaults.rateLimited = 0
    sim.queueDelayMs = 20 * MINUTE
    await sim.runFor(5_000)
    sim.serviceFaults.quoteLifetimeMs = 9 * MINUTE
    await sim.runFor(80 * MINUTE)
    expect(sim.watch.signatures).toBe(0)
    expect(outcomes(sim, 'hourly')[0]).toBe('expired too-late')
    expectSound(sim)
  })

  describe.each(['swap', 'call'])('while the record of a %s is written', (kind) => {
    const name = kind === 'swap' ? 'hourly' : 'claim'

    /** Runs `act` when the record is written. */
    async function recording(act: (sim: Simulation) => void): Promise<Simulation> {
      const sim = kind === 'swap' ? swaps('record') : calls('record')
      await untilSlot(sim)
      sim.disk.onAppend = (type) => {
        if (!type.endsWith('-recorded') || type === 'transaction-recorded') return
        sim.disk.onAppend = undefined
        act(sim)
      }
      await sim.runFor(MINUTE)
      expect(sim.watch.signatures + sim.aggregation.watch.signatures).toBe(0)
      return sim
    }
    const types = (sim: Simulation) => sim.disk.events().map(({ type }) => type)

    test('is withdrawn', async () => {
      const sim = await recording(({ clock }) => clock.stall(31 * MINUTE))
      await sim.runFor(31 * MINUTE)
      expect(types(sim)).toContain('authorization-withdrawn')
      expect(outcomes(sim, name)).toEqual(['expired too-late'])
    })

    test('is withdrawn when only the clock is wrong, and filled once the clock is right', async () => {
      const sim = await recording(({ clock }) => {
        clock.offsetMs = 31 * MINUTE
      })
      expect(types(sim)).toContain('authorization-withdrawn')
      expect(outcomes(sim, name)).toEqual([])
      sim.clock.offsetMs = 0
      await sim.runFor(MINUTE)
      expect(outcomes(sim, name)).toEqual(['filled filled'])
      expectSound(sim)
    })
  })
})
