import { civilDate, DAY_SECONDS, dayOfWeek } from '../../domain/schedule/civil-date.ts'
import { offsetSpanAt } from '../../domain/schedule/timezone.ts'

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/** `Mon 5 Jan, 09:00`, as a clock on the wall of that zone shows it. */
export function localTime(atMs: number, timezone: string): string {
  const wall = wallSeconds(atMs, timezone)
  const day = Math.floor(wall / DAY_SECONDS)
  const { month, day: date } = civilDate(day)
  return `${DAYS[dayOfWeek(day)]} ${date} ${MONTHS[month - 1]}, ${timeOfDay(wall)}`
}

/** The same with the zone, for a time that stands alone. */
export function localTimeInZone(atMs: number, timezone: string): string {
  return `${localTime(atMs, timezone)} (${timezone})`
}

function wallSeconds(atMs: number, timezone: string): number {
  const seconds = Math.floor(atMs / 1_000)
  return seconds + offsetSpanAt(timezone, seconds).offsetSeconds
}

function timeOfDay(wall: number): string {
  const second = wall - Math.floor(wall / DAY_SECONDS) * DAY_SECONDS
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${two(Math.floor(second / 3_600))}:${two(Math.floor(second / 60) % 60)}`
}
