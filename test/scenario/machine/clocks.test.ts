import { describe, expect, test } from 'vitest'
import { CRON_GRACE_MS } from '../../../src/engine/upcoming.ts'
import { World } from '../../simulation/simulation.ts'
import { aCallStrategy } from '../../support/aggregator/call-world.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

const FILLED = 'filled filled'

/** How clocks were told to differ. */
function troubles(world: World): string[] {
  return world.observations.flatMap((event) =>
    event.type === 'clock-trouble' ? [event.detail] : [],
  )
}

/** What was accounted for of slots, by kind of record. */
function accounted(world: World): string[] {
  const kinds = ['slot-opened', 'slot-closed', 'slots-missed', 'intent-closed']
  return world.disk.events().flatMap(({ type }) => (kinds.includes(type) ? [type] : []))
}

describe('clocks that disagree', () => {
  test.each([
    ["this machine's clock is 8 s behind", -8_000],
    ["this machine's clock is ten minutes ahead", 10 * MINUTE],
  ])('%s: no slot is opened or closed, and none is lost', async (_name, offsetMs) => {
    const world = new World({ seed: 'skew', strategies: [aStrategy()] })
    world.start()
    await world.runFor(HOUR + 30 * MINUTE)
    const before = accounted(world)
    world.clock.offsetMs = offsetMs
    await world.runFor(40 * MINUTE)
    expect(accounted(world)).toEqual(before)
    expect(troubles(world).length).toBeGreaterThan(0)
    world.clock.offsetMs = 0
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(Array(2).fill('filled filled'))
    expectSound(world)
  })

  test.each([
    ['ahead', 6_000],
    ['behind', -6_000],
  ])(
    'the service is 6 s %s: the order that finds out waits, and no other is opened',
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

  test('a disagreement within the tolerance trades', async () => {
    const world = new World({ seed: 'small skew', strategies: [aStrategy()] })
    world.serviceFaults.skewMs = 3_000
    world.start()
    await world.runFor(HOUR + MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('a clock set back doubles no slot', async () => {
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

  test('a clock set back over a restart doubles no slot either', async () => {
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

  test('a clock that jumps ten days ahead and comes back uses up no slot in between', async () => {
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

  test('a daemon started by a clock far ahead uses up no slots whose time has not come', async () => {
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

  test('a node that lags two minutes and more is not decided by, and its slots stay owed', async () => {
    const world = new World({ seed: 'lag', strategies: [aStrategy()] })
    world.start()
    await world.runFor(MINUTE)
    world.chainFaults.lagSeconds = 130
    await world.runFor(HOUR)
    expect(accounted(world)).toEqual([])
    expect(troubles(world)[0]).toMatch(/the newest block is \d+ s old/)
    world.chainFaults.lagSeconds = 0
    await world.runFor(MINUTE)
    expect(outcomes(world, 'hourly')).toEqual(['filled filled'])
    expectSound(world)
  })

  test('the clock is asked to wake at each cron text, in its zone, and at no interval', async () => {
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

  test('a cron task that is lost opens its slot half a second late, and costs none', async () => {
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

describe('an order that is over but for a clock that stands still', () => {
  /** What was told of it. */
  const told = (world: World): string[] =>
    world.observations.flatMap((event) =>
      event.type === 'disbelieved' && event.what === 'clock' && event.moneyWaits
        ? [`${event.service}: ${event.detail}`]
        : [],
    )

  /** A world whose order the service has ended, and whose permit is past its deadline in a minute. */
  async function lapsing(): Promise<World> {
    const world = new World({ seed: 'stands still', strategies: [aStrategy()] })
    world.serviceFaults.neverFills = 1
    world.start()
    await world.runFor(HOUR + 10_000)
    expect(world.state.intents.size).toBe(1)
    return world
  }

  test("of the service: it is told what is waited for, and the order ends once the service's clock goes on", async () => {
    const world = await lapsing()
    world.serviceFaults.skewMs = -HOUR
    await world.runFor(20 * MINUTE)
    expect([...world.state.intents.values()].map(({ state }) => state)).toEqual(['lapsing'])
    expect(told(world)[0]).toMatch(
      /^gasless: its permit's deadline has passed \d+ s ago by chain and machine, and not by the service's clock, which is 3600 s behind: it counts as live until/,
    )
    world.serviceFaults.skewMs = 0
    await world.runFor(5 * MINUTE)
    expect(world.state.intents.size).toBe(0)
    expectSound(world)
  })

  test('of this machine: it is told that the chain is ahead, and the order ends once it goes on', async () => {
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

describe('a clock that is wrong', () => {
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
  ])('%s for five seconds holds up no slot for longer', async (_name, offsetMs) => {
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
  ])('%s for half a minute uses up no slot and feeds no streak', async (_name, offsetMs) => {
    const world = new World({ seed: 'half a minute', strategies: strategies() })
    world.start()
    await world.runFor(MINUTE + 5_000)
    world.clock.offsetMs = offsetMs
    const slots = () => accounted(world).filter((type) => type !== 'intent-closed').length
    const before = slots()
    await world.runFor(30_000)
    // What was signed before ends as always, and closes its slot.
    expect(slots()).toBeLessThanOrEqual(before + NAMES.length)
    world.clock.offsetMs = 0
    await world.runFor(2 * MINUTE)
    for (const name of NAMES) {
      expect(new Set(outcomes(world, name))).toEqual(new Set([FILLED]))
      expect(world.state.strategies.get(name)?.failureStreak).toBe(0)
    }
    expectSound(world)
  })

  test.each(NAMES)(
    'ends no order of %s that waits, which goes on once it is right',
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

  test('keeps no halt from ending at once what is not signed', async () => {
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

test('an order that is really too late ends as that, once its clock is right again', async () => {
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
