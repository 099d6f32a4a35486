import { describe, expect, test } from 'vitest'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { aCallStrategy } from '../../support/aggregator/call-simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

const DAY = 24 * HOUR
const limits = { ...OPEN, maxOpenIntents: 100 }
/** Every ten minutes, with every missed slot caught up. */
const schedule = aSchedule('*/10 * * * *', { missed: 'all', maxLatenessMs: 6 * HOUR })
const swaps = aStrategy({ name: 'new', schedule, limits })
const calls = aCallStrategy({ name: 'new', schedule, limits })
const resident = aStrategy({ name: 'old' })
const residentCalls = aCallStrategy({ name: 'older' })

type Fault = {
  readonly name: string
  readonly begin: (sim: Simulation) => void
}

/** Shifts the time reported by the nodes of both chains. */
function nodeOff(seconds: number): Fault['begin'] {
  return (sim) => {
    Object.assign(sim.chainFaults, {
      lagSeconds: Math.max(0, seconds),
      aheadSeconds: Math.max(0, -seconds),
    })
    sim.aggregation.chainFaults.lagSeconds = seconds
  }
}

function clockOff(ms: number): Fault['begin'] {
  return (sim) => {
    sim.clock.offsetMs = ms
  }
}

const FAULTS: readonly Fault[] = [
  { name: 'the node lags by an hour', begin: nodeOff(3_600) },
  { name: 'the node lags by three minutes', begin: nodeOff(180) },
  { name: 'the node is an hour ahead', begin: nodeOff(-3_600) },
  { name: 'the clock is thirty days ahead', begin: clockOff(30 * DAY) },
  { name: 'the clock is half an hour behind', begin: clockOff(-30 * MINUTE) },
]

function end(sim: Simulation): void {
  nodeOff(0)(sim)
  sim.clock.offsetMs = 0
}

/** Slots of the new strategy that the journal accounts for, as minutes since the start of the simulation. */
function handledSlots(sim: Simulation, beganMs: number): readonly number[] {
  return sim.disk.events().flatMap((event) => {
    if (!('strategy' in event) || event.strategy !== 'new') return []
    if (event.type === 'slots-missed') return [(event.firstSeconds * 1000 - beganMs) / MINUTE]
    return event.type === 'slot-closed' ? [(event.slotSeconds * 1000 - beganMs) / MINUTE] : []
  })
}

const EACH = Array.from({ length: 12 }, (_, index) => 90 + index * 10)

describe.each([
  ['that swaps', swaps],
  ['that makes calls', calls],
] as const)('a strategy %s', (_name, strategy: Strategy) => {
  // The strategy is added after 85 minutes; the fault ends after 105.
  test.each(FAULTS)(
    'added while $name handles exactly the slots after it was added',
    async ({ begin }) => {
      const sim = new Simulation({ seed: 'added', strategies: [resident, residentCalls] })
      const beganMs = sim.clock.trueMs
      sim.start()
      await sim.runFor(84 * MINUTE)
      begin(sim)
      await sim.runFor(MINUTE)
      const reloaded = sim.control.reload({
        strategies: [resident, residentCalls, strategy],
        account: sim.account,
      })
      await sim.runFor(20 * MINUTE)
      await reloaded
      end(sim)
      sim.strategies = [resident, residentCalls, strategy]
      await sim.runFor(98 * MINUTE)
      expect(handledSlots(sim, beganMs).toSorted((a, b) => a - b)).toEqual(EACH)
      expect(outcomes(sim, 'new')).toEqual(EACH.map(() => 'filled filled'))
      expectSound(sim)
    },
  )

  test.each(FAULTS)(
    'present at the first start while $name handles exactly the slots after that start',
    async ({ begin }) => {
      const sim = new Simulation({ seed: 'first', strategies: [strategy] })
      const beganMs = sim.clock.trueMs
      await sim.runFor(84 * MINUTE)
      begin(sim)
      await sim.runFor(MINUTE)
      sim.start()
      await sim.runFor(20 * MINUTE)
      end(sim)
      await sim.runFor(98 * MINUTE)
      expect(handledSlots(sim, beganMs).toSorted((a, b) => a - b)).toEqual(EACH)
      expect(outcomes(sim, 'new')).toEqual(EACH.map(() => 'filled filled'))
      expectSound(sim)
    },
  )
})

test.each(FAULTS)(
  'a start while $name catches up no slot from before it under `missed: skip`',
  async ({ begin }) => {
    const skipping = aStrategy({
      name: 'new',
      schedule: { ...schedule, missed: 'skip' },
      limits,
    })
    const sim = new Simulation({ seed: 'skipping', strategies: [skipping] })
    const beganMs = sim.clock.trueMs
    sim.start()
    await sim.runFor(5 * MINUTE)
    sim.crash()
    await sim.runFor(79 * MINUTE)
    begin(sim)
    await sim.runFor(MINUTE)
    sim.start()
    await sim.runFor(20 * MINUTE)
    end(sim)
    await sim.runFor(20 * MINUTE)
    const opened = sim.disk
      .events()
      .flatMap((event) =>
        event.type === 'slot-opened' ? [(event.slotSeconds * 1000 - beganMs) / MINUTE] : [],
      )
    expect(opened.filter((minute) => minute < 90)).toEqual([])
    // Slots due during the fault may open after it or be superseded by the latest one.
    expect(opened).toContain(110)
    expectSound(sim)
  },
)

test('a lasting clock conflict is reported, and a strategy that waits for it refuses triggers', async () => {
  const sim = new Simulation({ seed: 'never', strategies: [resident] })
  sim.chainFaults.lagSeconds = 600
  sim.start()
  await sim.runFor(2 * HOUR)
  expect(sim.state.strategies.get('old')).toBeUndefined()
  const details = sim.observations.flatMap((each) =>
    each.type === 'clock-trouble' ? [each.detail] : [],
  )
  expect(details[0]).toMatch(
    /^the slots of old do not count before clocks agree: .* 6[01]\d s old$/,
  )
  const reply = sim.control.trigger('old')
  await sim.runFor(MINUTE)
  expect(await reply).toMatchObject({ ok: false })
  sim.chainFaults.lagSeconds = 0
  await sim.runFor(HOUR)
  expect(outcomes(sim, 'old')).toContain('filled filled')
  expectSound(sim)
})

test('a trigger during the registration of its strategy skips no slot', async () => {
  const sim = new Simulation({ seed: 'entered', strategies: [resident] })
  sim.chainFaults.lagSeconds = 600
  sim.start()
  await sim.runFor(2 * HOUR)
  sim.chainFaults.lagSeconds = 0
  const replies: Promise<unknown>[] = []
  while (sim.state.strategies.get('old') === undefined) {
    replies.push(sim.control.trigger('old'))
    await sim.runFor(2)
  }
  await sim.runFor(HOUR)
  await Promise.all(replies)
  expect(outcomes(sim, 'old').length).toBeGreaterThan(1)
  expectSound(sim)
})
