import type { RateLimitReading } from './rate-limit.ts'
import { forEachRoute, routeWindows, type Shares, type StartWindow } from './route-shares.ts'

/** When a route may be used: the operator's ceiling, the service's headers and its 429s, whichever is strictest. */
export type Pacer<Route extends string> = {
  /** Time until the route's next request may start; 0 means now. */
  delayMs(route: Route): number
  started(route: Route): void
  finished(route: Route): void
  onRateLimit(route: Route, reading: RateLimitReading): void
  onRetryAfter(route: Route, ms: number): void
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
    delayMs(route) {
      const lane = lanes[route]
      const nowMs = now()
      const readyMs = Math.max(
        lane.blockedUntilMs,
        windowOpensMs(lane),
        lane.service === undefined ? 0 : serviceAllowsMs(lane, lane.service, nowMs),
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
      lane.lastStartMs = nowMs
      lane.inFlight += 1
      if (lane.service !== undefined) lane.service.budget -= 1
    },
    finished(route) {
      lanes[route].inFlight -= 1
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
function windowOpensMs(lane: Lane): number {
  const { cap, windowMs } = lane.window
  if (lane.startCount < cap) return 0
  return (lane.starts[lane.startCount % cap] ?? 0) + windowMs
}

function serviceAllowsMs(lane: Lane, service: ServiceWindow, nowMs: number): number {
  if (nowMs >= service.resetAtMs) {
    // A new window has begun: it holds the same limit until a reply says otherwise.
    service.budget = service.limit
    service.resetAtMs = nowMs + service.lengthMs
    return 0
  }
  if (service.budget <= 0) return service.resetAtMs
  if (service.budget >= service.limit * SPREAD_BELOW) return 0
  if (lane.lastStartMs === Number.NEGATIVE_INFINITY) return 0
  return lane.lastStartMs + (service.resetAtMs - lane.lastStartMs) / (service.budget + 1)
}
