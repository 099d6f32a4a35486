import { setMaxListeners } from 'node:events'
import PQueue from 'p-queue'
import type { Observation, Route } from '../../domain/observation.ts'
import type { Clock, Queue } from '../../ports.ts'
import type { Pacer } from './pacer.ts'
import { forEachRoute, type Shares } from './route-shares.ts'

type QueueOptions<Own extends Route> = {
  readonly shares: Shares<Own>
  readonly pacer: Pick<Pacer<Own>, 'delayMs' | 'started' | 'finished'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly observe: (event: Observation) => void
  readonly monotonicMs: () => number
  /** Requests of one route under way at once. Minimum 1, default 64. */
  readonly concurrencyPerRoute?: number
  /** Tasks of one route that may wait; one more is an error. Default 10,000. */
  readonly waitingMax?: number
}

type Lane<Own extends Route> = {
  readonly route: Own
  readonly tasks: PQueue
  /** The sleep at whose end a paused lane looks again. */
  alarm: { readonly atMs: number; readonly cancel: AbortController } | undefined
  depth: number
}

/**
 * One p-queue a route, first come first served. p-queue orders and bounds the tasks; the pacer says when the next
 * may start, and while it says "later" the route is paused, so that a task is not taken off the queue, and its
 * quote does not age, before it can run. There is no timeout here: giving up on a running request would leave its
 * outcome unknown, so the request's own deadline is the only one.
 */
export function createQueue<Own extends Route>(options: QueueOptions<Own>): Queue<Own> {
  const { pacer, observe, monotonicMs } = options
  const concurrency = options.concurrencyPerRoute ?? 64
  const waitingMax = options.waitingMax ?? 10_000
  const lanes = forEachRoute(
    options.shares,
    (route): Lane<Own> => ({
      route,
      tasks: new PQueue({ concurrency }),
      alarm: undefined,
      depth: 0,
    }),
  )

  /** Must run after everything that may change the pacer's mind, before p-queue looks for its next task. */
  function regulate(lane: Lane<Own>): void {
    const delayMs = pacer.delayMs(lane.route)
    if (delayMs > 0) {
      lane.tasks.pause()
      lookAgainIn(lane, delayMs)
    } else if (lane.tasks.isPaused) {
      lane.alarm?.cancel.abort()
      lane.alarm = undefined
      lane.tasks.start()
    }
  }

  function lookAgainIn(lane: Lane<Own>, delayMs: number): void {
    const atMs = monotonicMs() + delayMs
    if (lane.alarm !== undefined && lane.alarm.atMs <= atMs) return
    lane.alarm?.cancel.abort()
    const alarm = { atMs, cancel: new AbortController() }
    lane.alarm = alarm
    void options.clock.sleep(Math.ceil(delayMs), alarm.cancel.signal).then(() => {
      if (lane.alarm !== alarm) return
      lane.alarm = undefined
      regulate(lane)
    })
  }

  function reportDepth(lane: Lane<Own>): void {
    if (lane.depth === lane.tasks.size) return
    lane.depth = lane.tasks.size
    observe({ type: 'queue-depth', route: lane.route, depth: lane.depth })
  }

  async function run<Result>(
    route: Own,
    task: () => Promise<Result>,
    { begun, leave }: { readonly begun?: () => void; readonly leave?: AbortSignal } = {},
  ): Promise<Result> {
    const lane = lanes[route]
    if (lane.tasks.size >= waitingMax)
      throw new Error(`the queue of route ${route} is full: ${waitingMax} tasks wait`)
    const queuedMs = monotonicMs()
    regulate(lane)
    const result = lane.tasks.add(
      async () => {
        begun?.()
        pacer.started(route)
        regulate(lane)
        observe({ type: 'queue-wait', route, waitMs: monotonicMs() - queuedMs })
        reportDepth(lane)
        try {
          return await task()
        } finally {
          pacer.finished(route)
          regulate(lane)
        }
      },
      leave === undefined ? {} : { signal: leave },
    )
    reportDepth(lane)
    return result
  }

  /** Nobody waits any more for what the alarm is set for; the next task to come sets it again. */
  function settleLane(lane: Lane<Own>): void {
    reportDepth(lane)
    if (lane.tasks.size > 0) return
    lane.alarm?.cancel.abort()
    lane.alarm = undefined
  }

  return {
    run: (route, task) => run(route, task),
    async runUnless(end, route, task) {
      if (end.aborted) return undefined
      // p-queue would also give up a task that has begun, so it is not given `end` itself.
      const leave = new AbortController()
      const giveUp = (): void => leave.abort()
      const begun = (): void => end.removeEventListener('abort', giveUp)
      // Every order that waits does so on the one signal that ends them all.
      setMaxListeners(0, end)
      end.addEventListener('abort', giveUp, { once: true })
      try {
        return await run(route, task, { begun, leave: leave.signal })
      } catch (error) {
        if (!leave.signal.aborted) throw error
        settleLane(lanes[route])
        return undefined
      } finally {
        begun()
      }
    },
  }
}
