import { describe, expect, test } from 'vitest'
import { parseCron } from '../../src/domain/schedule/cron.ts'
import { dueSlots } from '../../src/domain/schedule/due.ts'
import type { MissedPolicy, Schedule } from '../../src/domain/schedule/schedule.ts'
import { type JournalEvent, reduce } from '../../src/journal/events/registry.ts'
import { emptyState } from '../../src/journal/state/state-image.ts'
import { HOUR } from '../support/builders.ts'

/** Europe, America, half an hour instead of a whole hour, a half-hour offset, and a zone without changes. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/St_Johns',
  'Asia/Kolkata',
] as const
type Zone = (typeof ZONES)[number]
const PATTERNS = ['30 2 * * *', '*/20 * * * *', '15 1,2,3 * * *', '0 9 1 * 1'] as const
const FIRST = Date.UTC(2026, 0, 1) / 1_000
const LAST = Date.UTC(2031, 0, 1) / 1_000
const AROUND_SECONDS = 30 * 3_600

type Wall = {
  readonly minute: number
  readonly hour: number
  readonly day: number
  readonly weekday: number
  readonly offset: number
}

/** Wall-clock time from the runtime's time zone data, independent of our code. */
function wallClock(timeZone: string): (epochSeconds: number) => Wall {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  const offsets = new Map<number, number>()
  const offsetAt = (quarter: number): number => {
    const part = Object.fromEntries(
      format.formatToParts(quarter * 1_000).map(({ type, value }) => [type, Number(value)]),
    ) as Record<'year' | 'month' | 'day' | 'hour' | 'minute', number>
    const shown = Date.UTC(part.year, part.month - 1, part.day, part.hour, part.minute)
    return shown / 1_000 - quarter
  }
  return (epochSeconds) => {
    // Every change of these zones falls on a quarter of an hour, so one lookup covers the whole quarter.
    const quarter = Math.floor(epochSeconds / 900) * 900
    const offset = offsets.get(quarter) ?? offsetAt(quarter)
    offsets.set(quarter, offset)
    return { ...wallAt(epochSeconds + offset), offset }
  }
}

/** One clock per zone, shared by all patterns. */
const CLOCKS = new Map(ZONES.map((zone) => [zone, wallClock(zone)]))

function clockOf(zone: Zone): (epochSeconds: number) => Wall {
  return CLOCKS.get(zone) ?? wallClock(zone)
}

/** Moments at which a zone's offset changes. */
function changesOf(timeZone: Zone): readonly number[] {
  const at = clockOf(timeZone)
  const found: number[] = []
  let before = at(FIRST).offset
  for (let day = FIRST; day < LAST; day += 86_400) {
    const after = at(day + 86_400).offset
    if (after === before) continue
    for (let second = day; second < day + 86_400; second += 1_800) {
      if (at(second).offset === before && at(second + 1_800).offset === after) {
        found.push(second + 1_800)
        break
      }
    }
    before = after
  }
  return found
}

function includes(field: string): (value: number) => boolean {
  const parts = field.split(',').map((part) => {
    if (part === '*') return () => true
    if (part.startsWith('*/')) return (value: number) => value % Number(part.slice(2)) === 0
    return (value: number) => Number(part) === value
  })
  return (value) => parts.some((part) => part(value))
}

/** Returns whether a pattern matches a wall-clock time. */
function matcher(cron: string): (wall: Omit<Wall, 'offset'>) => boolean {
  const [minute = '', hour = '', day = '', , weekday = ''] = cron.split(' ')
  const has = {
    minute: includes(minute),
    hour: includes(hour),
    day: includes(day),
    weekday: includes(weekday),
  }
  // If both are restricted, one match suffices.
  const isEither = day !== '*' && weekday !== '*'
  return (wall) => {
    if (!has.minute(wall.minute) || !has.hour(wall.hour)) return false
    const [byDay, byWeekday] = [has.day(wall.day), has.weekday(wall.weekday)]
    return isEither ? byDay || byWeekday : byDay && byWeekday
  }
}

/**
 * The slots of a range, minute by minute, as defined by the manual page of Vixie cron: patterns with a `*` in minute or hour
 * follow real time; others run once in a repeated hour, and right after a gap for a time inside the gap.
 */
function reference(cron: string, timeZone: Zone, from: number, until: number): readonly number[] {
  const at = clockOf(timeZone)
  const matches = matcher(cron)
  const [minute = '', hour = ''] = cron.split(' ')
  const followsRealTime = minute.startsWith('*') || hour.startsWith('*')
  const slots = new Set<number>()
  let shownUntil = Number.NEGATIVE_INFINITY
  let before = at(from - 86_400 - 60)
  for (let second = from - 86_400; second <= until; second += 60) {
    const wall = at(second)
    const shown = second + wall.offset
    const isNew = shown > shownUntil
    if (matches(wall) && (followsRealTime || isNew)) slots.add(second)
    const jumped = wall.offset - before.offset
    if (!followsRealTime && swallowed(matches, shown - jumped, shown)) slots.add(second)
    shownUntil = Math.max(shownUntil, shown)
    before = wall
  }
  return [...slots].filter((slot) => slot > from && slot <= until)
}

