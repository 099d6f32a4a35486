import { setMaxListeners } from 'node:events'
import fc from 'fast-check'
import { getTasks, type ScheduledTask, validate } from 'node-cron'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { parseCron } from '../../../src/domain/schedule/cron.ts'
import { createClock } from '../../../src/system/clock.ts'
import { aSchedule } from '../../support/builders.ts'

const FAR = 8.64e15
const SOON = { tasksAfterMs: 1 }
let clock: ReturnType<typeof createClock>
const waiting = new AbortController()
setMaxListeners(0, waiting.signal)
beforeEach(async () => {
  clock = createClock(SOON)
  clock.schedule([aSchedule('@daily')])
  // Like a daemon: its jobs are created after its first wait began.
  void clock.wake(FAR, waiting.signal)
  await vi.waitFor(() => expect(jobs()).toHaveLength(1), { interval: 1 })
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

test('each distinct cron text and zone is one node-cron job at its local time', () => {
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

test('a due job ends all waits', async () => {
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

test('new schedules replace the previous jobs', () => {
  clock.schedule([aSchedule('0 9 * * *')])
  clock.schedule([aSchedule('0 10 * * *')])
  expect(patterns()).toEqual(['0 10 * * *'])
  clock.schedule([])
  expect(patterns()).toEqual([])
})

test('a hundred distinct texts share tasks, and further texts use an exact timer', () => {
  clock.schedule([...minutely(100), ...minutely(100)])
  expect(jobs()).toHaveLength(100)
  clock.schedule(minutely(101))
  expect(jobs()).toHaveLength(100)
  expect(minutely(101).map((text) => clock.wakesAt(text))).toEqual([
    ...Array(100).fill(true),
    false,
  ])
})

test('a wait for the far future ends at the heartbeat', async () => {
  await clock.wake(FAR, new AbortController().signal)
})

const INVALID = { ...aSchedule('@daily'), cron: 'whenever' }

test('a text that node-cron rejects uses an exact timer', () => {
  clock.schedule([INVALID, aSchedule('@daily')])
  expect(patterns()).toEqual(['@daily'])
  expect(clock.wakesAt(INVALID)).toBe(false)
  expect(clock.wakesAt(aSchedule('@daily'))).toBe(true)
  expect(clock.wakesAt(aSchedule('@daily', { timezone: 'Asia/Tokyo' }))).toBe(false)
})

test('a text whose days node-cron reads differently from the calendar uses an exact timer', () => {
  // node-cron requires the first to be a second Friday and throws without one; it requires the last to be both a 15th and a Monday.
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

test('node-cron accepts every notation that the calendar accepts', () => {
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

test('an idle clock creates no job, and creates the scheduled jobs after its first wait began', async () => {
  await clock.close()
  const idle = createClock(SOON)
  idle.schedule(minutely(2))
  const began = idle.wake(Date.now(), waiting.signal)
  expect(idle.wakesAt(aSchedule('0 0 * * *'))).toBe(false)
  await began
  await vi.waitFor(() => expect(patterns()).toEqual(['0 0 * * *', '1 0 * * *']), { interval: 1 })
  expect(idle.wakesAt(aSchedule('0 0 * * *'))).toBe(true)
  await idle.close()
  expect(getTasks().size).toBe(0)
})

test('a clock that is closed before its jobs are created leaves none', async () => {
  await clock.close()
  vi.useFakeTimers()
  const brief = createClock()
  brief.schedule(minutely(2))
  void brief.wake(FAR, waiting.signal)
  await brief.close()
  await vi.advanceTimersByTimeAsync(10_000)
  vi.useRealTimers()
  expect(getTasks().size).toBe(0)
})

describe('a cron task', () => {
  beforeEach(async () => {
    await clock.close()
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 5, 12, 0, 0, 700) })
    clock = createClock(SOON)
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Times at which waits end, in milliseconds of the minute. */
  async function waitEnds(atMs: number): Promise<readonly number[]> {
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

  test('ends waits at its second, in its time zone, regardless of the timer', async () => {
    clock.schedule([
      aSchedule('5 30 17 * * *', { timezone: 'Asia/Kolkata' }),
      aSchedule('7 30 17 * * *'),
    ])
    const ends = await waitEnds(FAR)
    expect(ends.slice(0, 6)).toEqual([1_700, 2_700, 3_700, 4_700, 5_000, 6_000])
  })
})

test('a closed clock leaves no job', async () => {
  clock.schedule(minutely(3))
  await clock.close()
  expect(getTasks().size).toBe(0)
})

describe('a wall clock', () => {
  const START = Date.UTC(2026, 0, 5, 12)
  const HOUR_MS = 3_600_000
  const YEARS_MS = 10 * 365 * 24 * HOUR_MS

  beforeEach(async () => {
    await clock.close()
    vi.useFakeTimers({ now: START })
    clock = createClock(SOON)
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Moves the wall clock and no timer. */
  const step = (ms: number) => vi.setSystemTime(Date.now() + ms)

  /** Waits like the daemon's loop and records its wakes, in seconds of running time. */
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
  ])('set %s and corrected 5 s later still ends waits every second', async (_name, ms) => {
    const wakes = loop(START + 2 * YEARS_MS)
    await vi.advanceTimersByTimeAsync(3_200)
    step(ms)
    await vi.advanceTimersByTimeAsync(5_000)
    step(-ms)
    await vi.advanceTimersByTimeAsync(12_000)
    for (let second = 1; second <= 20; second += 1) expect(wakes).toContain(second)
  })

  test('set ten years ahead runs a per-second task once for all skipped seconds', async () => {
    const ran = vi.fn()
    clock.schedule([aSchedule('* * * * * *')])
    void clock.wake(FAR, waiting.signal)
    await vi.advanceTimersByTimeAsync(1)
    for (const job of jobs())
      for (const event of ['execution:finished', 'execution:missed'] as const) job.on(event, ran)
    await vi.advanceTimersByTimeAsync(3_000)
    ran.mockClear()
    step(YEARS_MS)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(ran.mock.calls.length).toBeGreaterThan(0)
    expect(ran.mock.calls.length).toBeLessThan(4)
  })

  test('set back by an hour restarts the tasks at the times of the new clock', async () => {
    const woken: number[] = []
    clock.schedule([aSchedule('10 0 12 * * *')])
    void clock.wake(FAR, waiting.signal)
    await vi.advanceTimersByTimeAsync(1)
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
