import type { SkipReason } from '../domain/reason.ts'
import { nextSlot } from '../domain/schedule/calendar.ts'
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

/** A slot that something bars, at a time that is believed, epoch ms. */
export type BarredSlot = {
  readonly strategy: Strategy
  /** With its first slot, where it counts from when it was first seen. */
  readonly schedule: Schedule
  readonly slotSeconds: SlotSeconds
  readonly nowMs: number
  readonly reason: SkipReason
}

/**
 * How long until a slot is looked at again that stays owed instead of being skipped, ms; undefined where it is skipped. Amounts
 * that have to add up must not be lost because others were in the way: under `missed: all` each slot waits for its
 * turn. Slices that are spread are made up for by the next one, so that only the last waits, and for the market as well.
 * None waits longer than it may be late.
 */
export function waitMs(slot: BarredSlot): number | undefined {
  if (!mayWait(slot)) return undefined
  const { schedule, slotSeconds, nowMs } = slot
  const leftMs = latestStartMs(schedule, slotSeconds) - nowMs - DECIDE_MS
  return leftMs > 0 ? Math.min(LOOK_MS, leftMs) : undefined
}

function mayWait({ strategy, schedule, slotSeconds, reason }: BarredSlot): boolean {
  if (!isSpread(strategy)) return schedule.missed === 'all' && TURN.has(reason)
  const isLast = nextSlot(schedule, slotSeconds) === undefined
  return isLast && (TURN.has(reason) || MARKET.has(reason))
}

function isSpread(strategy: Strategy): boolean {
  return strategy.kind === 'twap' && strategy.unsold === 'spread'
}