/** Returns whether the pattern matches a skipped wall-clock time in a range. */
function swallowed(matches: ReturnType<typeof matcher>, from: number, until: number): boolean {
  for (let hidden = from; hidden < until; hidden += 60) if (matches(wallAt(hidden))) return true
  return false
}

/** A wall-clock time inside a gap. */
function wallAt(shown: number): Omit<Wall, 'offset'> {
  const date = new Date(shown * 1_000)
  return {
    minute: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
  }
}

/**
 * Slots accounted for by a daemon that checks every seven minutes, stalls for five hours around the change, restarts
 * halfway and has its clock set back by three hours.
 */
function accounted(schedule: Schedule, from: number, until: number): readonly number[] {
  const state = emptyState()
  const slots: number[] = []
  const record = (event: JournalEvent): void => reduce(state, event, 0)
  record({ type: 'strategy-scheduled', strategy: 'a', scheduleKey: 'k', fromSeconds: from })
  const openOnce = (nowMs: number, startedAtMs: number): boolean => {
    const lastSlotSeconds = state.strategies.get('a')?.lastSlotSeconds ?? from
    const due = dueSlots({ strategy: 'a', schedule, lastSlotSeconds, nowMs, startedAtMs })
    if (due.missed !== undefined) {
      record({ type: 'slots-missed', strategy: 'a', ...due.missed })
      slots.push(...Array.from({ length: due.missed.count ?? 0 }, () => Number.NaN))
    }
    for (const slotSeconds of due.open) {
      const closed = { type: 'slot-closed', strategy: 'a', slotSeconds } as const
      record({ ...closed, outcome: 'skipped', reason: 'cooldown' })
      slots.push(slotSeconds)
    }
    return due.open.length >= 100
  }
  const checks = checkTimes(from, until)
  const restartedAtMs = (checks[Math.floor(checks.length / 2)] ?? 0) * 1_000
  for (const [index, now] of checks.entries()) {
    const startedAtMs = index > checks.length / 2 ? restartedAtMs : 0
    while (openOnce(now * 1_000, startedAtMs));
  }
  return slots
}

/** Check times: every seven minutes, none for five hours around the middle, later some three hours behind. */
function checkTimes(from: number, until: number): readonly number[] {
  const middle = (from + until) / 2
  const checks: number[] = []
  for (let at = from; at <= until; at += 7 * 60)
    if (at <= middle - 2 * 3_600 || at >= middle + 3 * 3_600) checks.push(at)
  const back = checks.findIndex((at) => at > middle + 6 * 3_600)
  const behind = checks.slice(back, back + 30).map((at) => at - 3 * 3_600)
  return [...checks.slice(0, back), ...behind, ...checks.slice(back), until]
}

describe.each(ZONES)('every clock change of 2026-2030 in %s', (timezone) => {
  const changes = changesOf(timezone)
  // A zone without changes is checked at a change of another zone.
  const around = changes.length > 0 ? changes : [Date.UTC(2028, 2, 26, 1) / 1_000]

  test.each(PATTERNS)(
    'pattern "%s" loses and repeats no slot with a stall, a restart and a clock set back',
    (cron) => {
      if (timezone !== 'Asia/Kolkata') expect(changes.length).toBe(10)
      const parsed = parseCron(cron)
      if (!parsed.ok) throw new Error(parsed.message)
      for (const change of around) {
        const [from, until] = [change - AROUND_SECONDS, change + AROUND_SECONDS]
        const wanted = reference(cron, timezone, from, until)
        for (const missed of ['skip', 'latest', 'all'] as const satisfies readonly MissedPolicy[]) {
          const schedule: Schedule = {
            type: 'cron',
            cron,
            pattern: parsed.pattern,
            timezone,
            missed,
            maxLatenessMs: 12 * HOUR,
            jitterMs: 0,
            overlap: 'allow',
          }
          const slots = accounted(schedule, from, until)
          // A `slots-missed` record counts its slots, so each placeholder stands for one slot.
          const filled = slots.map((slot, index) =>
            Number.isNaN(slot) ? (wanted[index] ?? -1) : slot,
          )
          expect([new Date(change * 1_000).toISOString(), missed, filled]).toEqual([
            new Date(change * 1_000).toISOString(),
            missed,
            wanted,
          ])
          if (missed === 'all') expect(slots).toEqual(wanted)
        }
      }
    },
  )
})
