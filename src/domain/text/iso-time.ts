import { DAY_SECONDS, daysInMonth, epochDay } from '../schedule/civil-date.ts'

const ISO =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?)? ?(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/i
const DAYS_IN_ALL = 28
/** No zone is further from UTC. */
const OFFSET_HOURS_MAX = 14

/** Whether text has the form of an ISO 8601 day or time, even if no such time exists. */
export function isIsoForm(text: string): boolean {
  return ISO.test(text)
}

/**
 * Epoch microseconds of an ISO 8601 day or time, exact. Without a zone, UTC. Undefined for other text, for years before
 * 1970, and for times that do not exist: 30 February, 24:00, a leap second.
 */
export function isoMicros(text: string): number | undefined {
  const match = ISO.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', zone = 'Z'] =
    match
  const [y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0] = [year, month, day, hour, minute, second].map(
    Number,
  )
  if (y < 1970 || mo < 1 || mo > 12 || h > 23 || mi > 59 || s > 59) return undefined
  if (d < 1 || (d > DAYS_IN_ALL && d > daysInMonth(y, mo))) return undefined
  const offset = offsetMinutes(zone)
  if (offset === undefined) return undefined
  const wall = epochDay({ year: y, month: mo, day: d }) * DAY_SECONDS + h * 3_600 + mi * 60 + s
  const micros = Number.parseInt(fraction.slice(0, 6).padEnd(6, '0'), 10)
  return (wall - offset * 60) * 1_000_000 + micros
}

function offsetMinutes(zone: string): number | undefined {
  const match = /^([+-])(\d\d):?(\d\d)?$/.exec(zone)
  if (match === null) return 0
  const [hours = 0, minutes = 0] = [match[2], match[3] ?? '0'].map(Number)
  if (hours > OFFSET_HOURS_MAX || minutes > 59) return undefined
  return (match[1] === '-' ? -1 : 1) * (hours * 60 + minutes)
}
