import { describe, expect, test } from 'vitest'
import { CRON_GRACE_MS } from '../../../src/engine/upcoming.ts'
import { World } from '../../simulation/simulation.ts'
import { aCallStrategy } from '../../support/aggregator/call-world.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

const FILLED = 'filled filled'

/** Details of the reported clock conflicts. */
function clockConflicts(world: World): string[] {
  return world.observations.flatMap((event) =>
    event.type === 'clock-trouble' ? [event.detail] : [],
  )
}

/** Types of the records that account for slots, in order. */
function accounted(world: World): string[] {
  const kinds = ['slot-opened', 'slot-closed', 'slots-missed', 'intent-closed']
  return world.disk.events().flatMap(({ type }) => (kinds.includes(type) ? [type] : []))
}

describe('clock conflicts', () => {
  test.each([
    ["this machine's clock is 8 s behind", -8_000],
    ["this machine's clock is ten minutes ahead", 10 * MINUTE],
  ])('%s: no slot opens or closes, and no slot is lost', async (_name, offsetMs) => {
    const world = new World({ seed: 'skew', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR + 30 * MINUTE)
    const before = accounted(world)
    world.clock.offsetMs = offsetMs
    await world.runFor(40 * MINUTE)
    expect(accounted(world)).toEqual(before)
    expect(clockConflicts(world).length).toBeGreaterThan(0)
    world.clock.offsetMs = 0
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('filled filled'))
    expectSound(world)
  })

  test.each([
    ['ahead', 6_000],
    ['behind', -6_000],
  ])(
    'the service is 6 s %s: the order that detects it waits, and no other slot opens',
    async (_name, skewMs) => {
      const schedule = aSchedule('* * * * *', { missed: 'all' })
      const world = new World({ seed: 'skewed', strategies: [aStrategy({ schedule })] })
      world.start()
      await world.runFor(90_000)
      const before = accounted(world)
      world.serviceFaults.skewMs = skewMs
      await world.runFor(20 * MINUTE)
      expect(accounted(world)).toEqual([...before, 'slot-opened'])
      expect(world.watch.signatures).toBe(1)
      world.serviceFaults.skewMs = 0
      await world.runFor(3 * MINUTE)
      expect(new Set(outcomes(world, 'hourly'))).toEqual(new Set([FILLED]))
      expect(outcomes(world, 'hourly').length).toBeGreaterThan(20)
      expectSound(world)
    },
  )

  test('an order fills while clocks differ within the tolerance', async () => {
    const world = new World({ seed: 'small skew', strategies: [aStrategy()] })
    world.serviceFaults.skewMs = 3_000
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('a clock set back opens no slot twice', async () => {
    const world = new World({ seed: 'back', strategies: [aStrategy()] })
    world.start()
    await world.runFor(3 * HOUR + 30 * MINUTE)
    world.clock.offsetMs = -2 * HOUR
    await world.runFor(2 * HOUR + 29 * MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
    world.clock.offsetMs = 0
    await world.runFor(HOUR)
    expect(outcomes(world, 'hourly').at(-1)).toBe('filled filled')
    expectSound(world)
  })

  test('a clock set back across a restart opens no slot twice', async () => {
    const world = new World({ seed: 'back and restarted', strategies: [aStrategy()] })
    world.start()
    await world.runFor(3 * HOUR + 30 * MINUTE)
    world.crash()
    world.clock.offsetMs = -2 * HOUR
    world.start()
    await world.runFor(HOUR)
    world.clock.offsetMs = 0
    await world.runFor(HOUR)
    const slots = world.disk
      .events()
      .flatMap((event) => (event.type === 'slot-opened' ? [event.slotSeconds] : []))
    expect(new Set(slots).size).toBe(slots.length)
    expectSound(world)
  })

  test('a clock that jumps ten days ahead and returns consumes no slot in between', async () => {
    const world = new World({ seed: 'ahead', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR + 30 * MINUTE)
    world.clock.offsetMs = 10 * 24 * HOUR
    await world.runFor(5 * MINUTE)
    world.clock.offsetMs = 0
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
    expect(world.observations.some(({ type }) => type === 'clock-trouble')).toBe(true)
    expectSound(world)
  })

  test('a daemon started with a clock far ahead consumes no future slots', async () => {
    const world = new World({ seed: 'early', strategies: [aStrategy()] })
    world.clock.offsetMs = 10 * 24 * HOUR
    world.start()
    await world.runFor(MINUTE)
    world.stop('SIGTERM')
    await world.runFor(MINUTE)
    world.clock.offsetMs = 0
    world.start()
    await world.runFor(2 * HOUR)
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('filled filled'))
    expectSound(world)
  })

  test('a node that lags more than two minutes leads to no decision, and slots stay due', async () => {
    const world = new World({ seed: 'lag', strategies: [aStrategy()] })
    world.start()
    await world.runFor(MINUTE)
    world.chainFaults.lagSeconds = 130
    await world.runFor(HOUR)
    expect(accounted(world)).toEqual([])
    expect(clockConflicts(world)[0]).toMatch(/the newest block is \d+ s old/)
    world.chainFaults.lagSeconds = 0
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('the daemon schedules a wake-up per cron pattern and zone, and no wake-up per interval', async () => {
    const slices = {
      type: 'interval',
      everySeconds: 60,
      count: 3,
      startSeconds: undefined,
    } as const
    const world = new World({
      seed: 'woken',
      strategies: [
        aStrategy(),
        aStrategy({ name: 'slices', schedule: { ...aSchedule('0 * * * *'), ...slices } }),
      ],
    })
    world.start()
    await world.runFor(MINUTE)
    expect(world.clock.crons).toMatchObject([{ cron: '0 * * * *', timezone: 'UTC' }])
  })

  test('a lost cron task delays its slot by half a second and loses no slot', async () => {
    const openedAfterMs = async (losesCronTasks: boolean): Promise<readonly number[]> => {
      const world = new World({ seed: 'lost tasks', strategies: [aStrategy()] })
      world.clock.losesCronTasks = losesCronTasks
      world.start()
      await world.runFor(3 * HOUR + MINUTE)
      expect(outcomes(world, 'hourly')).toEqual(Array(3).fill('filled filled'))
      expectSound(world)
      return world.disk
        .records()
        .flatMap(({ event, atMs }) => (event.type === 'slot-opened' ? [atMs % HOUR] : []))
    }
    const inTime = await openedAfterMs(false)
    const late = await openedAfterMs(true)
    expect(Math.max(...inTime)).toBeLessThan(CRON_GRACE_MS)
    expect(Math.min(...late)).toBeGreaterThanOrEqual(CRON_GRACE_MS)
    expect(Math.max(...late)).toBeLessThan(2 * CRON_GRACE_MS)
  })
})

describe('an order past its deadline except by one clock that stands still', () => {
  /** Reported clock claims that an order waits for. */
  const clockClaims = (world: World): string[] =>
    world.observations.flatMap((event) =>
      event.type === 'disbelieved' && event.what === 'clock' && event.moneyWaits
        ? [`${event.service}: ${event.detail}`]
        : [],
    )

  /** A world whose order the service has ended and whose permit expires within a minute. */
  async function lapsing(): Promise<World> {
    const world = new World({ seed: 'stands still', strategies: [aStrategy()] })
    world.serviceFaults.neverFills = 1
    world.start()
    await world.runFor(HOUR + 10_000)
    expect(world.state.intents.size).toBe(1)
    return world
  }

  test("reports the service's clock as the cause, and ends once that clock moves on", async () => {
    const world = await lapsing()
    world.serviceFaults.skewMs = -HOUR
    await world.runFor(20 * MINUTE)
    expect([...world.state.intents.values()].map(({ state }) => state)).toEqual(['lapsing'])
    expect(clockClaims(world)[0]).toMatch(
      /^gasless: its permit's deadline has passed \d+ s ago by chain and machine, and not by the service's clock, which is 3600 s behind: it counts as live until/,
    )
    world.serviceFaults.skewMs = 0
    await world.runFor(5 * MINUTE)
    expect(world.state.intents.size).toBe(0)
    expectSound(world)
  })

  test("reports a chain failure for this machine's clock, and ends once that clock moves on", async () => {
    const world = await lapsing()
    world.clock.offsetMs = -HOUR
    await world.runFor(20 * MINUTE)
    expect(world.state.intents.size).toBe(1)
    const doing = world.observations.flatMap((event) =>
      event.type === 'chain-trouble' ? [event.doing] : [],
    )
    expect(doing).toContain('finding an order dead')
    world.clock.offsetMs = 0
    await world.runFor(5 * MINUTE)
    expect(world.state.intents.size).toBe(0)
  })
})

describe('a wrong clock', () => {
  const EACH_TEN_SECONDS = aSchedule('*/10 * * * * *', {
    missed: 'all',
    maxLatenessMs: 10 * MINUTE,
  })
  const THREE_FAILURES = { ...OPEN, maxFailures: 3 }
  const strategies = () => [
    aStrategy({ schedule: EACH_TEN_SECONDS, limits: THREE_FAILURES }),
    aCallStrategy({ schedule: EACH_TEN_SECONDS, limits: THREE_FAILURES }),
  ]
  const NAMES = ['hourly', 'claim']

  /** How late each slot was decided, ms. */
  const lateness = (world: World) =>
    world.disk
      .events()
      .flatMap((event) =>
        event.type === 'slot-opened' || event.type === 'slot-closed'
          ? (event.decidedAtMs ?? 0) - event.slotSeconds * 1_000
          : [],
      )
      .filter((ms) => ms > -1_000_000_000)

  test.each([
    ['an hour back', -HOUR],
    ['25 hours back', -25 * HOUR],
    ['25 hours ahead', 25 * HOUR],
  ])('%s for five seconds delays no slot for longer', async (_name, offsetMs) => {
    const world = new World({ seed: 'five seconds', strategies: strategies() })
    world.start()
    await world.runFor(2 * MINUTE + 7_000)
    const before = outcomes(world, 'claim').length
    world.clock.offsetMs = offsetMs
    await world.runFor(5_000)
    world.clock.offsetMs = 0
    await world.runFor(MINUTE)
    expect(outcomes(world, 'claim').length - before).toBeGreaterThanOrEqual(5)
    expect(Math.max(...lateness(world))).toBeLessThanOrEqual(5_000)
    expect(Math.min(...lateness(world))).toBeGreaterThanOrEqual(0)
    for (const name of NAMES) expect(new Set(outcomes(world, name))).toEqual(new Set([FILLED]))
    expectSound(world)
  })

  test.each([
    ['25 hours ahead', 25 * HOUR],
    ['ten years ahead', 3_652 * 24 * HOUR],
    ['25 hours back', -25 * HOUR],
  ])(
    '%s for half a minute consumes no slot and extends no failure streak',
    async (_name, offsetMs) => {
      const world = new World({ seed: 'half a minute', strategies: strategies() })
      world.start()
      await world.runFor(MINUTE + 5_000)
      world.clock.offsetMs = offsetMs
      const slots = () => accounted(world).filter((type) => type !== 'intent-closed').length
      const before = slots()
      await world.runFor(30_000)
      // Authorizations signed before still end and close their slots.
      expect(slots()).toBeLessThanOrEqual(before + NAMES.length)
      world.clock.offsetMs = 0
      await world.runFor(2 * MINUTE)
      for (const name of NAMES) {
        expect(new Set(outcomes(world, name))).toEqual(new Set([FILLED]))
        expect(world.state.strategies.get(name)?.failureStreak).toBe(0)
      }
      expectSound(world)
    },
  )

  test.each(NAMES)(
    'ends no waiting order of %s, which continues once the clock is right',
    async (name) => {
      const world = new World({ seed: 'waits', strategies: strategies() })
      world.start()
      await world.runFor(25_000)
      world.serviceFaults.down = true
      world.aggregation.chainFaults.nonceBehind = true
      await world.runFor(10_000)
      const open = [...world.state.intents.values()].filter(
        ({ intent, state }) => intent.strategy === name && state === 'planned',
      )
      expect(open).toHaveLength(1)
      world.clock.offsetMs = 25 * HOUR
      await world.runFor(MINUTE)
      expect(open.map(({ state }) => state)).toEqual(['planned'])
      world.clock.offsetMs = 0
      world.serviceFaults.down = false
      world.aggregation.chainFaults.nonceBehind = false
      await world.runFor(2 * MINUTE)
      expect(new Set(outcomes(world, name))).toEqual(new Set([FILLED]))
      expectSound(world)
    },
  )

  test('does not keep a halt from ending unsigned orders at once', async () => {
    const world = new World({ seed: 'halted', strategies: strategies() })
    world.serviceFaults.down = true
    world.start()
    await world.runFor(25_000)
    world.clock.offsetMs = 25 * HOUR
    await world.runFor(MINUTE)
    expect([...world.state.intents.values()].some(({ state }) => state === 'planned')).toBe(true)
    await Promise.all([world.control.halt(), world.runFor(2_000)])
    expect([...world.state.intents.values()].some(({ state }) => state === 'planned')).toBe(false)
    expect(outcomes(world, 'hourly').at(-1)).toBe('skipped halted')
  })
})

test('an order past its maximum lateness ends as too-late once the clock is right', async () => {
  const schedule = aSchedule('0 * * * *', { maxLatenessMs: 5 * MINUTE })
  const world = new World({ seed: 'really late', strategies: [aStrategy({ schedule })] })
  world.serviceFaults.down = true
  world.start()
  await world.runFor(HOUR + MINUTE)
  world.clock.offsetMs = -3 * HOUR
  await world.runFor(10 * MINUTE)
  expect(outcomes(world, 'hourly')).toEqual([])
  world.clock.offsetMs = 0
  await world.runFor(MINUTE)
  expect(outcomes(world, 'hourly')).toEqual(['expired too-late'])
})
