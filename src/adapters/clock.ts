import { setMaxListeners } from 'node:events'
import { createTask, type ScheduledTask, validate } from 'node-cron'
import { parseCron } from '../domain/schedule/cron.ts'
import type { Clock, CronText } from '../ports.ts'

/** Node fires longer timers at once. */
const TIMER_MS_MAX = 2 ** 31 - 1
const EVERY_SECOND = '* * * * * *'
/**
 * Different texts that get a task of their own. A hundred take 50 ms of a start and 10 MB, a thousand 240 ms and 33 MB;
 * with more than these the heartbeat alone wakes, which costs the same for any number.
 */
const TASKS_MAX = 100

/**
 * The machine's clock. Each cron text is a node-cron job that wakes whatever waits for a slot, and so is a heartbeat on
 * every second: what a daylight-saving change, a stall or a clock that was set makes a job miss costs a second and never
 * a slot. The jobs are made when something first waits: the first takes 30 ms, which no command and no first slot needs.
 */
export function createClock(): Clock & { close(): Promise<void> } {
  const sleepers = new Set<() => void>()
  const beat = (): void => {
    for (const wake of [...sleepers]) wake()
  }
  const start = (cron: string, timezone?: string): ScheduledTask => {
    const zone = timezone === undefined ? {} : { timezone }
    const task = createTask(cron, beat, { ...zone, suppressMissedWarning: true })
    void task.start()
    return task
  }
  let heartbeat: ScheduledTask | undefined
  let wanted: readonly CronText[] = []
  let tasks: readonly ScheduledTask[] = []
  const startTasks = (): void => {
    for (const task of tasks) void task.destroy()
    const texts = wanted.length > TASKS_MAX ? [] : wanted
    tasks = texts.map(({ cron, timezone }) => start(cron, timezone))
  }
  return {
    now: () => Date.now(),
    sleep: (ms, signal) => pause(Math.min(Math.max(ms, 0), TIMER_MS_MAX), signal),
    wake(atMs, signal) {
      if (signal.aborted) return Promise.resolve()
      if (heartbeat === undefined) {
        heartbeat = start(EVERY_SECOND)
        startTasks()
      }
      return new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer)
          sleepers.delete(done)
          signal.removeEventListener('abort', done)
          resolve()
        }
        const timer = setTimeout(done, Math.min(Math.max(atMs - Date.now(), 0), TIMER_MS_MAX))
        sleepers.add(done)
        signal.addEventListener('abort', done, { once: true })
      })
    },
    schedule(texts) {
      wanted = distinct(texts)
      if (heartbeat !== undefined) startTasks()
    },
    async close() {
      const running = heartbeat === undefined ? tasks : [heartbeat, ...tasks]
      await Promise.all(running.map((task) => task.destroy()))
    },
  }
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
