import type { RateLimitReading } from './rate-limit.ts'

type Start = { readonly atMs: number; readonly beforeMs: number }

/** Below this share of the service's limit, the remaining requests are spread over the rest of the window. */
const SPREAD_BELOW = 0.2

/** The service's window as last read, minus our requests since then. */
type ServiceWindow = { limit: number; budget: number; resetAtMs: number; lengthMs: number }

/**
 * Lowers the operator's rate on a route by the service's headers and 429s. Each `started` request is either `finished` or
 * `unused`: nothing was sent, so it does not count. `monotonicMs` must never step back.
 */
export class Pacer {
  readonly #now: () => number
  #lastStartMs = Number.NEGATIVE_INFINITY
  #inFlight = 0
  #blockedUntilMs = 0
  #service: ServiceWindow | undefined

  constructor(monotonicMs: () => number) {
    this.#now = monotonicMs
  }

  get lastStartMs(): number {
    return this.#lastStartMs
  }

  /** Time until the service should allow a request behind `ahead` others; 0 means now. */
  delayMs(ahead = 0): number {
    const nowMs = this.#now()
    return Math.max(0, this.#blockedUntilMs - nowMs, this.#allowedAtMs(nowMs, ahead) - nowMs)
  }

  started(): Start {
    const start = { atMs: this.#now(), beforeMs: this.#lastStartMs }
    this.#lastStartMs = start.atMs
    this.#inFlight += 1
    if (this.#service !== undefined) this.#service.budget -= 1
    return start
  }

  finished(): void {
    this.#inFlight -= 1
  }

  unused({ atMs, beforeMs }: Start): void {
    this.#inFlight -= 1
    const service = this.#service
    // A window that began since then already has its full limit.
    if (service !== undefined) service.budget = Math.min(service.limit, service.budget + 1)
    if (this.#lastStartMs === atMs) this.#lastStartMs = beforeMs
  }

  onRateLimit({ limit, remaining, resetInMs }: RateLimitReading): void {
    // The service may not have counted pending requests yet, except the one it answered.
    const uncounted = Math.max(0, this.#inFlight - 1)
    this.#service = {
      limit,
      budget: remaining - uncounted,
      resetAtMs: this.#now() + resetInMs,
      lengthMs: Math.max(resetInMs, this.#service?.lengthMs ?? 0),
    }
  }

  onRetryAfter(ms: number): void {
    this.#blockedUntilMs = Math.max(this.#blockedUntilMs, this.#now() + ms)
  }

  #allowedAtMs(nowMs: number, ahead: number): number {
    const service = this.#service
    if (service === undefined) return nowMs
    if (nowMs >= service.resetAtMs) {
      // A new window has the same limit until a reply reports another.
      service.budget = service.limit
      service.resetAtMs = nowMs + service.lengthMs
    }
    const { limit, resetAtMs, lengthMs } = service
    const budget = Math.max(0, service.budget)
    if (ahead >= budget) return resetAtMs + Math.floor((ahead - budget) / limit) * lengthMs
    const lastMs = this.#lastStartMs
    if (budget - ahead >= limit * SPREAD_BELOW || lastMs === Number.NEGATIVE_INFINITY) return nowMs
    return lastMs + ((resetAtMs - lastMs) * (ahead + 1)) / (budget + 1)
  }
}
