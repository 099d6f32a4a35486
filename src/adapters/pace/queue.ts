import { setMaxListeners } from 'node:events'
import PQueue from 'p-queue'
import type { Observation, Route } from '../../domain/observation.ts'
import type { Clock, PairQueue, Place, Task } from '../../ports.ts'
import { Line } from './line.ts'
import type { Pacer } from './pacer.ts'
import { createPatrol } from './patrol.ts'
import { forEachRoute, type Shares } from './route-shares.ts'

type QueueOptions<Own extends Route> = {
  readonly shares: Shares<Own>
  readonly pacer: Pick<Pacer<Own>, 'delayMs' | 'started' | 'finished' | 'unused'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly observe: (event: Observation) => void
  readonly monotonicMs: () => number
  /** Requests of one route under way at once, and pairs between their two. Minimum 1, default 64. */
  readonly concurrencyPerRoute?: number
  /** Tasks of one route that may wait; one more is an error. Default 10,000. */
  readonly waitingMax?: number
}

type Lane<Own extends Route> = {
  readonly route: Own
  readonly tasks: PQueue
  /** Pairs whose second request goes this way. */
  readonly line: Line
  /** The sleep at whose end a lane looks again for which it is too early. */
  alarm: { readonly atMs: number; readonly cancel: AbortController } | undefined
  depth: number
}

/** How a task waits. */
type Waiting = {
  /** Since when, where that was not just now. */
  readonly sinceMs?: number | undefined
  /** Asked now and then while it waits. */
  readonly mayWait?: () => boolean
  readonly onWait?: () => void
  readonly onBegin?: (() => void) | undefined
}

/** How a task is given to p-queue. `leave` takes it off again before it has begun. */
type Starting = Pick<Waiting, 'sinceMs' | 'onBegin'> & { readonly leave?: AbortSignal }

/**
 * One p-queue a route, first come first served. p-queue orders and bounds the tasks; the pacer says when the next
 * may start, and while it says "later" the route is paused, so that a task is not taken off the queue, and its
 * quote does not age, before it can run. There is no timeout here: giving up on a running request would leave its
 * outcome unknown, so the request's own deadline is the only one.
 */
