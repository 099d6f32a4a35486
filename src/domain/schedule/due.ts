import { latestSlotAtOrBefore, nextSlot, slotsBetween } from './calendar.ts'
import { jitterOf } from './jitter.ts'
import type { Schedule, SlotSeconds } from './schedule.ts'

/** A run of slots that nobody attended, both ends inclusive. `count` is undefined beyond COUNT_MAX. */
export type MissedRun = {
  readonly firstSeconds: SlotSeconds
  readonly lastSeconds: SlotSeconds
  readonly count: number | undefined
}

/** What a strategy owes at a moment: first the run to record as missed, then the slots to attend, in order. */
export type Due = {
  readonly missed: MissedRun | undefined
  readonly attend: readonly SlotSeconds[]
}

const COUNT_MAX = 10_000
/** Slots attended in one tick under `missed: all`; the rest follow in the next. */
const CATCH_UP_MAX = 100

export type DueQuery = {
  readonly strategy: string
  readonly schedule: Schedule
  /** Last slot accounted for; everything after it is owed. */
  readonly lastSlotSeconds: SlotSeconds
  readonly nowMs: number
  /** When this process began: `missed: skip` attends nothing older. */
  readonly startedAtMs: number
}

/** Slots since the last one accounted for, by calendar alone: no timer has to have fired for any of them. */
export function dueSlots(query: DueQuery): Due {
  const { schedule, lastSlotSeconds, nowMs } = query
  const nowSeconds = Math.floor(nowMs / 1000)
  const oldest = Math.max(lastSlotSeconds + 1, Math.ceil(oldestAttendedMs(query) / 1000))
  const attend = attended(query, oldest, nowSeconds)
  const firstAttended = attend[0]
  const missedUntil =
    firstAttended === undefined ? Math.min(oldest - 1, nowSeconds) : firstAttended - 1
  return { missed: missedRun(schedule, lastSlotSeconds, missedUntil), attend }
}

/** When a slot is attended, epoch ms: its time and its jitter. */
export function attendedAtMs(strategy: string, schedule: Schedule, slot: SlotSeconds): number {
  return slot * 1000 + jitterOf(strategy, slot, schedule.jitterMs)
}

/** Lateness counts from the latest moment that jitter may put a slot at. */
function oldestAttendedMs({ schedule, nowMs, startedAtMs }: DueQuery): number {
  const byLateness = nowMs - schedule.maxLatenessMs - schedule.jitterMs
  return schedule.missed === 'skip' ? Math.max(byLateness, startedAtMs) : byLateness
}

/** A slot whose jitter has not passed is not attended yet, nor is any after it: they go in order. */
function attended(query: DueQuery, oldest: number, nowSeconds: number): readonly SlotSeconds[] {
  const { schedule, strategy, nowMs } = query
  const isRipe = (slot: SlotSeconds): boolean => attendedAtMs(strategy, schedule, slot) <= nowMs
  if (schedule.missed === 'all') {
    const { slots } = slotsBetween(schedule, oldest - 1, nowSeconds, CATCH_UP_MAX)
    const unripe = slots.findIndex((slot) => !isRipe(slot))
    return unripe < 0 ? slots : slots.slice(0, unripe)
  }
  let latest = latestSlotAtOrBefore(schedule, nowSeconds, oldest)
  while (latest !== undefined && !isRipe(latest))
    latest = latestSlotAtOrBefore(schedule, latest - 1, oldest)
  return latest === undefined ? [] : [latest]
}

/** All slots after one second and until another, both in epoch seconds; undefined where there is none. */
export function missedRun(schedule: Schedule, after: number, until: number): MissedRun | undefined {
  const firstSeconds = nextSlot(schedule, after)
  if (firstSeconds === undefined || firstSeconds > until) return undefined
  const lastSeconds = latestSlotAtOrBefore(schedule, until, firstSeconds) ?? firstSeconds
  const { slots, more } = slotsBetween(schedule, after, until, COUNT_MAX)
  return { firstSeconds, lastSeconds, count: more ? undefined : slots.length }
}
