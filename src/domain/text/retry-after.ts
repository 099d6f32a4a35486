import { isoMicros } from './iso-time.ts'

type HeaderValue = string | readonly string[] | undefined

/**
 * Wait that a reply's `retry-after` asks for, in ms: seconds, or an HTTP date by the sender's own clock, which is the reply's
 * `date`, or `senderNowMs` (epoch ms) without one. Undefined for other values, or if neither is known.
 */
export function retryAfterMs(
  headers: Readonly<Record<string, HeaderValue>>,
  senderNowMs?: number,
): number | undefined {
  const { 'retry-after': after, age, date } = headers
  if (typeof after !== 'string') return undefined
  if (/^\d+(\.\d+)?$/.test(after)) return Math.ceil(Number.parseFloat(after) * 1_000)
  const untilMs = httpDateMs(after)
  // A cached answer carries the time at which it was stored.
  const sentMs = (age === undefined ? httpDateMs(date) : undefined) ?? senderNowMs
  return untilMs === undefined || sentMs === undefined ? undefined : Math.max(0, untilMs - sentMs)
}

const HTTP_DATE = /^[A-Z][a-z]{2}, (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d) GMT$/
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'

/** Epoch ms of `Fri, 20 Nov 2026 12:00:30 GMT` (RFC 9110, IMF-fixdate). */
function httpDateMs(text: HeaderValue): number | undefined {
  const [, day, name = '', year, time] = HTTP_DATE.exec(typeof text === 'string' ? text : '') ?? []
  const month = String(MONTHS.indexOf(name) / 3 + 1).padStart(2, '0')
  const micros = isoMicros(`${year}-${month}-${day}T${time}Z`)
  return micros === undefined ? undefined : micros / 1_000
}