export function createQueue<Own extends Route>(options: QueueOptions<Own>): PairQueue<Own> {
  const { pacer, observe, monotonicMs, clock } = options
  const concurrency = options.concurrencyPerRoute ?? 64
  const waitingMax = options.waitingMax ?? 10_000
  const watch = createPatrol(clock)
  const lanes = forEachRoute(
    options.shares,
    (route): Lane<Own> => ({
      route,
      tasks: new PQueue({ concurrency }),
      line: new Line({
        preparedMax: concurrency,
        delayMs: (ahead) => pacer.delayMs(route, ahead),
        waiting: () => lanes[route].tasks.size,
        lookAgainIn: (ms) => lookAgainIn(lanes[route], ms),
      }),
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
    lane.line.advance()
  }

  function lookAgainIn(lane: Lane<Own>, delayMs: number): void {
    const atMs = monotonicMs() + delayMs
    if (lane.alarm !== undefined && lane.alarm.atMs <= atMs) return
    lane.alarm?.cancel.abort()
    const alarm = { atMs, cancel: new AbortController() }
    lane.alarm = alarm
    void clock.sleep(Math.ceil(delayMs), alarm.cancel.signal).then(() => {
      if (lane.alarm !== alarm) return
      lane.alarm = undefined
      regulate(lane)
    })
  }

  function reportDepth(lane: Lane<Own>): void {
    const depth = lane.tasks.size + lane.line.length
    if (lane.depth === depth) return
    lane.depth = depth
    observe({ type: 'queue-depth', route: lane.route, depth })
  }

  async function run<Result>(route: Own, task: Task<Result>, how: Starting = {}): Promise<Result> {
    const lane = lanes[route]
    if (lane.tasks.size >= waitingMax)
      throw new Error(`the queue of route ${route} is full: ${waitingMax} tasks wait`)
    regulate(lane)
    return start(lane, task, how)
  }

  function start<Result>(
    lane: Lane<Own>,
    task: Task<Result>,
    { sinceMs = monotonicMs(), onBegin, leave }: Starting,
  ): Promise<Result> {
    const { route } = lane
    const result = lane.tasks.add(
      async () => {
        onBegin?.()
        const began = pacer.started(route)
        regulate(lane)
        observe({ type: 'queue-wait', route, waitMs: monotonicMs() - sinceMs })
        reportDepth(lane)
        let isUsed = true
        const giveBack = (): undefined => {
          if (!isUsed) return
          isUsed = false
          pacer.unused(route, began)
          regulate(lane)
        }
        try {
          return await task({ giveBack })
        } finally {
          if (isUsed) pacer.finished(route)
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
    if (lane.tasks.size > 0 || lane.line.length > 0) return
    lane.alarm?.cancel.abort()
    lane.alarm = undefined
  }

  /** p-queue begins with what it has room for while it is given it: there is no waiting that could be given up. */
  function startsAtOnce(lane: Lane<Own>): boolean {
    regulate(lane)
    const { isPaused, size, pending } = lane.tasks
    return !isPaused && size === 0 && pending < concurrency
  }

  async function runUnless<Result>(
    end: AbortSignal,
    route: Own,
    task: Task<Result>,
    { sinceMs, mayWait, onWait, onBegin }: Waiting = {},
  ): Promise<Result | undefined> {
    if (end.aborted) return undefined
    if (startsAtOnce(lanes[route])) return start(lanes[route], task, { sinceMs, onBegin })
    // p-queue would also give up a task that has begun, so it is not given `end` itself.
    const leave = new AbortController()
    const giveUp = (): void => leave.abort()
    let hasBegun = false
    let unwatch: (() => void) | undefined
    const stay = (): void => {
      end.removeEventListener('abort', giveUp)
      unwatch?.()
    }
    // Every order that waits does so on the one signal that ends them all.
    setMaxListeners(0, end)
    end.addEventListener('abort', giveUp, { once: true })
    try {
      const result = run(route, task, {
        sinceMs,
        leave: leave.signal,
        onBegin() {
          hasBegun = true
          stay()
          onBegin?.()
        },
      })
      if (!hasBegun) {
        onWait?.()
        unwatch = mayWait === undefined ? undefined : watch({ mayWait, giveUp })
      }
      return await result
    } catch (error) {
      if (!leave.signal.aborted) throw error
      settleLane(lanes[route])
      return undefined
    } finally {
      stay()
    }
  }

  function place({ first, second, rank, mayWait }: Parameters<PairQueue<Own>['place']>[0]): Place {
    const lane = lanes[second]
    const { line } = lane
    const spot = line.spot(rank)
    let waitedMs = 0

    const leave = (): void => {
      if (spot.at === 'away') return
      line.leave(spot)
      line.advance()
      settleLane(lane)
    }

    /** Resolves as `near` does, for a spot in line. */
    function waitInLine(end: AbortSignal): Promise<boolean> {
      return new Promise((resolve) => {
        const done = (isNear: boolean): void => {
          spot.onNear = undefined
          end.removeEventListener('abort', giveUp)
          unwatch()
          if (isNear) reportDepth(lane)
          else leave()
          resolve(isNear)
        }
        const giveUp = (): void => done(false)
        const unwatch = watch({ mayWait, giveUp })
        spot.onNear = () => done(true)
        setMaxListeners(0, end)
        end.addEventListener('abort', giveUp, { once: true })
      })
    }

    return {
      async near(end, nearMs) {
        if (end.aborted) return false
        const sinceMs = monotonicMs()
        line.enter(spot, nearMs)
        reportDepth(lane)
        const isNear = spot.at === 'near' || (await waitInLine(end))
        waitedMs += monotonicMs() - sinceMs
        return isNear
      },
      first: (end, task) => runUnless(end, first, task, { mayWait }),
      async second(end, task) {
        const sinceMs = monotonicMs() - waitedMs
        waitedMs = 0
        const result = await runUnless(end, second, task, {
          sinceMs,
          mayWait,
          onWait: () => line.queued(spot),
          onBegin: () => line.leave(spot),
        })
        if (result === undefined) leave()
        return result
      },
      leave,
    }
  }

  return {
    run: (route, task) => run(route, task),
    runUnless: (end, route, task) => runUnless(end, route, task),
    place,
  }
}
