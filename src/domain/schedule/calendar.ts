import { DAY_SECONDS, formatDay, formatTimeOfDay } from './civil-date.ts'
import { nearestMatch } from './cron-match.ts'
import type { CronRecurrence, Recurrence, SlotSeconds } from './schedule.ts'
import { type OffsetSpan, offsetSpanAt } from './timezone.ts'

/** The calendar's view of a cron schedule. Times are epoch seconds throughout. */
type Cron = Pick<CronRecurrence, 'pattern' | 'timezone'>

/** Ascending slots; `more` means that `max` truncated the list. */
type Slots = { readonly slots: SlotSeconds[]; readonly more: boolean }

// Each search step passes a span of up to half a year; this many cover the decades that `nearestMatch` searches. A pattern
// that only runs inside gaps ends here.
const SPANS_MAX = 400
const WARNING_HORIZON_SECONDS = 2 * 366 * DAY_SECONDS

/**
 * First slot strictly after `afterSeconds`; undefined if there is none for decades.
 *
 * Clock changes follow Vixie cron: a fixed time inside a spring-forward gap runs once, right after the gap, and a fixed
 * time that occurs twice runs the first time. Interval patterns follow real time, so they run in both passes of a repeated
 * hour and never inside a gap.
 */
export function nextSlot(schedule: Recurrence, afterSeconds: number): SlotSeconds | undefined {
  if (schedule.type === 'cron') return nextCronSlot(schedule, afterSeconds)
  const { startSeconds, everySeconds, count } = schedule
  if (startSeconds === undefined) return undefined
  const index = Math.max(0, Math.floor((afterSeconds - startSeconds) / everySeconds) + 1)
  return index < count ? startSeconds + index * everySeconds : undefined
}

function nextCronSlot(schedule: Cron, afterSeconds: number): SlotSeconds | undefined {
  const { pattern, timezone } = schedule
  let at = Math.floor(afterSeconds) + 1
  for (let steps = 0; steps < SPANS_MAX; steps++) {
    const span = offsetSpanAt(timezone, at)
    const match = nearestMatch(pattern, firstWallSecond(schedule, span, at), 'later')
    if (match === undefined) return undefined
    const slot = match - span.offsetSeconds
    if (slot < span.untilSeconds) return Math.max(slot, span.fromSeconds)
    at = span.untilSeconds
  }
  return undefined
}

/** Earliest wall-clock second whose match would run in `span` at or after `at`. */
function firstWallSecond(schedule: Cron, span: OffsetSpan, at: number): number {
  const own = at + span.offsetSeconds
  if (schedule.pattern.timing === 'interval') return own
  // At the start of a span, wall-clock times skipped by a gap still run; times already shown once do not run again.
  return at === span.fromSeconds ? span.wallReachedSeconds : Math.max(own, span.wallReachedSeconds)
}

/** Slots after `afterSeconds` (exclusive) up to `untilSeconds` (inclusive), at most `max`. */
export function slotsBetween(
  schedule: Recurrence,
  afterSeconds: number,
  untilSeconds: number,
  max: number,
): Slots {
  const slots: SlotSeconds[] = []
  let slot = nextSlot(schedule, afterSeconds)
  while (slot !== undefined && slot <= untilSeconds) {
    if (slots.length >= max) return { slots, more: true }
    slots.push(slot)
    slot = nextSlot(schedule, slot)
  }
  return { slots, more: false }
}

/** Latest slot in the inclusive range, if any. Searches backwards, so the cost does not grow with the slots. */
export function latestSlotAtOrBefore(
  schedule: Recurrence,
  atSeconds: number,
  notBeforeSeconds: number,
): SlotSeconds | undefined {
  if (schedule.type === 'cron') return latestCronSlot(schedule, atSeconds, notBeforeSeconds)
  const { startSeconds, everySeconds, count } = schedule
  if (startSeconds === undefined || atSeconds < startSeconds) return undefined
  const index = Math.min(count - 1, Math.floor((atSeconds - startSeconds) / everySeconds))
  const slot = startSeconds + index * everySeconds
  return slot >= notBeforeSeconds ? slot : undefined
}

function latestCronSlot(
  schedule: Cron,
  atSeconds: number,
  notBeforeSeconds: number,
): SlotSeconds | undefined {
  let at = Math.floor(atSeconds)
  for (let steps = 0; steps < SPANS_MAX && at >= notBeforeSeconds; steps++) {
    const span = offsetSpanAt(schedule.timezone, at)
    const match = nearestMatch(schedule.pattern, at + span.offsetSeconds, 'earlier')
    if (match === undefined) return undefined
    if (match >= firstWallSecond(schedule, span, span.fromSeconds)) {
      const slot = Math.max(match - span.offsetSeconds, span.fromSeconds)
      return slot >= notBeforeSeconds ? slot : undefined
    }
    at = span.fromSeconds - 1
  }
  return undefined
}

/** One sentence per clock change of the next two years that moves a scheduled time. Hourly patterns have none. */
export function scheduleWarnings(schedule: Recurrence, fromSeconds: number): string[] {
  if (schedule.type === 'interval') return []
  const { pattern, timezone } = schedule
  if (pattern.timing === 'interval' && pattern.hours.length === 24) return []
  const warnings: string[] = []
  const horizon = fromSeconds + WARNING_HORIZON_SECONDS
  let before = offsetSpanAt(timezone, Math.floor(fromSeconds))
  while (before.untilSeconds < horizon) {
    const after = offsetSpanAt(timezone, before.untilSeconds)
    const oldWall = before.untilSeconds + before.offsetSeconds
    const newWall = before.untilSeconds + after.offsetSeconds
    warnings.push(...changeWarnings(schedule, { oldWall, newWall }))
    before = after
  }
  return warnings
}

/** Warnings about times that the clock skips going forward, or repeats going back. */
function changeWarnings(
  schedule: Cron,
  { oldWall, newWall }: { oldWall: number; newWall: number },
): string[] {
  const isGap = newWall > oldWall
  const times = matchesWithin(schedule, Math.min(oldWall, newWall), Math.max(oldWall, newWall))
  const [first] = times
  const last = times.at(-1)
  if (first === undefined || last === undefined) return []
  const isOne = times.length === 1
  const what = isOne
    ? formatTimeOfDay(first)
    : `${times.length} times from ${formatTimeOfDay(first)} to ${formatTimeOfDay(last)}`
  const where = `on ${formatDay(first)} in ${schedule.timezone}`
  const isFixed = schedule.pattern.timing === 'fixed'
  if (!isGap) {
    const runs = isFixed ? 'runs only the first time' : 'runs both times'
    return [`${what} ${isOne ? 'occurs' : 'occur'} twice ${where}: ${runs}`]
  }
  const once = `${isOne ? 'runs' : 'runs once'} at ${formatTimeOfDay(newWall)}`
  const runs = isFixed ? once : 'does not run then'
  return [`${what} ${isOne ? 'does' : 'do'} not exist ${where}: ${runs}`]
}

function matchesWithin(schedule: Cron, fromWall: number, untilWall: number): number[] {
  const found: number[] = []
  let match = nearestMatch(schedule.pattern, fromWall, 'later')
  while (match !== undefined && match < untilWall) {
    found.push(match)
    match = nearestMatch(schedule.pattern, match + 1, 'later')
  }
  return found
}
