import { setMaxListeners } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { type ScheduledTask, schedule as startTask, validate } from 'node-cron'
import { type CronRecurrence, scheduleKey } from '../domain/schedule/schedule.ts'
import type { Clock } from '../ports.ts'

/** Node fires longer timers at once. */
const TIMER_MS_MAX = 2 ** 31 - 1
/** Maximum wait, because the wall clock may be set meanwhile. */
const WAIT_MS_MAX = 1_000
/** The guard runs this long before each full second, when node-cron's timers fire. */
const GUARD_LEAD_MS = 10
/** A wall clock this far behind the guard was set back. */
const BACK_MS = 500
/** Longest stall that node-cron may walk through: each second takes 84 us, in one turn of the event loop. */
const STALL_MS_MAX = 5_000
/** Delay of the tasks after the first wait, because the first one takes 30 ms: orders that are due at a start go first. */
const TASKS_AFTER_MS = 300
/** Cron texts with a task each: a hundred take 60 ms of startup and 10 MB, ten thousand 4.5 s and 90 MB. */
const TASKS_MAX = 100

/** node-cron logs to the console, which is reserved for the command's output. */
const SILENT = { info() {}, warn() {}, error() {}, debug() {} }

/**
 * The machine's clock. Each cron text is a node-cron task that ends the waits; other waits have exact timers. A wake-up is a
 * hint only, and every wait ends within a second, so a task that does not fire costs no slot.
 *
 * After a suspend or clock step, node-cron walks through each missed second in one turn of the event loop: 7 s for a day,
 * minutes for a year. So the guard, whose timer fires first, restarts the tasks after such a gap. Until there are
 * tasks, all waits have exact timers.
 */
export function createClock({
  tasksAfterMs = TASKS_AFTER_MS,
}: {
  readonly tasksAfterMs?: number
} = {}): Clock & { close(): Promise<void> } {
  const sleepers = new Set<() => void>()
  let scheduled: readonly CronRecurrence[] = []
  /** Those with a task. */
  let crons: ReadonlyMap<string, CronRecurrence> | undefined
  let tasks: readonly ScheduledTask[] = []
  let starting: NodeJS.Timeout | undefined
  let guard: NodeJS.Timeout | undefined

  function wakeAll(): void {
    for (const done of [...sleepers]) done()
  }

  function startTasks(): void {
    for (const task of tasks) void task.destroy()
    crons = taken(scheduled)
    tasks = [...crons.values()].map(({ cron, timezone }) =>
      startTask(cron, wakeAll, { timezone, logger: SILENT }),
    )
  }

  function armGuard(): void {
    const dueMs = Math.ceil((Date.now() + 2 * GUARD_LEAD_MS) / 1_000) * 1_000 - GUARD_LEAD_MS
    guard = setTimeout(() => {
      const lateMs = Date.now() - dueMs
      if (lateMs > STALL_MS_MAX || lateMs < -BACK_MS) {
        for (const task of tasks) {
          void task.stop()
          void task.start()
        }
        wakeAll()
      }
      armGuard()
    }, dueMs - Date.now())
  }

  return {
    now: () => Date.now(),
    // A timer takes at least a millisecond.
    sleep: (ms, signal) => (ms <= 0 ? turn() : pause(Math.min(ms, TIMER_MS_MAX), signal)),
    wake(atMs, signal) {
      if (signal.aborted) return Promise.resolve()
      if (guard === undefined) {
        starting = setTimeout(startTasks, tasksAfterMs)
        armGuard()
      }
      return pause(Math.min(Math.max(atMs - Date.now(), 0), WAIT_MS_MAX), signal, sleepers)
    },
    schedule(wanted) {
      scheduled = wanted
      if (crons !== undefined) startTasks()
    },
    wakesAt: (cron) => crons?.has(scheduleKey(cron)) === true,
    async close() {
      clearTimeout(starting)
      clearTimeout(guard)
      for (const task of tasks) await task.destroy()
    },
  }
}

/** Distinct texts per zone, up to TASKS_MAX, if node-cron and the calendar interpret them alike. */
function taken(wanted: readonly CronRecurrence[]): ReadonlyMap<string, CronRecurrence> {
  const distinct = new Map(wanted.map((each) => [scheduleKey(each), each]))
  return new Map([...distinct].filter(([, each]) => isReadAlike(each)).slice(0, TASKS_MAX))
}

/** node-cron requires both day fields to match, the calendar either. It throws if they never match (`0 0 1 * 5#2`). */
function isReadAlike({ cron, pattern }: CronRecurrence): boolean {
  return pattern.dayRule === 'both' && pattern.relativeDays === undefined && validate(cron)
}

/** Adds the function that ends the wait early to `sleepers`. */
function pause(
  ms: number,
  signal: AbortSignal | undefined,
  sleepers?: Set<() => void>,
): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      sleepers?.delete(done)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    sleepers?.add(done)
    // All pending orders sleep on one signal.
    if (signal !== undefined) setMaxListeners(0, signal)
    signal?.addEventListener('abort', done, { once: true })
  })
}
