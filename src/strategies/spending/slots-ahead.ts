import { DAY_MS } from '../../domain/cap-windows.ts'
import { nextSlot, slotsBetween } from '../../domain/schedule/calendar.ts'
import {
  anchored,
  type Schedule,
  type SlotSeconds,
  scheduleKey,
} from '../../domain/schedule/schedule.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import { kindOf, type Strategy } from '../registry.ts'

const DAY_SECONDS = DAY_MS / 1000
/** Days searched for the worst day; a week and a day cover common patterns. */
const DAYS_LOOKED_AT = 8
const SLOTS_MAX = 200_000

/** Slots are listed for a year, or as many as a millisecond or two allows. */
const AHEAD_SECONDS = 366 * DAY_SECONDS
const NAMED_MAX = 500

/** A strategy's schedule with its first slot, if the journal has one for this very schedule. */
export function scheduleOf(state: DaemonState, { name, schedule }: Strategy): Schedule {
  if (schedule.type === 'cron') return schedule
  const anchor = state.strategies.get(name)?.anchor
  return anchor === undefined || anchor.scheduleKey !== scheduleKey(schedule)
    ? schedule
    : anchored(schedule, anchor.fromSeconds + 1)
}

/** True for a TWAP whose slices are all over, with no order of them open. */
export function isFinished(state: DaemonState, strategy: Strategy): boolean {
  const { name, schedule } = strategy
  const record = state.strategies.get(name)
  if (kindOf(strategy).slicedTotal(strategy) === undefined) return false
  if (record?.scheduleKey !== scheduleKey(schedule) || record.openSlots.length > 0) return false
  // Uses the calendar, because a strategy whose slot is being decided has not ended.
  return nextSlot(scheduleOf(state, strategy), record.lastSlotSeconds) === undefined
}

/** As `scheduleOf`, but a schedule that is new to the journal begins now. */
export function scheduleAhead(state: DaemonState, strategy: Strategy, nowSeconds: number) {
  return anchored(scheduleOf(state, strategy), nowSeconds + 1)
}

/** Maximum slots in any 24 hours of the days ahead. A schedule that is new to the journal begins now. */
export function mostSlotsInDay(schedule: Schedule, nowSeconds: number): number {
  const known = anchored(schedule, nowSeconds + 1)
  const next = nextSlot(known, nowSeconds)
  if (next === undefined) return 0
  // The current day may be the only one of its month, so the search continues a whole day after it.
  const later = nextSlot(known, next + DAY_SECONDS - 1)
  const ahead = mostFrom(known, next, DAYS_LOOKED_AT)
  return later === undefined ? ahead : Math.max(ahead, mostFrom(known, later, 1))
}

function mostFrom(schedule: Schedule, from: SlotSeconds, days: number): number {
  const { slots } = slotsBetween(schedule, from - 1, from + days * DAY_SECONDS - 1, SLOTS_MAX)
  let most = 0
  let first = 0
  for (const [index, slot] of slots.entries()) {
    while (slot - (slots[first] ?? slot) >= DAY_SECONDS) first += 1
    most = Math.max(most, index - first + 1)
  }
  return most
}

/** `untilSeconds`: end of the calendar that was read, epoch seconds; undefined if no slot follows. */
type SlotsAhead = {
  readonly slots: readonly SlotSeconds[]
  readonly untilSeconds: number | undefined
}

export type ReadAhead = typeof slotsAhead

/** The next slots of a strategy, ascending, without those within the cooldown of an earlier one. */
export function slotsAhead(
  schedule: Schedule,
  { nowSeconds, cooldownMs = 0 }: { readonly nowSeconds: number; readonly cooldownMs?: number },
): SlotsAhead {
  const known = anchored(schedule, nowSeconds + 1)
  const until = nowSeconds + AHEAD_SECONDS
  const { slots, more } = slotsBetween(known, nowSeconds, until, NAMED_MAX)
  const last = slots.at(-1)
  const isOver = !more && nextSlot(known, until) === undefined
  const allowed: SlotSeconds[] = []
  for (const slot of slots) {
    const before = allowed.at(-1)
    if (before === undefined || (slot - before) * 1000 >= cooldownMs) allowed.push(slot)
  }
  if (isOver) return { slots: allowed, untilSeconds: undefined }
  return { slots: allowed, untilSeconds: more ? last : until }
}

type Reading = SlotsAhead & { readonly atSeconds: number }

/** Maximum age of a reading. It also ends once half of its slots are over. */
const READING_SECONDS_MAX = DAY_SECONDS

/** Cached, because reading a calendar of thousands of slots is slow. */
export function rememberingAhead(): ReadAhead {
  const readings = new Map<string, Reading>()
  return (schedule, { nowSeconds, cooldownMs = 0 }) => {
    const from = schedule.type === 'interval' ? schedule.startSeconds : undefined
    const key = `${scheduleKey(schedule)} ${from} ${cooldownMs}`
    const known = readings.get(key)
    const first = known === undefined ? -1 : known.slots.findIndex((slot) => slot > nowSeconds)
    if (known !== undefined && isFresh(known, { first, nowSeconds }))
      return { slots: known.slots.slice(first), untilSeconds: known.untilSeconds }
    const ahead = slotsAhead(schedule, { nowSeconds, cooldownMs })
    readings.set(key, { ...ahead, atSeconds: nowSeconds })
    return ahead
  }
}

function isFresh(
  { slots, atSeconds }: Reading,
  { first, nowSeconds }: { readonly first: number; readonly nowSeconds: number },
): boolean {
  const ageSeconds = nowSeconds - atSeconds
  const isRecent = ageSeconds >= 0 && ageSeconds < READING_SECONDS_MAX
  return isRecent && first >= 0 && first * 2 <= slots.length
}
