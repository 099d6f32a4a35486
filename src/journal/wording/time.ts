import {
  civilDate,
  DAY_SECONDS,
  dayOfWeek,
  formatTimeOfDay,
  MONTH_NAMES,
} from '../../domain/schedule/civil-date.ts'
import { wallSecondsAt } from '../../domain/schedule/timezone.ts'

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** `Mon 5 Jan, 09:00` in the zone's local time. */
export function localTime(atMs: number, timezone: string): string {
  const wall = wallSecondsAt(timezone, Math.floor(atMs / 1_000))
  const day = Math.floor(wall / DAY_SECONDS)
  const { month, day: date } = civilDate(day)
  const time = formatTimeOfDay(Math.floor(wall / 60) * 60)
  return `${DAYS[dayOfWeek(day)]} ${date} ${MONTH_NAMES[month - 1]}, ${time}`
}

/** The same with the zone, for a time shown alone. */
export function localTimeInZone(atMs: number, timezone: string): string {
  return `${localTime(atMs, timezone)} (${timezone})`
}
