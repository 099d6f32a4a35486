/** Wall-clock time here has no leap seconds and no time zone. */
export const DAY_SECONDS = 86_400

export const MONTH_NAMES = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** A day of the proleptic Gregorian calendar; `month` and `day` count from 1. */
type CivilDate = { readonly year: number; readonly month: number; readonly day: number }

// Years start in March in these formulas: the leap day comes last and month lengths follow one linear rule. The Gregorian
// calendar repeats after an era of 400 years.
const ERA_YEARS = 400
const ERA_DAYS = 146_097
const EPOCH_DAYS_SINCE_MARCH_YEAR_0 = 719_468

/** Days from 1970-01-01; negative before it. */
export function epochDay(date: CivilDate): number {
  const year = date.month <= 2 ? date.year - 1 : date.year
  const era = Math.floor(year / ERA_YEARS)
  const yearOfEra = year - era * ERA_YEARS
  const monthFromMarch = (date.month + 9) % 12
  const dayOfYear = Math.floor((153 * monthFromMarch + 2) / 5) + date.day - 1
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  return era * ERA_DAYS + yearOfEra * 365 + leapDays + dayOfYear - EPOCH_DAYS_SINCE_MARCH_YEAR_0
}

/** Inverse of `epochDay`. */
export function civilDate(day: number): CivilDate {
  const shifted = day + EPOCH_DAYS_SINCE_MARCH_YEAR_0
  const era = Math.floor(shifted / ERA_DAYS)
  const dayOfEra = shifted - era * ERA_DAYS
  const leapDays =
    Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096)
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365)
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153)
  const month = ((monthFromMarch + 2) % 12) + 1
  return {
    year: era * ERA_YEARS + yearOfEra + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1,
  }
}

/** 0 is Sunday, 6 is Saturday. */
export function dayOfWeek(day: number): number {
  return (((day + 4) % 7) + 7) % 7
}

export function daysInMonth(year: number, month: number): number {
  const next = month === 12 ? { year: year + 1, month: 1 } : { year, month: month + 1 }
  return epochDay({ ...next, day: 1 }) - epochDay({ year, month, day: 1 })
}

/** `2027-03-28` */
export function formatDay(wallSeconds: number): string {
  const date = civilDate(Math.floor(wallSeconds / DAY_SECONDS))
  return `${pad(date.year, 4)}-${pad(date.month, 2)}-${pad(date.day, 2)}`
}

/** `2027-03-28T02:30Z` */
export function formatInstant(epochSeconds: number): string {
  return `${formatDay(epochSeconds)}T${formatTimeOfDay(epochSeconds)}Z`
}

/** ISO 8601 with seconds, which many parsers require. */
export function isoInstant(epochSeconds: number): string {
  const seconds = epochSeconds - Math.floor(epochSeconds / 60) * 60
  return `${formatDay(epochSeconds)}T${formatTimeOfDay(epochSeconds - seconds)}:${pad(seconds, 2)}Z`
}

/** `02:30`, with seconds unless they are zero. */
export function formatTimeOfDay(wallSeconds: number): string {
  const second = wallSeconds - Math.floor(wallSeconds / DAY_SECONDS) * DAY_SECONDS
  const hourAndMinute = `${pad(Math.floor(second / 3_600), 2)}:${pad(Math.floor(second / 60) % 60, 2)}`
  return second % 60 === 0 ? hourAndMinute : `${hourAndMinute}:${pad(second % 60, 2)}`
}

function pad(value: number, digits: number): string {
  return String(value).padStart(digits, '0')
}
