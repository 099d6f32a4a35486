import { InvalidArgumentError } from 'commander'
import { durationMs } from '../domain/duration.ts'
import { isoMicros } from '../domain/iso-time.ts'

/** Milliseconds of a duration such as `30s`. */
export function duration(text: string): number {
  const ms = durationMs(text)
  if (ms === undefined) throw wrong('this is no duration', 'a duration such as 30s or 5m')
  return ms
}

/** A positive whole number. */
export function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw wrong('this is no positive whole number', 'a number from 1 to 999999999')
  return Number.parseInt(text, 10)
}

const PARTS_MAX = 20

/** Parts that something is cut into. */
export function parts(text: string): number {
  const number = /^\d{1,2}$/.test(text) ? Number.parseInt(text, 10) : Number.NaN
  if (!(number >= 2 && number <= PARTS_MAX))
    throw wrong('this is no number of parts', `a whole number from 2 to ${PARTS_MAX}`)
  return number
}

/** A TCP port, or 0 for any free one. */
export function port(text: string): number {
  const number = /^(0|[1-9]\d{0,4})$/.test(text) ? Number.parseInt(text, 10) : Number.NaN
  if (!(number <= 65_535)) throw wrong('this is no port', 'a whole number from 0 to 65535')
  return number
}

const DAY = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z?)?$/

/** Epoch ms of a day, a moment (both UTC), or so long ago. */
export function since(text: string): number {
  const ago = durationMs(text)
  if (ago !== undefined) return Date.now() - ago
  const atMs = momentMs(text)
  if (atMs === undefined)
    throw wrong('this is neither a day nor a duration', 'a day such as 2026-01-31, or 30d')
  return atMs
}

/** Epoch ms of a day or a moment, both UTC. */
export function moment(text: string): number {
  const atMs = momentMs(text)
  if (atMs === undefined)
    throw wrong('this is no day', 'a day such as 2025-01-01, or 2025-01-01T09:30')
  return atMs
}

function momentMs(text: string): number | undefined {
  const micros = DAY.test(text) ? isoMicros(text) : undefined
  return micros === undefined ? undefined : micros / 1_000
}

const NUMBER = /^\d+(?:\.\d+)?$/

/** A share in percent, with the sign or without: from 0 on. */
export function percentage(text: string): number {
  const number = text.replace(/%$/, '')
  if (!NUMBER.test(number)) throw wrong('this is no share', 'a percentage such as 0.5%')
  return Number.parseFloat(number)
}

/** Basis points: from 0 to 10,000, with two places. */
export function points(text: string): number {
  const number = NUMBER.test(text) ? Number.parseFloat(text) : Number.NaN
  if (!(number <= 10_000)) throw wrong('these are no basis points', 'a number from 0 to 10000')
  return number
}

/** Worded as what is wrong in a file is. */
export function wrong(message: string, expected: string): InvalidArgumentError {
  return new InvalidArgumentError(`${message}\n  expected: ${expected}`)
}
