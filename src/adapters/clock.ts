import { setMaxListeners } from 'node:events'
import { createTask, type ScheduledTask, validate } from 'node-cron'
import { parseCron } from '../domain/schedule/cron.ts'
import type { Clock, CronText } from '../ports.ts'

/** Node fires longer timers at once. */
const TIMER_MS_MAX = 2 ** 31 - 1
/** No wait lasts longer than this without a look at the wall clock, which may have been set meanwhile. */
const BEAT_MS = 1_000
/** A wall clock that goes back by more than this between two beats was set. */
const STEP_MS = 500
/**
 * Different texts that get a task of their own. A hundred take 50 ms of a start and 10 MB, a thousand 240 ms and 33 MB;
 * with more than these the beat alone wakes, which costs the same for any number.
 */
const TASKS_MAX = 100

/** A node-cron task, and when it runs next by the wall clock, epoch ms. */
type Job = { readonly task: ScheduledTask; nextMs: number }

/**
 * The machine's clock. Every wait ends after a second at the latest, by a timer that no setting of the wall clock moves: the
 * caller looks at the time again. So a stall or a clock that was set costs a second and never a slot.
 *
 * Each cron text is a node-cron task that also wakes. node-cron says when a task runs next, and the timer is ours: its own
 * walks every skipped second in one turn of the event loop after a suspend, a stop or a step of the clock (7 s for a day,
 * minutes for years). The tasks are made when something first waits: the first takes 30 ms, which no command and no first
 * slot needs.
 */
export function createClock(): Clock & { close(): Promise<void> } {
  const sleepers = new Set<() => void>()
  const wake = (): void => {
    for (const done of [...sleepers]) done()
  }
  let timer: NodeJS.Timeout | undefined
  let seenMs = Date.now()
  let wanted: readonly CronText[] = []
  let jobs: readonly Job[] = []

  function startJobs(): void {
    for (const { task } of jobs) void task.destroy()
    const texts = wanted.length > TASKS_MAX ? [] : wanted
    jobs = texts.map(({ cron, timezone }) => {
      const task = createTask(cron, wake, { timezone })
      return { task, nextMs: nextRunMs(task) }
    })
  }

  function beat(): void {
    const nowMs = Date.now()
    // Ahead, what is due runs once and is counted from the new time. Back, every next run may lie too far away.
    if (nowMs < seenMs - STEP_MS) startJobs()
    seenMs = nowMs
    for (const job of jobs) {
      if (job.nextMs > nowMs) continue
      void job.task.execute()
      job.nextMs = nextRunMs(job.task)
    }
    arm()
  }

  function arm(): void {
    clearTimeout(timer)
    const leftMs = Math.min(...jobs.map(({ nextMs }) => nextMs)) - Date.now()
    timer = setTimeout(beat, Math.min(Math.max(leftMs, 1), BEAT_MS))
  }

  return {
    now: () => Date.now(),
    sleep: (ms, signal) => pause(Math.min(Math.max(ms, 0), TIMER_MS_MAX), signal),
    wake(atMs, signal) {
      if (signal.aborted) return Promise.resolve()
      if (timer === undefined) {
        startJobs()
        arm()
      }
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(own)
          sleepers.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        const own = setTimeout(done, Math.min(Math.max(atMs - Date.now(), 0), BEAT_MS))
        sleepers.add(done)
        signal.addEventListener('abort', done, { once: true })
      })
    },
    schedule(texts) {
      wanted = distinct(texts)
      if (timer === undefined) return
      startJobs()
      arm()
    },
    async close() {
      clearTimeout(timer)
      for (const { task } of jobs) await task.destroy()
    },
  }
}

function nextRunMs(task: ScheduledTask): number {
  return task.getNextRuns(1)[0]?.getTime() ?? Number.POSITIVE_INFINITY
}

/** Each text of a zone once. The heartbeat alone wakes for a text that node-cron does not read as the calendar does. */
function distinct(texts: readonly CronText[]): readonly CronText[] {
  const known = new Map(texts.map((text) => [`${text.cron} ${text.timezone}`, text]))
  return [...known.values()].filter(({ cron }) => validate(cron) && !hasRelativeDays(cron))
}

/** node-cron wants both day fields to match, and throws where they never do, as in `0 0 1 * 5#2`. */
function hasRelativeDays(cron: string): boolean {
  const parsed = parseCron(cron)
  return parsed.ok && parsed.pattern.relativeDays !== undefined
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    // Every order in flight sleeps on the one signal that ends them all.
    if (signal !== undefined) setMaxListeners(0, signal)
    signal?.addEventListener('abort', done, { once: true })
  })
}
