/** Moments and durations as people read them, in a given time zone. */

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const UNITS = [
  ['d', DAY],
  ['h', HOUR],
  ['m', MINUTE],
  ['s', SECOND],
] as const

/** A duration in its two largest units: `2 d 10 h`, `3 m 5 s`, `4 s`. Rounded down. */
export function durationText(ms: number): string {
  const at = UNITS.findIndex(([, size]) => ms >= size)
  const [large, small] = at < 0 ? [] : [UNITS[at], UNITS[at + 1]]
  if (large === undefined) return '0 s'
  const whole = `${Math.floor(ms / large[1])} ${large[0]}`
  const rest = small === undefined ? 0 : Math.floor((ms % large[1]) / small[1])
  return small === undefined || rest === 0 ? whole : `${whole} ${rest} ${small[0]}`
}

/** How long until a moment: `in 4 s`; `now` once it has come. Rounded up, so that nothing reads as due before it is. */
export function untilText(atMs: number, nowMs: number): string {
  const left = atMs - nowMs
  return left <= 0 ? 'now' : `in ${durationText(Math.ceil(left / SECOND) * SECOND)}`
}

/** How long ago a moment was, in its largest unit: `3 m ago`. */
export function agoText(atMs: number, nowMs: number): string {
  const passed = nowMs - atMs
  return passed < SECOND ? 'just now' : `${spanText(passed)} ago`
}

/** A duration in its largest unit: `3 m`, and hours up to two days. */
export function spanText(ms: number): string {
  const isHours = ms >= HOUR && ms < 2 * DAY
  const unit = UNITS.find(([name, size]) => (isHours ? name === 'h' : ms >= size))
  return unit === undefined ? '0 s' : `${Math.floor(ms / unit[1])} ${unit[0]}`
}

/** How moments are written for one reader: 24 hours, the day only where it is another, and the name of the zone. */
export type Calendar = {
  /** `14:05:07`. */
  time(atMs: number): string
  /** `14:05:07` on the day of `nowMs`, else `Mon 24 Nov 14:05`, with the year where that is another. */
  moment(atMs: number, nowMs: number): string
  /** `24 Nov`. */
  day(atMs: number): string
  /** `CET`, `EST`, `GMT+5:30`. */
  zone(atMs: number): string
  /** Everything: `Mon 24 Nov 2025 14:05:07 CET`. */
  full(atMs: number): string
}

/** @param timeZone IANA name; the machine's own unless given. */
export function calendarOf(timeZone?: string): Calendar {
  const zoned = timeZone === undefined ? {} : { timeZone }
  const format = (options: Intl.DateTimeFormatOptions, locale = 'en-GB') =>
    new Intl.DateTimeFormat(locale, { ...zoned, ...options })
  const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
  const time = format(clock)
  const day = format({ weekday: 'short', day: 'numeric', month: 'short' })
  const date = format({ day: 'numeric', month: 'short' })
  const year = format({ year: 'numeric' })
  // Zones have short names only in the locales that use them.
  const zones = ['en-GB', 'en-US', 'en-AU', 'en-IN'].map((locale) =>
    format({ hour: 'numeric', timeZoneName: 'short' }, locale),
  )
  const dayText = (atMs: number) => day.format(atMs).replaceAll(',', '')
  function zone(atMs: number): string {
    const names = zones.map((one) => zoneName(one, atMs))
    return names.find((name) => !/^(GMT|UTC)[+-]/.test(name)) ?? names[0] ?? ''
  }
  return {
    time: (atMs) => time.format(atMs),
    moment(atMs, nowMs) {
      const [that, today] = [dayText(atMs), dayText(nowMs)]
      const [thatYear, thisYear] = [year.format(atMs), year.format(nowMs)]
      const toTheMinute = time.format(atMs).slice(0, 5)
      if (thatYear !== thisYear) return `${that} ${thatYear} ${toTheMinute}`
      return that === today ? time.format(atMs) : `${that} ${toTheMinute}`
    },
    day: (atMs) => date.format(atMs),
    zone,
    full: (atMs) => `${dayText(atMs)} ${year.format(atMs)} ${time.format(atMs)} ${zone(atMs)}`,
  }
}

function zoneName(format: Intl.DateTimeFormat, atMs: number): string {
  const name = format.formatToParts(atMs).find(({ type }) => type === 'timeZoneName')
  return name?.value ?? ''
}
