import { retryAfterMs } from '../../domain/text/retry-after.ts'

export type RateLimitReading = {
  readonly limit: number
  readonly remaining: number
  /** Time until the window ends, 0 to RESET_WAIT_MS_MAX. */
  readonly resetInMs: number
}

/** Raw header values. A repeated header is a list and is ignored. */
type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>

/** Upper bound on waiting for a window, even if a header asks for more: the next reply updates it. */
const RESET_WAIT_MS_MAX = 60_000
/** Upper bound on `retry-after`: a route is tried once a day, even if the service names a year. */
const RETRY_AFTER_MS_MAX = 86_400_000
/** Wait after a 429 without a clear duration. */
const RETRY_AFTER_MS_DEFAULT = 1_000

/** As a duration this is three years, as an epoch time 1973, so no value is plausible as both. */
const EPOCH_MS_MIN = 100_000_000_000
const COUNT = /^\d{1,15}$/

/**
 * The three `x-ratelimit-*` headers, all or nothing. The interface specifies the reset "in milliseconds" without a
 * reference, so both readings are supported. `serviceNowMs` is the service's clock (epoch ms).
 */
export function readRateLimit(
  headers: HeaderValues,
  serviceNowMs: number,
): RateLimitReading | undefined {
  const limit = count(headers['x-ratelimit-limit'])
  const remaining = count(headers['x-ratelimit-remaining'])
  const reset = count(headers['x-ratelimit-reset'])
  if (limit === undefined || remaining === undefined || reset === undefined) return undefined
  // A limit of zero would block the route forever.
  if (limit === 0) return undefined
  const resetInMs = reset >= EPOCH_MS_MIN ? reset - serviceNowMs : reset
  return {
    limit,
    remaining: Math.min(remaining, limit),
    resetInMs: Math.min(Math.max(resetInMs, 0), RESET_WAIT_MS_MAX),
  }
}

/** Wait after a 429, 0 to RETRY_AFTER_MS_MAX; see `retryAfterMs`. */
export function readRetryAfterMs(headers: HeaderValues, serviceNowMs: number): number {
  const waitMs = retryAfterMs(headers, serviceNowMs) ?? RETRY_AFTER_MS_DEFAULT
  return Math.min(waitMs, RETRY_AFTER_MS_MAX)
}

function count(value: string | readonly string[] | undefined): number | undefined {
  return typeof value === 'string' && COUNT.test(value) ? Number(value) : undefined
}
