import type { Skip } from '../decide/decision.ts'
import type { SkipReason } from '../domain/reason.ts'
import { nextSlot } from '../domain/schedule/calendar.ts'
import { attendedAtMs } from '../domain/schedule/due.ts'
import { latestStartMs, type Schedule, type SlotSeconds } from '../domain/schedule/schedule.ts'
import type { Strategy } from '../domain/strategy.ts'

/** Other orders are in the way, and will be gone. */
const TURN: ReadonlySet<SkipReason> = new Set([
  'too-many-open',
  'account-too-many-open',
  'cooldown',
  'account-cooldown',
])
/** The market, or the wallet, may be another soon. */
const MARKET: ReadonlySet<SkipReason> = new Set([
  'price-outside-bounds',
  'price-missing',
  'price-invalid',
  'price-stale',
  'sequencer-down',
  'insufficient-balance',
  'balance-unreadable',
  'limit-per-hour',
  'limit-per-day',
  'limit-per-week',
  'limit-account-per-hour',
  'limit-account-per-day',
  'limit-account-per-week',
])

/** What waits for an order is looked at when one ends as well. */
const LOOK_MS = 10_000

/** Kept for the last look: a slot that is found too late is missed, and nobody learns what barred it. */
const DECIDE_MS = 2_000

/** A slot at a time that is believed, epoch ms. */
export type SlotAt = {
  readonly strategy: Strategy
  /** With its first slot, where it counts from when it was first seen. */
  readonly schedule: Schedule
  readonly slotSeconds: SlotSeconds
  readonly nowMs: number
}

/** A slot that something blocks. */
export type BarredSlot = SlotAt & { readonly skip: Pick<Skip, 'reason' | 'hit' | 'freesAtMs'> }

/**
 * How long until a slot is looked at again that stays owed instead of being skipped, ms; undefined where it is skipped. A
 * slot waits for a cap or a cooldown that frees before the strategy's next slot: windows count from the order before, seconds
 * after its slot, so that a schedule which asks for no more than its caps allow would otherwise lose every second slot.
 *
 * Amounts that have to add up must not be lost because others were in the way: under `missed: all` each slot waits for its
 * turn. Slices that are spread are made up for by the next one, so that only the last waits, and for the market as well.
 * None waits longer than it may be late, and none that an operator asked for waits at all.
 */
export function waitMs(slot: BarredSlot): number | undefined {
  if (!isScheduled(slot)) return undefined
  const { skip } = slot
  const freesInMs = freesInTimeMs(slot, skip.hit?.freesAtMs ?? skip.freesAtMs)
  if (freesInMs !== undefined) return freesInMs
  const leftMs = leftToStartMs(slot)
  return leftMs > 0 && mayWait(slot) ? Math.min(LOOK_MS, leftMs) : undefined
}

/** Whether a slot is one of the calendar, and none that an operator asked for. */
export function isScheduled({
  schedule,
  slotSeconds,
}: Pick<SlotAt, 'schedule' | 'slotSeconds'>): boolean {
  return nextSlot(schedule, slotSeconds - 1) === slotSeconds
}

/** How long until a cap or a cooldown frees, ms; undefined where that is too late for a slot, or as its next one is due. */
export function freesInTimeMs(slot: SlotAt, freesAtMs: number | undefined): number | undefined {
  const { strategy, schedule, slotSeconds, nowMs } = slot
  if (freesAtMs === undefined || freesAtMs > nowMs + leftToStartMs(slot)) return undefined
  const next = nextSlot(schedule, slotSeconds)
  const isInTime = next === undefined || freesAtMs < attendedAtMs(strategy.name, schedule, next)
  return isInTime ? freesAtMs - nowMs : undefined
}

function leftToStartMs({ schedule, slotSeconds, nowMs }: SlotAt): number {
  return latestStartMs(schedule, slotSeconds) - nowMs - DECIDE_MS
}

function mayWait({ strategy, schedule, slotSeconds, skip: { reason } }: BarredSlot): boolean {
  if (!isSpread(strategy)) return schedule.missed === 'all' && TURN.has(reason)
  const isLast = nextSlot(schedule, slotSeconds) === undefined
  return isLast && (TURN.has(reason) || MARKET.has(reason))
}

function isSpread(strategy: Strategy): boolean {
  return strategy.kind === 'twap' && strategy.unsold === 'spread'
}
