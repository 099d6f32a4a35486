import { describe, expect, test } from 'vitest'
import { CRON_GRACE_MS } from '../../../src/engine/upcoming.ts'
import { Simulation } from '../../simulation/simulation.ts'
import { aCallStrategy } from '../../support/aggregator/call-simulation.ts'
import { aSchedule, aStrategy, HOUR, MINUTE, OPEN } from '../../support/builders.ts'
import { expectSound, outcomes } from '../../support/sound.ts'

const FILLED = 'filled filled'

/** Details of the reported clock conflicts. */
function clockConflicts(sim: Simulation): string[] {
  return sim.observations.flatMap((event) => (event.type === 'clock-trouble' ? [event.detail] : []))
}

/** Types of the records that account for slots, in order. */
function accounted(sim: Simulation): string[] {
  const kinds = ['slot-opened', 'slot-closed', 'slots-missed', 'intent-closed']
  return sim.disk.events().flatMap(({ type }) => (kinds.includes(type) ? [type] : []))
}

describe('clock conflicts', () => {
  test.each([
    ["this machine's clock is 8 s behind", -8_000],
    ["this machine's clock is ten minutes ahead", 10 * MINUTE],
  ])('%s: no slot opens or closes, and no slot is lost', async (_name, offsetMs) => {
    const sim = new Simulation({ seed: 'skew', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR + 30 * MINUTE)
    const before = accounted(sim)
    sim.clock.offsetMs = offsetMs
    await sim.runFor(40 * MINUTE)
    expect(accounted(sim)).toEqual(before)
    expect(clockConflicts(sim).length).toBeGreaterThan(0)
    sim.clock.offsetMs = 0
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(Array(2).fill('filled filled'))
    expectSound(sim)
  })

  test.each([
    ['ahead', 6_000],
    ['behind', -6_000],
  ])(
    'the service is 6 s %s: the order that detects it waits, and no other slot opens',
    async (_name, skewMs) => {
      const schedule = aSchedule('* * * * *', { missed: 'all' })
      const sim = new Simulation({ seed: 'skewed', strategies: [aStrategy({ schedule })] })
      sim.start()
      await sim.runFor(90_000)
      const before = accounted(sim)
      sim.serviceFaults.skewMs = skewMs
      await sim.runFor(20 * MINUTE)
      expect(accounted(sim)).toEqual([...before, 'slot-opened'])
      expect(sim.watch.signatures).toBe(1)
      sim.serviceFaults.skewMs = 0
      await sim.runFor(3 * MINUTE)
      expect(new Set(outcomes(sim, 'hourly'))).toEqual(new Set([FILLED]))
      expect(outcomes(sim, 'hourly').length).toBeGreaterThan(20)
      expectSound(sim)
    },
  )

  test('an order fills while clocks differ within the tolerance', async () => {
    const sim = new Simulation({ seed: 'small skew', strategies: [aStrategy()] })
    sim.serviceFaults.skewMs = 3_000
    sim.start()
    await sim.runFor(HOUR + MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('a clock set back opens no slot twice', async () => {
    const sim = new Simulation({ seed: 'back', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(3 * HOUR + 30 * MINUTE)
    sim.clock.offsetMs = -2 * HOUR
    await sim.runFor(2 * HOUR + 29 * MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('filled filled'))
    sim.clock.offsetMs = 0
    await sim.runFor(HOUR)
    expect(outcomes(sim, 'hourly').at(-1)).toBe('filled filled')
    expectSound(sim)
  })

  test('a clock set back across a restart opens no slot twice', async () => {
    const sim = new Simulation({ seed: 'back and restarted', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(3 * HOUR + 30 * MINUTE)
    sim.crash()
    sim.clock.offsetMs = -2 * HOUR
    sim.start()
    await sim.runFor(HOUR)
    sim.clock.offsetMs = 0
    await sim.runFor(HOUR)
    const slots = sim.disk
      .events()
      .flatMap((event) => (event.type === 'slot-opened' ? [event.slotSeconds] : []))
    expect(new Set(slots).size).toBe(slots.length)
    expectSound(sim)
  })

  test('a clock that jumps ten days ahead and returns consumes no slot in between', async () => {
    const sim = new Simulation({ seed: 'ahead', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(HOUR + 30 * MINUTE)
    sim.clock.offsetMs = 10 * 24 * HOUR
    await sim.runFor(5 * MINUTE)
    sim.clock.offsetMs = 0
    await sim.runFor(2 * HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('filled filled'))
    expect(sim.observations.some(({ type }) => type === 'clock-trouble')).toBe(true)
    expectSound(sim)
  })

  test('a daemon started with a clock far ahead consumes no future slots', async () => {
    const sim = new Simulation({ seed: 'early', strategies: [aStrategy()] })
    sim.clock.offsetMs = 10 * 24 * HOUR
    sim.start()
    await sim.runFor(MINUTE)
    sim.stop('SIGTERM')
    await sim.runFor(MINUTE)
    sim.clock.offsetMs = 0
    sim.start()
    await sim.runFor(2 * HOUR)
    expect(outcomes(sim, 'hourly')).toEqual(Array(2).fill('filled filled'))
    expectSound(sim)
  })

  test('a node that lags more than two minutes leads to no decision, and slots stay due', async () => {
    const sim = new Simulation({ seed: 'lag', strategies: [aStrategy()] })
    sim.start()
    await sim.runFor(MINUTE)
    sim.chainFaults.lagSeconds = 130
    await sim.runFor(HOUR)
    expect(accounted(sim)).toEqual([])
    expect(clockConflicts(sim)[0]).toMatch(/the newest block is \d+ s old/)
    sim.chainFaults.lagSeconds = 0
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'hourly')).toEqual(['filled filled'])
    expectSound(sim)
  })

  test('the daemon schedules a wake-up per cron pattern and zone, and no wake-up per interval', async () => {
    const slices = {
      type: 'interval',
      everySeconds: 60,
      count: 3,
      startSeconds: undefined,
    } as const
    const sim = new Simulation({
      seed: 'woken',
      strategies: [
        aStrategy(),
        aStrategy({ name: 'slices', schedule: { ...aSchedule('0 * * * *'), ...slices } }),
      ],
    })
    sim.start()
    await sim.runFor(MINUTE)
    expect(sim.clock.crons).toMatchObject([{ cron: '0 * * * *', timezone: 'UTC' }])
  })

  test('a lost cron task delays its slot by half a second and loses no slot', async () => {
    const openedAfterMs = async (losesCronTasks: boolean): Promise<readonly number[]> => {
      const sim = new Simulation({ seed: 'lost tasks', strategies: [aStrategy()] })
      sim.clock.losesCronTasks = losesCronTasks
      sim.start()
      await sim.runFor(3 * HOUR + MINUTE)
      expect(outcomes(sim, 'hourly')).toEqual(Array(3).fill('filled filled'))
      expectSound(sim)
      return sim.disk
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
  const clockClaims = (sim: Simulation): string[] =>
    sim.observations.flatMap((event) =>
      event.type === 'disbelieved' && event.what === 'clock' && event.moneyWaits
        ? [`${event.service}: ${event.detail}`]
        : [],
    )

  /** A simulation whose order the service has ended and whose permit expires within a minute. */
  async function lapsing(): Promise<Simulation> {
    const sim = new Simulation({ seed: 'stands still', strategies: [aStrategy()] })
    sim.serviceFaults.neverFills = 1
    sim.start()
    await sim.runFor(HOUR + 10_000)
    expect(sim.state.intents.size).toBe(1)
    return sim
  }

  test("reports the service's clock as the cause, and ends once that clock moves on", async () => {
    const sim = await lapsing()
    sim.serviceFaults.skewMs = -HOUR
    await sim.runFor(20 * MINUTE)
    expect([...sim.state.intents.values()].map(({ state }) => state)).toEqual(['lapsing'])
    expect(clockClaims(sim)[0]).toMatch(
      /^gasless: its permit's deadline has passed \d+ s ago by chain and machine, and not by the service's clock, which is 3600 s behind: it counts as live until/,
    )
    sim.serviceFaults.skewMs = 0
    await sim.runFor(5 * MINUTE)
    expect(sim.state.intents.size).toBe(0)
    expectSound(sim)
  })

  test("reports a chain failure for this machine's clock, and ends once that clock moves on", async () => {
    const sim = await lapsing()
    sim.clock.offsetMs = -HOUR
    await sim.runFor(20 * MINUTE)
    expect(sim.state.intents.size).toBe(1)
    const doing = sim.observations.flatMap((event) =>
      event.type === 'chain-trouble' ? [event.doing] : [],
    )
    expect(doing).toContain('finding an order dead')
    sim.clock.offsetMs = 0
    await sim.runFor(5 * MINUTE)
    expect(sim.state.intents.size).toBe(0)
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
  const lateness = (sim: Simulation) =>
    sim.disk
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
    const sim = new Simulation({ seed: 'five seconds', strategies: strategies() })
    sim.start()
    await sim.runFor(2 * MINUTE + 7_000)
    const before = outcomes(sim, 'claim').length
    sim.clock.offsetMs = offsetMs
    await sim.runFor(5_000)
    sim.clock.offsetMs = 0
    await sim.runFor(MINUTE)
    expect(outcomes(sim, 'claim').length - before).toBeGreaterThanOrEqual(5)
    expect(Math.max(...lateness(sim))).toBeLessThanOrEqual(5_000)
    expect(Math.min(...lateness(sim))).toBeGreaterThanOrEqual(0)
    for (const name of NAMES) expect(new Set(outcomes(sim, name))).toEqual(new Set([FILLED]))
    expectSound(sim)
  })

  test.each([
    ['25 hours ahead', 25 * HOUR],
    ['ten years ahead', 3_652 * 24 * HOUR],
    ['25 hours back', -25 * HOUR],
  ])(
    '%s for half a minute consumes no slot and extends no failure streak',
    async (_name, offsetMs) => {
      const sim = new Simulation({ seed: 'half a minute', strategies: strategies() })
      sim.start()
      await sim.runFor(MINUTE + 5_000)
      sim.clock.offsetMs = offsetMs
      const slots = () => accounted(sim).filter((type) => type !== 'intent-closed').length
      const before = slots()
      await sim.runFor(30_000)
      // Authorizations signed before still end and close their slots.
      expect(slots()).toBeLessThanOrEqual(before + NAMES.length)
      sim.clock.offsetMs = 0
      await sim.runFor(2 * MINUTE)
      for (const name of NAMES) {
        expect(new Set(outcomes(sim, name))).toEqual(new Set([FILLED]))
        expect(sim.state.strategies.get(name)?.failureStreak).toBe(0)
      }
      expectSound(sim)
    },
  )

  test.each(NAMES)(
    'ends no waiting order of %s, which continues once the clock is right',
    async (name) => {
      const sim = new Simulation({ seed: 'waits', strategies: strategies() })
      sim.start()
      await sim.runFor(25_000)
      sim.serviceFaults.down = true
      sim.aggregation.chainFaults.nonceBehind = true
      await sim.runFor(10_000)
      const open = [...sim.state.intents.values()].filter(
        ({ intent, state }) => intent.strategy === name && state === 'planned',
      )
      expect(open).toHaveLength(1)
      sim.clock.offsetMs = 25 * HOUR
      await sim.runFor(MINUTE)
      expect(open.map(({ state }) => state)).toEqual(['planned'])
      sim.clock.offsetMs = 0
      sim.serviceFaults.down = false
      sim.aggregation.chainFaults.nonceBehind = false
      await sim.runFor(2 * MINUTE)
      expect(new Set(outcomes(sim, name))).toEqual(new Set([FILLED]))
      expectSound(sim)
    },
  )

  test('does not keep a halt from ending unsigned orders at once', async () => {
    const sim = new Simulation({ seed: 'halted', strategies: strategies() })
    sim.serviceFaults.down = true
    sim.start()
    await sim.runFor(25_000)
    sim.clock.offsetMs = 25 * HOUR
    await sim.runFor(MINUTE)
    expect([...sim.state.intents.values()].some(({ state }) => state === 'planned')).toBe(true)
    await Promise.all([sim.control.halt(), sim.runFor(2_000)])
    expect([...sim.state.intents.values()].some(({ state }) => state === 'planned')).toBe(false)
    expect(outcomes(sim, 'hourly').at(-1)).toBe('skipped halted')
  })
})

test('an order past its maximum lateness ends as too-late once the clock is right', async () => {
  const schedule = aSchedule('0 * * * *', { maxLatenessMs: 5 * MINUTE })
  const sim = new Simulation({ seed: 'really late', strategies: [aStrategy({ schedule })] })
  sim.serviceFaults.down = true
  sim.start()
  await sim.runFor(HOUR + MINUTE)
  sim.clock.offsetMs = -3 * HOUR
  await sim.runFor(10 * MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual([])
  sim.clock.offsetMs = 0
  await sim.runFor(MINUTE)
  expect(outcomes(sim, 'hourly')).toEqual(['expired too-late'])
})
