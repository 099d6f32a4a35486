import type { GaslessRoute } from '../../../src/journal/runtime-event.ts'
import type { VirtualClock } from '../virtual-clock.ts'

/** Requests that a service accepts per route and window. */
export type RateLimit = { readonly requests: number; readonly windowMs: number }

/** The rate-limit headers of each reply. */
export type LimitReading = {
  readonly limit: number
  readonly remaining: number
  readonly resetInMs: number
}

/** The service's request counts, by route and window. */
export class RateLimits {
  /** Times of all requests, in order, whether accepted or not. */
  readonly requestedAtMs: number[] = []
  readonly #requests = new Map<GaslessRoute, number>()
  /** Requests that were answered with a 429. */
  refused = 0
  readonly #clock: VirtualClock
  readonly #taken = new Map<string, number>()

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  requestsOf(route: GaslessRoute): number {
    return this.#requests.get(route) ?? 0
  }

  /** Counts a request. A rejected one has no reading to follow, only the time to wait. */
  ask(route: GaslessRoute, limit: RateLimit | undefined): { ok: boolean; reading?: LimitReading } {
    const nowMs = this.#clock.trueMs
    this.requestedAtMs.push(nowMs)
    this.#requests.set(route, this.requestsOf(route) + 1)
    if (limit === undefined) return { ok: true }
    const window = Math.floor(nowMs / limit.windowMs)
    const key = `${route} ${window}`
    const taken = this.#taken.get(key) ?? 0
    const ok = taken < limit.requests
    if (ok) this.#taken.set(key, taken + 1)
    else this.refused += 1
    const remaining = Math.max(0, limit.requests - taken - 1)
    const resetInMs = (window + 1) * limit.windowMs - nowMs
    return { ok, reading: { limit: limit.requests, remaining, resetInMs } }
  }
}
