export type RateLimit = { readonly limit: number; readonly windowMs: number }

/** Meaning of `x-ratelimit-reset`, in milliseconds: since 1970 (`epoch`) or from now (`duration`). */
export type ResetStyle = 'epoch' | 'duration'

/** Fixed windows. Each starts with the first request after the previous one ended. */
export function createRateLimiter(rate: RateLimit, style: ResetStyle) {
  let windowEndsMs = 0
  let used = 0
  return (nowMs: number) => {
    // After the clock is set back by more than a window, the route must not stay locked.
    if (nowMs >= windowEndsMs || nowMs < windowEndsMs - rate.windowMs) {
      windowEndsMs = nowMs + rate.windowMs
      used = 0
    }
    const allowed = used < rate.limit
    if (allowed) used += 1
    const leftMs = windowEndsMs - nowMs
    return {
      allowed,
      /** Whole seconds until the window ends, at least 1. */
      retryAfterSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
      headers: {
        'x-ratelimit-limit': String(rate.limit),
        'x-ratelimit-remaining': String(rate.limit - used),
        'x-ratelimit-reset': String(style === 'epoch' ? windowEndsMs : leftMs),
      },
    }
  }
}
