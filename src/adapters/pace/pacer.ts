import type { RateLimitReading } from './rate-limit.ts'
import { forEachRoute, routeWindows, type Shares, type StartWindow } from './route-shares.ts'

/** When a route may be used: the operator's ceiling, the service's headers and its 429s, whichever is strictest. */
export type Pacer<Route extends string> = {
  /**
   * Time until the route's next request may start, or the next but `ahead` when so many others start before it; 0 means
   * now. Of those behind the next it is what is known today: a reply may bring it nearer or put it off.
   */
  delayMs(route: Route, ahead?: number): number
  started(route: Route): Start
  finished(route: Route): void
  /** Instead of `finished` for a start of which nothing was sent: it is not counted. */
  unused(route: Route, start: Start): void
  onRateLimit(route: Route, reading: RateLimitReading): void
  onRetryAfter(route: Route, ms: number): void
}

/** A request of a route that has started, as it is counted. */
export type Start = {
  readonly atMs: number
  /** When the one before it started. */
  readonly beforeMs: number
}

/** Below this part of the service's limit, the rest of a window is spread over the time left in it. */
const SPREAD_BELOW = 0.2

/** The service's window as last read, counted down by our own requests since. */
type ServiceWindow = { limit: number; budget: number; resetAtMs: number; lengthMs: number }

type Lane = {
  readonly window: StartWindow
  /** Times of the last `cap` starts; the slot of start number n is n modulo cap. */
  readonly starts: number[]
  startCount: number
  lastStartMs: number
  inFlight: number
  blockedUntilMs: number
  service: ServiceWindow | undefined
}

/**
 * Pacing state of all routes. `monotonicMs` must never step back: a wall clock set back by an hour would otherwise
 * hold every route for that hour (the sliding window of p-queue 9 does, which is why it is counted here).
 */
export function createPacer<Route extends string>(options: {
  readonly shares: Shares<Route>
  readonly requestsPerSecond: number
  readonly monotonicMs: () => number
}): Pacer<Route> {
  const { shares, requestsPerSecond, monotonicMs: now } = options
  const windows = routeWindows(shares, requestsPerSecond)
  const lanes = forEachRoute(shares, (route) => newLane(windows[route]))
  return {
    delayMs(route, ahead = 0) {
      const lane = lanes[route]
      const nowMs = now()
      const readyMs = Math.max(
        windowOpensMs(lane, { ahead, fromMs: Math.max(nowMs, lane.blockedUntilMs) }),
        lane.service === undefined ? 0 : serviceAllowsMs(lane, lane.service, { ahead, nowMs }),
      )
      return Math.max(0, readyMs - nowMs)
    },
    started(route) {
      const lane = lanes[route]
      const nowMs = now()
      if (Number.isFinite(lane.window.cap)) {
        lane.starts[lane.startCount % lane.window.cap] = nowMs
        lane.startCount += 1
      }
      const start = { atMs: nowMs, beforeMs: lane.lastStartMs }
      lane.lastStartMs = nowMs
      lane.inFlight += 1
      if (lane.service !== undefined) lane.service.budget -= 1
      return start
    },
    finished(route) {
      lanes[route].inFlight -= 1
    },
    unused(route, { atMs, beforeMs }) {
      const lane = lanes[route]
      lane.inFlight -= 1
      const { service } = lane
      // A window that has begun since holds its whole limit already.
      if (service !== undefined) service.budget = Math.min(service.limit, service.budget + 1)
      if (lane.lastStartMs === atMs) lane.lastStartMs = beforeMs
      forgetStart(lane, atMs)
    },
    onRateLimit(route, reading) {
      const lane = lanes[route]
      // The service may not have counted the requests still on their way; the one that answered it has.
      const uncounted = Math.max(0, lane.inFlight - 1)
      lane.service = {
        limit: reading.limit,
        budget: reading.remaining - uncounted,
        resetAtMs: now() + reading.resetInMs,
        lengthMs: Math.max(reading.resetInMs, lane.service?.lengthMs ?? 0),
      }
    },
    onRetryAfter(route, ms) {
      const lane = lanes[route]
      lane.blockedUntilMs = Math.max(lane.blockedUntilMs, now() + ms)
    },
  }
}

function newLane(window: StartWindow): Lane {
  return {
    window,
    starts: [],
    startCount: 0,
    lastStartMs: Number.NEGATIVE_INFINITY,
    inFlight: 0,
    blockedUntilMs: 0,
    service: undefined,
  }
}

/** The operator's ceiling: the start that lies `cap` starts back must have left the window. */
function windowOpensMs(
  { window: { cap, windowMs }, starts, startCount }: Lane,
  { ahead, fromMs }: { readonly ahead: number; readonly fromMs: number },
): number {
  if (!Number.isFinite(cap)) return fromMs
  const windows = Math.floor(ahead / cap)
  const at = startCount + (ahead % cap)
  const opensMs = at < cap ? fromMs : Math.max(fromMs, (starts[at % cap] ?? 0) + windowMs)
  return opensMs + windows * windowMs
}

/** Takes a start out of those that count; one that is not among them has left the window. */
function forgetStart(lane: Lane, atMs: number): void {
  const { starts } = lane
  const { cap } = lane.window
  if (!Number.isFinite(cap)) return
  const last = lane.startCount - 1
  const first = Math.max(0, lane.startCount - cap)
  let at = last
  while (at >= first && starts[at % cap] !== atMs) at -= 1
  if (at < first) return
  for (; at < last; at += 1) starts[at % cap] = starts[(at + 1) % cap] ?? 0
  // Here stood the start `cap` before the last one, which could start only because that one had left the window.
  starts[last % cap] = Number.NEGATIVE_INFINITY
  lane.startCount = last
}

function serviceAllowsMs(
  lane: Lane,
  service: ServiceWindow,
  { ahead, nowMs }: { readonly ahead: number; readonly nowMs: number },
): number {
  if (nowMs >= service.resetAtMs) {
    // A new window has begun: it holds the same limit until a reply says otherwise.
    service.budget = service.limit
    service.resetAtMs = nowMs + service.lengthMs
  }
  const { limit, resetAtMs, lengthMs } = service
  const budget = Math.max(0, service.budget)
  if (ahead >= budget) return resetAtMs + Math.floor((ahead - budget) / limit) * lengthMs
  if (budget - ahead >= limit * SPREAD_BELOW) return 0
  const { lastStartMs } = lane
  if (lastStartMs === Number.NEGATIVE_INFINITY) return 0
  return lastStartMs + ((resetAtMs - lastStartMs) * (ahead + 1)) / (budget + 1)
}
