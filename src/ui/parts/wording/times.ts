import { durationText, roughDurationText } from '../../../domain/text/duration.ts'

/** Moments for people. UTC texts take epoch seconds. */

const SECOND = 1_000

/** Time until a moment: `in 4 s`, `now` once it has come. Rounded up, so that nothing appears due early. */
export function untilText(atMs: number, nowMs: number): string {
  const left = atMs - nowMs
  return left <= 0 ? 'now' : `in ${durationText(Math.ceil(left / SECOND) * SECOND)}`
}

/** A slot this late waits for something. */
const WAITS_MS = 2_000

/** `due 22s ago` for a slot that waits, as `tranched status` says it. */
export function lateText(dueMs: number, nowMs: number): string | undefined {
  const late = nowMs - dueMs
  return late < WAITS_MS ? undefined : `due ${durationText(late)} ago`
}

/** Time since a moment, in its largest unit: `3 m ago`. */
export function agoText(atMs: number, nowMs: number): string {
  const passed = nowMs - atMs
  return passed < SECOND ? 'just now' : `${roughDurationText(passed)} ago`
}

export type Calendar = ReturnType<typeof calendarOf>

/**
 * Formats moments in the reader's time zone, on a 24-hour clock.
 * @param timeZone IANA name; default: the machine's.
 */
export function calendarOf(timeZone?: string) {
  const zoned = timeZone === undefined ? {} : { timeZone }
  const format = (options: Intl.DateTimeFormatOptions, locale = 'en-GB') =>
    new Intl.DateTimeFormat(locale, { ...zoned, ...options })
  const clock = format({ hour: '2-digit', minute: '2-digit', second: '2-digit' })
  const weekday = format({ weekday: 'short', day: 'numeric', month: 'short' })
  const date = format({ day: 'numeric', month: 'short' })
  const year = format({ year: 'numeric' })
  // A zone has a short name only in locales that use it.
  const zones = ['en-GB', 'en-US', 'en-AU', 'en-IN'].map((locale) =>
    format({ hour: 'numeric', timeZoneName: 'short' }, locale),
  )
  const dayText = (atMs: number) => weekday.format(atMs).replaceAll(',', '')
  /** `CET`, `EST`, `GMT+5:30`. */
  function zone(atMs: number): string {
    const names = zones.map(
      (one) => one.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')?.value ?? '',
    )
    return names.find((name) => !/^(GMT|UTC)[+-]/.test(name)) ?? names[0] ?? ''
  }
  return {
    /** `14:05:07`. */
    time: (atMs: number): string => clock.format(atMs),
    /** `14:05:07` on the day of `nowMs`, otherwise `Mon 24 Nov 14:05`, with the year if it differs. */
    moment(atMs: number, nowMs: number): string {
      const [that, thatYear] = [dayText(atMs), year.format(atMs)]
      const toTheMinute = clock.format(atMs).slice(0, 5)
      if (thatYear !== year.format(nowMs)) return `${that} ${thatYear} ${toTheMinute}`
      return that === dayText(nowMs) ? clock.format(atMs) : `${that} ${toTheMinute}`
    },
    /** `24 Nov`. */
    day: (atMs: number): string => date.format(atMs),
    zone,
    timeZone,
    /** `Mon 24 Nov 2025 14:05:07 CET`. */
    full: (atMs: number): string =>
      `${dayText(atMs)} ${year.format(atMs)} ${clock.format(atMs)} ${zone(atMs)}`,
  }
}

const INSTANT = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g
const UTC_TIME = /(?<![\d:])(\d\d:\d\d:\d\d) UTC/g
const DAY = 86_400 * SECOND

/** A sentence with its UTC moments as the calendar writes them. `nearMs` gives the day of times without one. */
export function momentsIn(sentence: string, calendar: Calendar, nearMs: number): string {
  const text = (atMs: number) => `${calendar.moment(atMs, nearMs)} ${calendar.zone(atMs)}`
  return sentence
    .replace(INSTANT, (iso) => text(Date.parse(iso)))
    .replace(UTC_TIME, (_, time: string) => {
      const atMs = Date.parse(`${new Date(nearMs).toISOString().slice(0, 10)}T${time}Z`)
      const days = Math.round((nearMs - atMs) / DAY)
      return text(atMs + days * DAY)
    })
}

// The report's UTC texts avoid Intl, because they must be the same on every machine and in every browser.

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `4 Nov`. */
export function shortDayText(seconds: number): string {
  const date = new Date(seconds * 1_000)
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`
}

/** `4 Nov 2025`. */
export function dayText(seconds: number): string {
  return `${shortDayText(seconds)} ${new Date(seconds * 1_000).getUTCFullYear()}`
}

/** `Nov 2025`. */
export function monthText(seconds: number): string {
  return dayText(seconds).replace(/^\d+ /, '')
}

/** `14:05`, with the seconds if they are not zero. */
export function timeText(seconds: number): string {
  const text = new Date(seconds * 1_000).toISOString().slice(11, 19)
  return text.endsWith(':00') ? text.slice(0, 5) : text
}

/** `4 Nov 2025 14:05`. */
export function momentText(seconds: number): string {
  return `${dayText(seconds)} ${timeText(seconds)}`
}

/** `2025-11-04T14:05:00Z`. */
export function isoText(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace('.000Z', 'Z')
}

export function secondsOf(iso: string): number {
  return Date.parse(iso) / 1_000
}
