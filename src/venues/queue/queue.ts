import { setMaxListeners } from 'node:events'
import type { Route, RuntimeEvent } from '../../journal/runtime-event.ts'
import type { Clock, PairQueue, Task, Ticket } from '../../ports.ts'
import type { RateLimitReading } from './rate-limit.ts'
import { forEachRoute, routeWindows, type Shares } from './route-shares.ts'
import { Turns } from './turns.ts'

type QueueOptions<Own extends Route> = {
  readonly shares: Shares<Own>
  readonly requestsPerSecond: number
  readonly clock: Pick<Clock, 'now' | 'sleep'>
  readonly observe: (event: RuntimeEvent) => void
  readonly monotonicMs: () => number
  /** Concurrent requests per route, and pairs between their two requests. Minimum 1, default 64. */
  readonly concurrencyPerRoute?: number
  /** Maximum waiting tasks per route; one more is an error. Default 10,000. */
  readonly waitingMax?: number
}

/** A queue slowed down by the service's headers and 429s. */
export type PacedQueue<Own extends Route> = PairQueue<Own> & {
  readonly onRateLimit: (route: Own, reading: RateLimitReading) => void
  readonly onRetryAfter: (route: Own, ms: number) => void
  /** Time for which the service allows no request of a route. */
  readonly heldMs: (route: Own) => number
}

const WATCHDOG_MS = 1_000
/** If wall clock minus monotonic clock changes by more than this between checks, the wall clock was set. */
const STEP_MS = 250

type Lane<Own extends Route> = {
  readonly route: Own
  readonly turns: Turns
  /** Pairs, in order, whose second request is not due soon. */
  readonly pairs: Pair[]
  /** Pairs past that point whose second request is not queued yet. */
  nearPairs: number
  alarm: { readonly atMs: number; readonly cancel: AbortController } | undefined
  depth: number
}

type Pair = {
  readonly rank: number
  readonly number: number
  readonly nearMs: number
  readonly onNear: () => void
}

type Waiting = {
  readonly end?: AbortSignal
  readonly mayWait?: () => boolean
  /** Start of the wait; defaults to now. */
  readonly sinceMs?: number
}

/**
 * One queue per route. Single tasks are first come, first served. A pair's first request is held back until its second is
 * due soon, so that the first answer is still fresh then.
 */
