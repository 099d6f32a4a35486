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

const TURN_LOOK_MS = 1_000
const MARKET_LOOK_MS = 15_000

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
  const lookMs = lookMsOf(slot)
  if (lookMs === undefined) return undefined
  const { schedule, slotSeconds, nowMs } = slot
  return nowMs + lookMs < latestStartMs(schedule, slotSeconds) ? lookMs : undefined
}

function lookMsOf({ strategy, schedule, slotSeconds, reason }: BarredSlot): number | undefined {
  if (!isSpread(strategy)) {
    return schedule.missed === 'all' && TURN.has(reason) ? TURN_LOOK_MS : undefined
  }
  if (nextSlot(schedule, slotSeconds) !== undefined) return undefined
  if (TURN.has(reason)) return TURN_LOOK_MS
  return MARKET.has(reason) ? MARKET_LOOK_MS : undefined
}

function isSpread(strategy: Strategy): boolean {
  return strategy.kind === 'twap' && strategy.unsold === 'spread'
}
