import { setMaxListeners } from 'node:events'
import { createTask } from 'node-cron'
import type { Clock } from '../ports.ts'

/** Node fires longer timers at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/**
 * The machine's clock. Its heartbeat is a node-cron job on every second: whatever waits for a slot looks again at
 * each beat, so that a timer that is late, or a clock that was set, costs a second and never a slot.
 */
export function createClock(): Clock & { close(): Promise<void> } {
  const sleepers = new Set<() => void>()
  const beat = (): void => {
    for (const wake of [...sleepers]) wake()
  }
  const heartbeat = createTask('* * * * * *', beat, { suppressMissedWarning: true })
  void heartbeat.start()
  return {
    now: () => Date.now(),
    sleep: (ms, signal) => pause(Math.min(Math.max(ms, 0), TIMER_MS_MAX), signal),
    wake(atMs, signal) {
      if (signal.aborted) return Promise.resolve()
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
    async close() {
      await heartbeat.destroy()
    },
  }
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
