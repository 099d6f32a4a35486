import { describe, expect, test } from 'vitest'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { World } from '../../simulation/simulation.ts'
import { aCallStrategy } from '../../support/aggregator/call-world.ts'
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
  readonly begin: (world: World) => void
}

/** Shifts the time reported by the nodes of both chains. */
function nodeOff(seconds: number): Fault['begin'] {
  return (world) => {
    Object.assign(world.chainFaults, {
      lagSeconds: Math.max(0, seconds),
      aheadSeconds: Math.max(0, -seconds),
    })
    world.aggregation.chainFaults.lagSeconds = seconds
  }
}

function clockOff(ms: number): Fault['begin'] {
  return (world) => {
    world.clock.offsetMs = ms
  }
}

const FAULTS: readonly Fault[] = [
  { name: 'the node lags by an hour', begin: nodeOff(3_600) },
  { name: 'the node lags by three minutes', begin: nodeOff(180) },
  { name: 'the node is an hour ahead', begin: nodeOff(-3_600) },
  { name: 'the clock is thirty days ahead', begin: clockOff(30 * DAY) },
  { name: 'the clock is half an hour behind', begin: clockOff(-30 * MINUTE) },
]

function end(world: World): void {
  nodeOff(0)(world)
  world.clock.offsetMs = 0
}

/** Slots of the new strategy that the journal accounts for, as minutes since the start of the simulation. */
function handledSlots(world: World, beganMs: number): readonly number[] {
  return world.disk.events().flatMap((event) => {
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
      const world = new World({ seed: 'added', strategies: [resident, residentCalls] })
      const beganMs = world.clock.trueMs
      world.start()
      await world.runFor(84 * MINUTE)
      begin(world)
      await world.runFor(MINUTE)
      const reloaded = world.control.reload({
        strategies: [resident, residentCalls, strategy],
        account: world.account,
      })
      await world.runFor(20 * MINUTE)
      await reloaded
      end(world)
      world.strategies = [resident, residentCalls, strategy]
      await world.runFor(98 * MINUTE)
      expect(handledSlots(world, beganMs).toSorted((a, b) => a - b)).toEqual(EACH)
      expect(outcomes(world, 'new')).toEqual(EACH.map(() => 'filled filled'))
      expectSound(world)
    },
  )

  test.each(FAULTS)(
    'present at the first start while $name handles exactly the slots after that start',
    async ({ begin }) => {
      const world = new World({ seed: 'first', strategies: [strategy] })
      const beganMs = world.clock.trueMs
      await world.runFor(84 * MINUTE)
      begin(world)
      await world.runFor(MINUTE)
      world.start()
      await world.runFor(20 * MINUTE)
      end(world)
      await world.runFor(98 * MINUTE)
      expect(handledSlots(world, beganMs).toSorted((a, b) => a - b)).toEqual(EACH)
      expect(outcomes(world, 'new')).toEqual(EACH.map(() => 'filled filled'))
      expectSound(world)
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
    const world = new World({ seed: 'skipping', strategies: [skipping] })
    const beganMs = world.clock.trueMs
    world.start()
    await world.runFor(5 * MINUTE)
    world.crash()
    await world.runFor(79 * MINUTE)
    begin(world)
    await world.runFor(MINUTE)
    world.start()
    await world.runFor(20 * MINUTE)
    end(world)
    await world.runFor(20 * MINUTE)
    const opened = world.disk
      .events()
      .flatMap((event) =>
        event.type === 'slot-opened' ? [(event.slotSeconds * 1000 - beganMs) / MINUTE] : [],
      )
    expect(opened.filter((minute) => minute < 90)).toEqual([])
    // Slots due during the fault may open after it or be superseded by the latest one.
    expect(opened).toContain(110)
    expectSound(world)
  },
)

test('a lasting clock conflict is reported, and a strategy that waits for it refuses triggers', async () => {
  const world = new World({ seed: 'never', strategies: [resident] })
  world.chainFaults.lagSeconds = 600
  world.start()
  await world.runFor(2 * HOUR)
  expect(world.state.strategies.get('old')).toBeUndefined()
  const details = world.observations.flatMap((each) =>
    each.type === 'clock-trouble' ? [each.detail] : [],
  )
  expect(details[0]).toMatch(
    /^the slots of old do not count before clocks agree: .* 6[01]\d s old$/,
  )
  const reply = world.control.trigger('old')
  await world.runFor(MINUTE)
  expect(await reply).toMatchObject({ ok: false })
  world.chainFaults.lagSeconds = 0
  await world.runFor(HOUR)
  expect(outcomes(world, 'old')).toContain('filled filled')
  expectSound(world)
})

test('a trigger during the registration of its strategy skips no slot', async () => {
  const world = new World({ seed: 'entered', strategies: [resident] })
  world.chainFaults.lagSeconds = 600
  world.start()
  await world.runFor(2 * HOUR)
  world.chainFaults.lagSeconds = 0
  const replies: Promise<unknown>[] = []
  while (world.state.strategies.get('old') === undefined) {
    replies.push(world.control.trigger('old'))
    await world.runFor(2)
  }
  await world.runFor(HOUR)
  await Promise.all(replies)
  expect(outcomes(world, 'old').length).toBeGreaterThan(1)
  expectSound(world)
})
