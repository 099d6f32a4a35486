import * as z from 'zod'
import { duration, integer, scalar, section } from '../../config/scalars.ts'
import { DURATION, durationMs } from '../../domain/duration.ts'
import type { RateLimit } from '../http/rate-limit.ts'

const LIMITS = { min: 1, max: 1_000_000 } as const
const WINDOWS = { min: '10ms', max: '1h' } as const
const limit = integer(LIMITS)
const window = duration(WINDOWS)

const rateText = scalar<RateLimit>({
  expected: `requests and the time they are counted over, such as 100/10s: from ${LIMITS.min} to ${LIMITS.max}, over ${WINDOWS.min} to ${WINDOWS.max}`,
  json: { type: 'string', pattern: '^\\d+/\\d+(ms|s|m|h)$' },
  read: (text) => {
    const [limitText = '', windowText = '', ...more] = text.split('/')
    const [requests, time] = [limit.safeParse(limitText), window.safeParse(windowText)]
    return requests.success && time.success && more.length === 0
      ? { ok: true, value: { limit: requests.data, windowMs: time.data } }
      : { ok: false, message: 'this is no rate limit' }
  },
})

/** A rate limit as `100/10s` or as a map with `limit` and `window`. */
export const rateLimit = z.union(
  [
    rateText,
    section({ limit, window }).transform(
      (rate): RateLimit => ({ limit: rate.limit, windowMs: rate.window }),
    ),
  ],
  { error: 'a rate limit such as 100/10s, or a map with the keys limit, window' },
)

/** Whole seconds written as a duration, within inclusive bounds written the same way. */
export function wholeSeconds(bounds: { readonly min: string; readonly max: string }) {
  const inBounds = duration(bounds)
  return scalar<number>({
    expected: `a duration of whole seconds such as 30s or 10m, from ${bounds.min} to ${bounds.max}`,
    json: { type: 'string', pattern: DURATION.source },
    read: (text) => {
      const ms = durationMs(text)
      if (ms === undefined) return { ok: false, message: 'this is no duration' }
      if (ms % 1_000 !== 0) return { ok: false, message: 'this is no whole number of seconds' }
      return inBounds.safeParse(text).success
        ? { ok: true, value: ms / 1_000 }
        : { ok: false, message: 'this duration is out of range' }
    },
  })
}

/** The networks that the second chain may stand in for. */
export const aggregatorChainId = scalar<1 | 11_155_111>({
  expected: '11155111 (Sepolia) or 1 (Mainnet)',
  json: { type: 'integer', enum: [11_155_111, 1] },
  read: (text) => {
    if (text === '1') return { ok: true, value: 1 }
    return text === '11155111'
      ? { ok: true, value: 11_155_111 }
      : { ok: false, message: 'the service is on no such chain' }
  },
})
