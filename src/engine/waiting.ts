import type { SkipReason } from '../domain/order/reason.ts'
import { nextSlot } from '../domain/schedule/calendar.ts'
import { opensAtMs } from '../domain/schedule/due.ts'
import { latestStartMs, type Schedule, type SlotSeconds } from '../domain/schedule/schedule.ts'
import type { Skip } from '../strategies/decision/decision.ts'
import { kindOf, type Strategy } from '../strategies/registry.ts'

/** Reasons that other orders cause, so they pass. */
const TURN: ReadonlySet<SkipReason> = new Set([
  'too-many-open',
  'account-too-many-open',
  'cooldown',
  'account-cooldown',
])
/** Reasons that end when the market or wallet changes, possibly soon. */
const MARKET: ReadonlySet<SkipReason> = new Set([
  'price-outside-bounds',
  'price-missing',
  'price-invalid',
  'price-stale',
  'sequencer-down',
  'token-unlisted',
  'insufficient-balance',
  'balance-unreadable',
  'limit-per-hour',
  'limit-per-day',
  'limit-per-week',
  'limit-account-per-hour',
  'limit-account-per-day',
  'limit-account-per-week',
])

/** Slots that wait for an order are also checked when one ends. */
const RECHECK_MS = 10_000

/** Reserved for the last check: a slot found too late is recorded as missed, without its blocking reason. */
const DECIDE_MS = 2_000

type SlotAt = {
  readonly strategy: Strategy
  /** With its first slot, if it counts from registration. */
  readonly schedule: Schedule
  readonly slotSeconds: SlotSeconds
  readonly nowMs: number
}

type BlockedSlot = SlotAt & { readonly skip: Pick<Skip, 'reason' | 'hit' | 'freesAtMs'> }

/**
 * Delay in ms until an owed slot is checked again; undefined if it is skipped. A slot waits for a cap or cooldown that frees
 * before the strategy's next slot. Otherwise a schedule that exactly fits its caps would lose every second slot, because
 * windows start seconds after the slot.
 *
 * Amounts that must add up must not be lost, so under `missed: all` each slot waits for its turn. The next slice makes up
 * for a skipped TWAP slice, so only the last slice waits, and for the market as well. No slot waits beyond `maxLateness`,
 * and manually triggered slots never wait.
 */
export function waitMs(slot: BlockedSlot): number | undefined {
  const freesAtMs = slot.skip.hit?.freesAtMs ?? slot.skip.freesAtMs
  const waits = mayWait(slot)
  // Most skips wait for nothing; the calendar is read for the others.
  if ((freesAtMs === undefined && !waits) || !isScheduled(slot)) return undefined
  const freesInMs = freesInTimeMs(slot, freesAtMs)
  if (freesInMs !== undefined) return freesInMs
  const leftMs = leftToStartMs(slot)
  return leftMs > 0 && waits ? Math.min(RECHECK_MS, leftMs) : undefined
}

/** False for manually triggered slots. */
export function isScheduled({
  schedule,
  slotSeconds,
}: Pick<SlotAt, 'schedule' | 'slotSeconds'>): boolean {
  return nextSlot(schedule, slotSeconds - 1) === slotSeconds
}

/** Delay in ms until a cap or cooldown frees; undefined if that is too late, or the next slot is due by then. */
export function freesInTimeMs(slot: SlotAt, freesAtMs: number | undefined): number | undefined {
  const { strategy, schedule, slotSeconds, nowMs } = slot
  if (freesAtMs === undefined || freesAtMs > nowMs + leftToStartMs(slot)) return undefined
  const next = nextSlot(schedule, slotSeconds)
  const isInTime = next === undefined || freesAtMs < opensAtMs(strategy.name, schedule, next)
  return isInTime ? freesAtMs - nowMs : undefined
}

function leftToStartMs({ schedule, slotSeconds, nowMs }: SlotAt): number {
  return latestStartMs(schedule, slotSeconds) - nowMs - DECIDE_MS
}

function mayWait({ strategy, schedule, slotSeconds, skip: { reason } }: BlockedSlot): boolean {
  const rule = kindOf(strategy).slicedTotal(strategy)?.rule
  if (rule !== 'spread') return schedule.missed === 'all' && TURN.has(reason)
  const isLast = nextSlot(schedule, slotSeconds) === undefined
  return isLast && (TURN.has(reason) || MARKET.has(reason))
}
