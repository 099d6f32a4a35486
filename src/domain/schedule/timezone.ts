import { DAY_SECONDS, epochDay } from './civil-date.ts'

/** A period in which a zone keeps one offset. Wall-clock seconds are epoch seconds plus the offset. */
export type OffsetSpan = {
  /** First epoch second of the span. May be earlier than requested, but never invents a change. */
  readonly fromSeconds: number
  /** First epoch second after the span; the offset may or may not change there. */
  readonly untilSeconds: number
  readonly offsetSeconds: number
  /** Wall-clock time just before the span. After a gap it is before the span's first second, after a repeat later. */
  readonly wallReachedSeconds: number
}

type Zone = {
  /** Undefined for UTC, which needs no table and must not slow down a start. */
  readonly format: Intl.DateTimeFormat | undefined
  readonly windows: Map<number, OffsetSpan[]>
}

// Spans are searched in windows of half a year, which hold one or two changes.
const WINDOW_SECONDS = 2 ** 24
// Two changes within one probe could cancel out unseen; zones keep an offset for weeks at least.
const PROBE_SECONDS = DAY_SECONDS
// A repeated hour may reach into the next window, which needs the wall-clock time before it.
const OVERLAP_SECONDS = 2 * DAY_SECONDS

// A cache: zone names do not change meaning while the process runs. Only valid names are added.
const zones = new Map<string, Zone>()

export function isTimezone(text: string): boolean {
  // Newer runtimes accept bare offsets such as +02:00, older ones do not: a file must mean the same on both.
  if (!/^[a-z]/i.test(text)) return false
  try {
    zoneOf(text)
    return true
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Throws RangeError for an unknown zone. */
export function offsetSpanAt(timezone: string, epochSeconds: number): OffsetSpan {
  const zone = zoneOf(timezone)
  const index = Math.floor(epochSeconds / WINDOW_SECONDS)
  let spans = zone.windows.get(index)
  if (!spans) {
    spans = findSpans(zone, index * WINDOW_SECONDS)
    zone.windows.set(index, spans)
  }
  const span = spans.find((candidate) => epochSeconds < candidate.untilSeconds)
  if (!span) throw new RangeError(`no offset of ${timezone} at ${epochSeconds}`)
  return span
}

export function wallSecondsAt(timezone: string, epochSeconds: number): number {
  return epochSeconds + offsetSpanAt(timezone, epochSeconds).offsetSeconds
}

function zoneOf(timezone: string): Zone {
  const known = zones.get(timezone)
  if (known) return known
  const format = timezone === 'UTC' ? undefined : zoneFormat(timezone)
  const zone = { format, windows: new Map<number, OffsetSpan[]>() }
  zones.set(timezone, zone)
  return zone
}

function zoneFormat(timezone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
}

function findSpans(zone: Zone, windowStart: number): OffsetSpan[] {
  const end = windowStart + WINDOW_SECONDS
  const spans: OffsetSpan[] = []
  let from = windowStart - OVERLAP_SECONDS
  let wallReachedSeconds = from + offsetAt(zone, from)
  while (from < end) {
    const offsetSeconds = offsetAt(zone, from)
    const until = findOffsetEnd(zone, { from, end })
    spans.push({ fromSeconds: from, untilSeconds: until, offsetSeconds, wallReachedSeconds })
    wallReachedSeconds = Math.max(wallReachedSeconds, until + offsetSeconds)
    from = until
  }
  return spans
}

/** First second in (from, end] whose offset differs from the one at `from`, or `end`. */
function findOffsetEnd(zone: Zone, range: { from: number; end: number }): number {
  const offset = offsetAt(zone, range.from)
  let same = range.from
  while (same < range.end) {
    let probe = Math.min(same + PROBE_SECONDS, range.end)
    if (offsetAt(zone, probe) === offset) {
      same = probe
      continue
    }
    while (probe - same > 1) {
      const middle = Math.floor((same + probe) / 2)
      if (offsetAt(zone, middle) === offset) same = middle
      else probe = middle
    }
    return probe
  }
  return range.end
}

function offsetAt(zone: Zone, epochSeconds: number): number {
  if (zone.format === undefined) return 0
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
  for (const part of zone.format.formatToParts(epochSeconds * 1_000)) {
    if (part.type !== 'literal') parts[part.type] = Number.parseInt(part.value, 10)
  }
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts
  const wall = epochDay({ year, month, day }) * DAY_SECONDS + hour * 3_600 + minute * 60 + second
  return wall - epochSeconds
}
