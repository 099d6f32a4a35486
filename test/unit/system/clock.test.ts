import { setMaxListeners } from 'node:events'
import fc from 'fast-check'
import { getTasks, type ScheduledTask, validate } from 'node-cron'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { parseCron } from '../../../src/domain/schedule/cron.ts'
import { createClock } from '../../../src/system/clock.ts'
import { aSchedule } from '../../support/builders.ts'

const FAR = 8.64e15
let clock: ReturnType<typeof createClock>
const waiting = new AbortController()
setMaxListeners(0, waiting.signal)
beforeEach(() => {
  clock = createClock()
  // As a daemon does: its jobs are made when it first waits.
  void clock.wake(FAR, waiting.signal)
})
afterEach(() => clock.close())

function jobs(): readonly ScheduledTask[] {
  return [...getTasks().values()]
}
const patterns = () => jobs().map((task) => task.getPattern())
const minutely = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    aSchedule(`${index % 60} ${Math.floor(index / 60)} * * *`),
  )

test('each different text and zone is a node-cron job of its own, at the time it says there', () => {
  clock.schedule([
    aSchedule('30 9 * * 1', { timezone: 'Europe/Berlin' }),
    aSchedule('30 9 * * 1', { timezone: 'Asia/Tokyo' }),
    aSchedule('30 9 * * 1', { timezone: 'Europe/Berlin' }),
  ])
  const hours = jobs().map((task) => task.getNextRuns(1)[0]?.getTime() ?? 0)
  const at = (ms: number | undefined, timeZone: string): string =>
    new Intl.DateTimeFormat('en-GB', {
      timeZone,
      weekday: 'short',
      timeStyle: undefined,
      hour: '2-digit',
      minute: '2-digit',
    }).format(ms)
  expect(hours).toHaveLength(2)
  expect(at(hours[0], 'Europe/Berlin')).toBe('Mon 09:30')
  expect(at(hours[1], 'Asia/Tokyo')).toBe('Mon 09:30')
})

test('a job that is due wakes whatever waits', async () => {
  clock.schedule([aSchedule('0 0 1 1 *')])
  let awake = false
  void clock.wake(FAR, new AbortController().signal).then(() => {
    awake = true
  })
  await Promise.resolve()
  expect(awake).toBe(false)
  await jobs()[0]?.execute()
  expect(awake).toBe(true)
})

test('other schedules take the place of those before', () => {
  clock.schedule([aSchedule('0 9 * * *')])
  clock.schedule([aSchedule('0 10 * * *')])
  expect(patterns()).toEqual(['0 10 * * *'])
  clock.schedule([])
  expect(patterns()).toEqual([])
})

test('a hundred different texts have a task, shared by all that go by one, and the others an exact timer', () => {
  clock.schedule([...minutely(100), ...minutely(100)])
  expect(jobs()).toHaveLength(100)
  clock.schedule(minutely(101))
  expect(jobs()).toHaveLength(100)
  expect(minutely(101).map((text) => clock.wakesAt(text))).toEqual([
    ...Array(100).fill(true),
    false,
  ])
})

test('a wait for the far future ends by the heartbeat', async () => {
  await clock.wake(FAR, new AbortController().signal)
})

const WHENEVER = { ...aSchedule('@daily'), cron: 'whenever' }

test('a text that the library does not take is left to an exact timer', () => {
  clock.schedule([WHENEVER, aSchedule('@daily')])
  expect(patterns()).toEqual(['@daily'])
  expect(clock.wakesAt(WHENEVER)).toBe(false)
  expect(clock.wakesAt(aSchedule('@daily'))).toBe(true)
  expect(clock.wakesAt(aSchedule('@daily', { timezone: 'Asia/Tokyo' }))).toBe(false)
})

test('a text whose days the library reads otherwise than the calendar is left to an exact timer', () => {
  // node-cron wants the first to be a second Friday, and throws for want of one; the last to be both a 15th and a Monday.
  clock.schedule(
    [
      '0 0 1 * 5#2',
      '0 0 L-30 2 1',
      '0 9 L * *',
      '0 9 LW,15W * *',
      '0 9 * * friL',
      '0 9 * jul wed',
      '0 9 15 * mon',
    ].map((cron) => aSchedule(cron)),
  )
  expect(patterns()).toEqual(['0 9 * jul wed'])
})

