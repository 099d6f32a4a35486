import { civilDate, DAY_SECONDS, dayOfWeek, daysInMonth } from './civil-date.ts'
import type { CronPattern } from './cron.ts'
import { isDayOf } from './day-fields.ts'

/** Search direction along the wall clock. The start second is included. */
type Toward = 'later' | 'earlier'

// 29 February on a given weekday recurs after 28 years, or 40 across a century that is no leap year.
const SEARCH_MONTHS_MAX = 41 * 12

/** Seconds per step of hours, minutes and seconds. */
const TIME_UNITS = [3_600, 60, 1] as const

/** The nearest match in one direction, in wall-clock seconds without a zone. Undefined if none within 41 years. */
export function nearestMatch(
  pattern: CronPattern,
  wallSeconds: number,
  toward: Toward,
): number | undefined {
  const day = Math.floor(wallSeconds / DAY_SECONDS)
  if (matchesDay(pattern, day)) {
    const time = nearestTime(pattern, wallSeconds - day * DAY_SECONDS, toward)
    if (time !== undefined) return day * DAY_SECONDS + time
  }
  const otherDay = nearestDay(pattern, toward === 'later' ? day + 1 : day - 1, toward)
  if (otherDay === undefined) return undefined
  const time = nearestTime(pattern, toward === 'later' ? 0 : DAY_SECONDS - 1, toward)
  return time === undefined ? undefined : otherDay * DAY_SECONDS + time
}

/** `day` is an epoch day on the wall clock. */
export function matchesDay(pattern: CronPattern, day: number): boolean {
  const date = civilDate(day)
  if (!pattern.months.includes(date.month)) return false
  const lastDay = pattern.relativeDays === undefined ? 31 : daysInMonth(date.year, date.month)
  return isDayOf(pattern, { day: date.day, weekday: dayOfWeek(day), lastDay })
}

function nearestDay(pattern: CronPattern, start: number, toward: Toward): number | undefined {
  let day = start
  for (let month = 0; month < SEARCH_MONTHS_MAX; month++) {
    const date = civilDate(day)
    const first = day - date.day + 1
    const last = first + daysInMonth(date.year, date.month) - 1
    if (pattern.months.includes(date.month)) {
      const found = nearestDayWithin(pattern, { start: day, first, last }, toward)
      if (found !== undefined) return found
    }
    day = toward === 'later' ? last + 1 : first - 1
  }
  return undefined
}

function nearestDayWithin(
  pattern: CronPattern,
  month: { start: number; first: number; last: number },
  toward: Toward,
): number | undefined {
  const step = toward === 'later' ? 1 : -1
  for (let day = month.start; day >= month.first && day <= month.last; day += step) {
    if (matchesDay(pattern, day)) return day
  }
  return undefined
}

function nearestTime(
  pattern: CronPattern,
  secondOfDay: number,
  toward: Toward,
): number | undefined {
  return nearestInFields([pattern.hours, pattern.minutes, pattern.seconds], secondOfDay, toward)
}

/** Digit by digit, widest field first: keeps the wanted value if the rest fits, else advances by one. */
function nearestInFields(
  fields: readonly (readonly number[])[],
  wanted: number,
  toward: Toward,
): number | undefined {
  const [values, ...narrower] = fields
  const unit = TIME_UNITS[TIME_UNITS.length - fields.length]
  if (values === undefined || unit === undefined) return 0
  const own = Math.floor(wanted / unit)
  if (values.includes(own)) {
    const rest = nearestInFields(narrower, wanted % unit, toward)
    if (rest !== undefined) return own * unit + rest
  }
  const other =
    toward === 'later'
      ? values.find((value) => value > own)
      : values.findLast((value) => value < own)
  if (other === undefined) return undefined
  const edge = nearestInFields(narrower, toward === 'later' ? 0 : unit - 1, toward)
  return edge === undefined ? undefined : other * unit + edge
}