export function createQueue<Own extends Route>(options: QueueOptions<Own>): PacedQueue<Own> {
  const { shares, requestsPerSecond, clock, observe, monotonicMs } = options
  const { concurrencyPerRoute: concurrency = 64, waitingMax = 10_000 } = options
  const windows = routeWindows(shares, requestsPerSecond)
  const watched = new Set<{ readonly mayWait: () => boolean; readonly giveUp: () => void }>()
  let watching: AbortController | undefined
  let wallAheadMs = clock.now() - monotonicMs()
  let pairsMade = 0
  const lanes = forEachRoute(shares, (route): Lane<Own> => {
    const onClosed = (ms: number): void => setAlarm(lanes[route], ms)
    const turns = new Turns({ window: windows[route], concurrency, monotonicMs, onClosed })
    return { route, turns, pairs: [], nearPairs: 0, alarm: undefined, depth: 0 }
  })

  /** Call after every change that may let a task or a pair start. */
  function regulate(lane: Lane<Own>): void {
    lane.alarm?.cancel.abort()
    lane.alarm = undefined
    lane.turns.proceed()
    letPairsNear(lane)
    reportDepth(lane)
  }

  /** A pair's turn comes after earlier pairs and waiting tasks. */
  function letPairsNear(lane: Lane<Own>): void {
    for (;;) {
      const [first] = lane.pairs
      const ahead = lane.nearPairs + lane.turns.waiting
      if (first === undefined || ahead >= concurrency) return
      const delayMs = lane.turns.forecastMs(ahead)
      if (delayMs > first.nearMs) {
        setAlarm(lane, delayMs - first.nearMs)
        return
      }
      lane.pairs.shift()
      first.onNear()
    }
  }

  function setAlarm(lane: Lane<Own>, delayMs: number): void {
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
    const depth = lane.turns.waiting + lane.pairs.length
    if (lane.depth === depth) return
    lane.depth = depth
    observe({ type: 'queue-depth', route: lane.route, depth })
  }

  function restartAfterStep(): void {
    const aheadMs = clock.now() - monotonicMs()
    const isSet = Math.abs(aheadMs - wallAheadMs) > STEP_MS
    wallAheadMs = aheadMs
    if (!isSet) return
    for (const lane of Object.values<Lane<Own>>(lanes)) {
      lane.turns.restart()
      regulate(lane)
    }
  }

  async function watch(own: AbortSignal): Promise<void> {
    while (!own.aborted) {
      await clock.sleep(WATCHDOG_MS, own)
      if (own.aborted) return
      restartAfterStep()
      for (const each of [...watched]) if (!each.mayWait()) each.giveUp()
    }
  }

  /** Calls `giveUp` when `end` aborts or `mayWait` returns false. Returns a function that stops watching. */
  function giveUpWhen({ end, mayWait = () => true }: Waiting, giveUp: () => void): () => void {
    const each = { mayWait, giveUp }
    watched.add(each)
    if (watching === undefined) {
      watching = new AbortController()
      void watch(watching.signal)
    }
    if (end !== undefined) {
      // All waiting orders share one signal.
      setMaxListeners(0, end)
      end.addEventListener('abort', giveUp, { once: true })
    }
    return () => {
      watched.delete(each)
      end?.removeEventListener('abort', giveUp)
      if (watched.size > 0) return
      watching?.abort()
      watching = undefined
    }
  }

  /** Resolves with undefined if the task gave up before its turn. */
  function wait<Result>(
    lane: Lane<Own>,
    task: Task<Result>,
    waiting: Waiting = {},
  ): Promise<Result | undefined> {
    const { route, turns } = lane
    if (waiting.end?.aborted) return Promise.resolve(undefined)
    if (turns.waiting >= waitingMax)
      return Promise.reject(
        new Error(`the queue of route ${route} is full: ${waitingMax} tasks wait`),
      )
    restartAfterStep()
    const { sinceMs = monotonicMs() } = waiting
    return new Promise((resolve) => {
      let stay = (): void => undefined
      let result: Promise<Result> | undefined
      const waiter = {
        async run(): Promise<boolean> {
          stay()
          observe({ type: 'queue-wait', route, waitMs: monotonicMs() - sinceMs })
          reportDepth(lane)
          let isUsed = true
          const giveBack = (): undefined => {
            isUsed = false
          }
          result = (async () => task({ giveBack }))()
          await result.catch(() => undefined)
          return isUsed
        },
        onEnd(): void {
          resolve(result)
          regulate(lane)
        },
      }
      turns.add(waiter)
      if (result !== undefined) return
      stay = giveUpWhen(waiting, () => {
        stay()
        turns.remove(waiter)
        resolve(undefined)
        queueMicrotask(() => regulate(lane))
      })
      regulate(lane)
    })
  }

  function ticket(pair: Parameters<PairQueue<Own>['ticket']>[0]): Ticket {
    const { first, second, rank, mayWait } = pair
    const lane = lanes[second]
    pairsMade += 1
    const number = pairsMade
    let isNear = false
    let waitedMs = 0

    const setNear = (isNow: boolean): void => {
      lane.nearPairs += Number(isNow) - Number(isNear)
      isNear = isNow
    }

    return {
      near: (end, nearMs) =>
        new Promise((resolve) => {
          if (end.aborted) return resolve(false)
          const sinceMs = monotonicMs()
          let stay = (): void => undefined
          const done = (isIt: boolean): void => {
            stay()
            setNear(isIt)
            waitedMs += monotonicMs() - sinceMs
            resolve(isIt)
          }
          const own: Pair = { rank, number, nearMs, onNear: () => done(true) }
          const isBefore = (each: Pair): boolean =>
            each.rank < rank || (each.rank === rank && each.number < number)
          lane.pairs.splice(lane.pairs.findLastIndex(isBefore) + 1, 0, own)
          regulate(lane)
          if (isNear) return
          stay = giveUpWhen({ end, mayWait }, () => {
            lane.pairs.splice(lane.pairs.indexOf(own), 1)
            done(false)
            regulate(lane)
          })
        }),
      first: (end, task) => wait(lanes[first], task, { end, mayWait }),
      second(end, task) {
        const sinceMs = monotonicMs() - waitedMs
        waitedMs = 0
        setNear(false)
        return wait(lane, task, { end, mayWait, sinceMs })
      },
      leave() {
        if (!isNear) return
        setNear(false)
        regulate(lane)
      },
    }
  }

  return {
    run: (route, task) => wait(lanes[route], task) as Promise<Awaited<ReturnType<typeof task>>>,
    runUnless: (end, route, task) => wait(lanes[route], task, { end }),
    ticket,
    onRateLimit: (route, reading) => lanes[route].turns.pacer.onRateLimit(reading),
    onRetryAfter: (route, ms) => lanes[route].turns.pacer.onRetryAfter(ms),
    heldMs: (route) => lanes[route].turns.pacer.delayMs(),
  }
}
