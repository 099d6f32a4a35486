import { DAY_MS } from '../domain/book/limits.ts'
import type { DaemonState } from '../domain/book/state.ts'
import { nextSlot, slotsBetween } from '../domain/schedule/calendar.ts'
import {
  anchored,
  type Schedule,
  type SlotSeconds,
  scheduleKey,
} from '../domain/schedule/schedule.ts'
import type { Strategy } from '../domain/strategy.ts'

const DAY_SECONDS = DAY_MS / 1000
/** The worst day is looked for over this many, from the next slot on: a week and a day show common patterns whole. */
const DAYS_LOOKED_AT = 8
const SLOTS_MAX = 200_000

/** How far ahead slots are named one by one: a year, or as many as a turn of the loop can read and walk in a millisecond or two. */
const AHEAD_SECONDS = 366 * DAY_SECONDS
const NAMED_MAX = 500

/**
 * A strategy's schedule as its slots come from now on. One that begins when it is first seen begins where the journal says, and
 * now where the journal does not know it: another schedule of the same strategy says nothing of this one.
 */
export function scheduleAhead(
  state: DaemonState,
  { name, schedule }: Strategy,
  nowSeconds: number,
): Schedule {
  const anchor = state.strategies.get(name)?.anchor
  const isKnown = anchor?.scheduleKey === scheduleKey(schedule)
  return anchored(schedule, (isKnown ? anchor.fromSeconds : nowSeconds) + 1)
}

/** Most slots in any 24 hours of the days from the next slot on. A schedule that was not seen yet begins now. */
export function mostSlotsInDay(schedule: Schedule, nowSeconds: number): number {
  const known = anchored(schedule, nowSeconds + 1)
  const next = nextSlot(known, nowSeconds)
  if (next === undefined) return 0
  // The day that has begun may be the only one of its month: the first slots after it make a whole one.
  const later = nextSlot(known, next + DAY_SECONDS - 1)
  const ahead = mostFrom(known, next, DAYS_LOOKED_AT)
  return later === undefined ? ahead : Math.max(ahead, mostFrom(known, later, 1))
}

/** Most slots in any 24 hours of so many days from a slot on. */
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

/** The next slots of a strategy, and how far the calendar was read, epoch seconds; undefined where nothing follows. */
export type SlotsAhead = {
  readonly slots: readonly SlotSeconds[]
  readonly untilSeconds: number | undefined
}

/** Reads a calendar from a moment on. */
export type ReadAhead = typeof slotsAhead

/**
 * The next slots of a strategy, ascending, those left out that come within its cooldown after another, and how far the calendar
 * was read; undefined where nothing follows.
 */
export function slotsAhead(
  schedule: Schedule,
  { nowSeconds, cooldownMs = 0 }: { readonly nowSeconds: number; readonly cooldownMs?: number },
): SlotsAhead {
  const known = anchored(schedule, nowSeconds + 1)
  const until = nowSeconds + AHEAD_SECONDS
  const { slots, more } = slotsBetween(known, nowSeconds, until, NAMED_MAX)
  const last = slots.at(-1)
  const isOver = !more && nextSlot(known, until) === undefined
  const attended: SlotSeconds[] = []
  for (const slot of slots) {
    const before = attended.at(-1)
    if (before === undefined || (slot - before) * 1000 >= cooldownMs) attended.push(slot)
  }
  if (isOver) return { slots: attended, untilSeconds: undefined }
  return { slots: attended, untilSeconds: more ? last : until }
}

/** What was read of a calendar, and when. */
type Reading = SlotsAhead & { readonly atSeconds: number }

/** A reading is used for as long, or until half of what it names is over. */
const READING_SECONDS_MAX = DAY_SECONDS

/** The same for whoever asks again and again: a calendar of thousands of slots is not read anew each time. */
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
