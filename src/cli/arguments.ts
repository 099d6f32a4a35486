import { InvalidArgumentError } from 'commander'
import { durationMs } from '../domain/text/duration.ts'
import { isoMicros } from '../domain/text/iso-time.ts'

/** Returns milliseconds. */
export function duration(text: string): number {
  const ms = durationMs(text)
  if (ms === undefined) throw wrong('not a duration', 'a duration such as 30s or 5m')
  return ms
}

/** Reads a number from `min` to `max` whose text matches `form`. */
function numberOf(
  form: RegExp,
  [min, max]: readonly [number, number],
  is: string,
  kind = 'a whole number',
) {
  return (text: string): number => {
    const number = form.test(text) ? Number.parseFloat(text) : Number.NaN
    if (!(number >= min && number <= max)) throw wrong(is, `${kind} from ${min} to ${max}`)
    return number
  }
}

export const count = numberOf(/^[1-9]\d{0,8}$/, [1, 999_999_999], 'not a positive whole number')
export const parts = numberOf(/^\d{1,2}$/, [2, 20], 'not a number of parts')
/** Basis points, as the service takes them. */
export const slippage = numberOf(/^\d{1,4}$/, [1, 2_000], 'not a slippage')
/** 0 picks a free port. */
export const port = numberOf(/^(0|[1-9]\d{0,4})$/, [0, 65_535], 'not a port')

const DAY = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z?)?$/

/** Epoch ms of a UTC day or time, or of a duration before now. */
export function since(text: string): number {
  const ago = durationMs(text)
  if (ago !== undefined) return Date.now() - ago
  const atMs = momentMs(text)
  if (atMs === undefined)
    throw wrong('neither a day nor a duration', 'a day such as 2026-01-31, or 30d')
  return atMs
}

export function moment(text: string): number {
  const atMs = momentMs(text)
  if (atMs === undefined) throw wrong('not a day', 'a day such as 2025-01-01, or 2025-01-01T09:30')
  return atMs
}

function momentMs(text: string): number | undefined {
  const micros = DAY.test(text) ? isoMicros(text) : undefined
  return micros === undefined ? undefined : micros / 1_000
}

const NUMBER = /^\d+(?:\.\d+)?$/

/** In percent, with or without the sign. */
export function percentage(text: string): number {
  const number = text.replace(/%$/, '')
  if (!NUMBER.test(number)) throw wrong('not a percentage', 'a percentage such as 0.5%')
  return Number.parseFloat(number)
}

export const points = numberOf(NUMBER, [0, 10_000], 'not a number of basis points', 'a number')

function wrong(message: string, expected: string): InvalidArgumentError {
  return new InvalidArgumentError(`${message}\n  expected: ${expected}`)
}