test('the library takes every notation that the calendar takes', () => {
  const field = fc.constantFrom(
    ...['*', '?', '5', '5/15', '*/7', '1-5', '1-5/2', '5-1', '1,3', '1,5-7', 'MON', 'fri-mon'],
    ...['JAN-MAR', 'dec', '05', '7', '5-7', '0-7', '59', '*/70', 'L', '31', '0'],
  )
  fc.assert(
    fc.property(fc.array(field, { minLength: 5, maxLength: 6 }), (fields) => {
      const cron = fields.join(' ')
      fc.pre(parseCron(cron).ok)
      expect(validate(cron), cron).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})

test('a clock that nothing waits on makes no job, and then those that were asked for', async () => {
  await clock.close()
  const idle = createClock()
  idle.schedule(minutely(2))
  expect(getTasks().size).toBe(0)
  void idle.wake(FAR, waiting.signal)
  expect(patterns()).toEqual(['0 0 * * *', '1 0 * * *'])
  await idle.close()
  expect(getTasks().size).toBe(0)
})

describe('a cron task', () => {
  beforeEach(async () => {
    await clock.close()
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 5, 12, 0, 0, 700) })
    clock = createClock()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Times at which waits end, in milliseconds of the minute. */
  async function waitFor(atMs: number): Promise<readonly number[]> {
    const ends: number[] = []
    const turn = async (): Promise<void> => {
      for (;;) {
        await clock.wake(atMs, new AbortController().signal)
        ends.push(Date.now() % 60_000)
      }
    }
    void turn()
    await vi.advanceTimersByTimeAsync(10_000)
    return ends
  }

  test('ends the waits at its second, in its zone, whatever the timer is set to', async () => {
    clock.schedule([
      aSchedule('5 30 17 * * *', { timezone: 'Asia/Kolkata' }),
      aSchedule('7 30 17 * * *'),
    ])
    const ends = await waitFor(FAR)
    expect(ends.slice(0, 6)).toEqual([1_700, 2_700, 3_700, 4_700, 5_000, 6_000])
  })
})

test('a closed clock leaves no job behind', async () => {
  clock.schedule(minutely(3))
  await clock.close()
  expect(getTasks().size).toBe(0)
})

describe('a wall clock that is set', () => {
  const START = Date.UTC(2026, 0, 5, 12)
  const HOUR_MS = 3_600_000
  const YEARS_MS = 10 * 365 * 24 * HOUR_MS

  beforeEach(async () => {
    await clock.close()
    vi.useFakeTimers({ now: START })
    clock = createClock()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Moves the wall clock and no timer. */
  const step = (ms: number) => vi.setSystemTime(Date.now() + ms)

  /** Waits as a daemon's loop does, and notes when it wakes, in seconds of running time. */
  function loop(dueMs: number): readonly number[] {
    const wakes: number[] = []
    const beganMs = performance.now()
    const turn = async (): Promise<void> => {
      for (;;) {
        await clock.wake(dueMs, new AbortController().signal)
        wakes.push(Math.round((performance.now() - beganMs) / 1_000))
      }
    }
    void turn()
    return wakes
  }

  test.each([
    ['an hour back', -HOUR_MS],
    ['25 hours back', -25 * HOUR_MS],
    ['an hour ahead', HOUR_MS],
    ['ten years ahead', YEARS_MS],
  ])('%s and corrected 5 s later still wakes whatever waits each second', async (_name, ms) => {
    const wakes = loop(START + 2 * YEARS_MS)
    await vi.advanceTimersByTimeAsync(3_200)
    step(ms)
    await vi.advanceTimersByTimeAsync(5_000)
    step(-ms)
    await vi.advanceTimersByTimeAsync(12_000)
    for (let second = 1; second <= 20; second += 1) expect(wakes).toContain(second)
  })

  test('ahead by ten years runs the task of each second once for all that it skips', async () => {
    const ran = vi.fn()
    clock.schedule([aSchedule('* * * * * *')])
    void clock.wake(FAR, waiting.signal)
    for (const job of jobs())
      for (const event of ['execution:finished', 'execution:missed'] as const) job.on(event, ran)
    await vi.advanceTimersByTimeAsync(3_000)
    ran.mockClear()
    step(YEARS_MS)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(ran.mock.calls.length).toBeGreaterThan(0)
    expect(ran.mock.calls.length).toBeLessThan(4)
  })

  test('back by an hour starts the tasks anew: they run at the times of the new clock', async () => {
    const woken: number[] = []
    clock.schedule([aSchedule('10 0 12 * * *')])
    void clock.wake(FAR, waiting.signal)
    const [task] = jobs()
    step(60_000)
    await vi.advanceTimersByTimeAsync(1_500)
    step(-60_000 - 1_500)
    await vi.advanceTimersByTimeAsync(1_500)
    task?.on('execution:finished', () => {
      woken.push(Date.now() - START)
    })
    await vi.advanceTimersByTimeAsync(20_000)
    expect(woken).toEqual([10_000])
  })
})
