import { fnv1a } from '../random.ts'
import { latestSlotAtOrBefore, nextSlot, slotsBetween } from './calendar.ts'
import type { Schedule, SlotSeconds } from './schedule.ts'

/** Consecutive missed slots, both ends inclusive. `count` is undefined beyond COUNT_MAX. */
export type MissedRun = {
  readonly firstSeconds: SlotSeconds
  readonly lastSeconds: SlotSeconds
  readonly count: number | undefined
  /** Why the slots were not handled, for people; undefined in a backtest. */
  readonly detail?: string | undefined
}

/** A strategy's due slots: the run to record as missed, then the slots to handle, in order. */
export type Due = {
  readonly missed: MissedRun | undefined
  readonly open: readonly SlotSeconds[]
}

const COUNT_MAX = 10_000
/** Slots handled per tick under `missed: all`; the rest follow in the next tick. */
const CATCH_UP_MAX = 100

export type DueQuery = {
  readonly strategy: string
  readonly schedule: Schedule
  /** Last recorded slot; later ones are owed. */
  readonly lastSlotSeconds: SlotSeconds
  readonly nowMs: number
  /** Process start: `missed: skip` handles nothing older. */
  readonly startedAtMs: number
}

/** Slots since the last recorded one, by calendar alone; no timer has to fire for them. */
export function dueSlots(query: DueQuery): Due {
  const { schedule, lastSlotSeconds, nowMs } = query
  const nowSeconds = Math.floor(nowMs / 1000)
  const oldest = Math.max(lastSlotSeconds + 1, Math.ceil(oldestHandledMs(query) / 1000))
  const open = attended(query, oldest, nowSeconds)
  const missedUntil = open[0] === undefined ? Math.min(oldest - 1, nowSeconds) : open[0] - 1
  return { missed: missedRun(schedule, lastSlotSeconds, missedUntil), open }
}

/** When a slot is handled, epoch ms: its time plus a jitter derived from name and slot, so that it survives restarts. */
export function opensAtMs(strategy: string, { jitterMs }: Schedule, slot: SlotSeconds): number {
  return slot * 1000 + (jitterMs === 0 ? 0 : fnv1a(`${strategy}:${slot}`) % (jitterMs + 1))
}

/** When the next slot opens that has not opened yet, its jitter included, epoch seconds. */
export function nextOpening(
  strategy: string,
  schedule: Schedule,
  { lastSlotSeconds, nowMs }: Pick<DueQuery, 'lastSlotSeconds' | 'nowMs'>,
): number | undefined {
  const ripe = Math.floor((nowMs - schedule.jitterMs) / 1000)
  let slot = nextSlot(schedule, Math.max(ripe, lastSlotSeconds))
  while (slot !== undefined && opensAtMs(strategy, schedule, slot) <= nowMs)
    slot = nextSlot(schedule, slot)
  return slot && Math.ceil(opensAtMs(strategy, schedule, slot) / 1000)
}

/** Lateness counts from the maximum jitter of a slot. */
function oldestHandledMs({ schedule, nowMs, startedAtMs }: DueQuery): number {
  const byLateness = nowMs - schedule.maxLatenessMs - schedule.jitterMs
  return schedule.missed === 'skip' ? Math.max(byLateness, startedAtMs) : byLateness
}

/** A slot whose jitter has not passed holds back later ones: slots are handled in order. */
function attended(query: DueQuery, oldest: number, nowSeconds: number): readonly SlotSeconds[] {
  const { schedule, strategy, nowMs } = query
  const isRipe = (slot: SlotSeconds): boolean => opensAtMs(strategy, schedule, slot) <= nowMs
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

/** All slots in (after, until), in epoch seconds; undefined if there are none. */
export function missedRun(schedule: Schedule, after: number, until: number): MissedRun | undefined {
  const firstSeconds = nextSlot(schedule, after)
  if (firstSeconds === undefined || firstSeconds > until) return undefined
  const lastSeconds = latestSlotAtOrBefore(schedule, until, firstSeconds) ?? firstSeconds
  const { slots, more } = slotsBetween(schedule, after, until, COUNT_MAX)
  return { firstSeconds, lastSeconds, count: more ? undefined : slots.length }
}
