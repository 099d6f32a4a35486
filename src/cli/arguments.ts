import { InvalidArgumentError } from 'commander'
import { durationMs } from '../domain/duration.ts'

/** Milliseconds of a duration such as `30s`. */
export function duration(text: string): number {
  const ms = durationMs(text)
  if (ms === undefined) throw new InvalidArgumentError('expected a duration such as 30s or 5m')
  return ms
}

/** A positive whole number. */
export function count(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('expected a positive number')
  return Number.parseInt(text, 10)
}

/** A TCP port, or 0 for any free one. */
export function port(text: string): number {
  const number = /^(0|[1-9]\d{0,4})$/.test(text) ? Number.parseInt(text, 10) : Number.NaN
  if (!(number <= 65_535)) throw new InvalidArgumentError('expected a port from 0 to 65535')
  return number
}
