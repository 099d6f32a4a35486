import { assertNever } from '../domain/errors.ts'
import type { Finality } from '../domain/settings.ts'
import { deadlineOf, projectionOf } from '../venues/projections.ts'
import type { DaemonState, OpenIntent } from './state/daemon-state.ts'

/** Open orders in words: the current step of each, and when it becomes overdue. */

const MINUTE_MS = 60_000
/** Longest block time of any supported chain. */
const BLOCK_MS_MAX = 12_000
/** A node's `safe` or `finalized` block is up to two epochs old, older if votes are missing. */
const TAGGED_MS = 30 * MINUTE_MS
/** Time after deadline and finality until a missing outcome is unusual. */
const GRACE_MS = 15 * MINUTE_MS
/** Intents without a deadline are overdue after this long. */
const ENDLESS_MS = 60 * MINUTE_MS

/** Approximate upper bound on the time until a block is final under a rule. */
function finalityMs(finality: Finality): number {
  return typeof finality === 'number' ? finality * BLOCK_MS_MAX : TAGGED_MS
}

/**
 * When an open order becomes overdue, epoch ms: its deadline plus the time to finality and 15 minutes. Without a deadline,
 * its latest start counts while planned, then an hour after its opening.
 */
export function overdueAtMs(open: OpenIntent, finality: Finality): number {
  const deadlineSeconds = deadlineOf(open)
  const { intent, openedAtMs } = open
  const planned = open.state === 'planned' ? intent.startBeforeMs : openedAtMs + ENDLESS_MS
  const endMs = deadlineSeconds === undefined ? planned : deadlineSeconds * 1000
  return endMs + finalityMs(finality) + GRACE_MS
}

/** The current step of an open order, in words. `waitsFor`: see `waitsText`. */
export function doingOf(
  { transactions }: Pick<DaemonState, 'transactions'>,
  open: OpenIntent,
  { nowMs, waitsFor }: { readonly nowMs: number; readonly waitsFor: string | undefined },
): string {
  if (open.settled !== undefined) return 'an operator resolved it manually: it is being closed'
  for (const { record } of transactions.values())
    if (record.intentId === open.intent.id) return TRANSACTIONS[record.purpose]
  switch (open.state) {
    case 'planned':
      return plannedDoing(open, waitsFor)
    case 'exposed':
      return isPast(open, nowMs)
        ? afterDeadline('the service has not answered')
        : 'it was signed and is not acknowledged yet: the same bytes are sent again'
    case 'accepted':
      return isPast(open, nowMs)
        ? afterDeadline('the service has it')
        : `the service has it${open.orderId === undefined ? '' : ` as ${open.orderId}`}, and is polled every few seconds`
    case 'lapsing':
      return lapsingDoing(open, nowMs)
    case 'filled':
      return `it is filled: ${projectionOf(open).closingOf(open.intent)}`
    case 'closed':
      return 'it is closed'
    default:
      return assertNever(open.state)
  }
}

/** The current step while one of an order's own transactions is open. */
const TRANSACTIONS = {
  approve: 'an allowance for Permit2 is being set',
  wrap: 'ETH is being wrapped for it',
  unwrap: 'the bought tokens are being unwrapped',
  call: 'it was also sent directly, and both routes are followed',
  deposit: 'a deposit is being made',
} as const

function plannedDoing({ attempt, died }: OpenIntent, waitsFor: string | undefined): string {
  if (waitsFor !== undefined) return `nothing is signed: it ${waitsFor}`
  if (attempt === 1) return 'nothing is signed yet: it waits for its turn and a quote'
  const last = died ?? 'failed'
  return `attempt ${attempt - 1} ${last}: the next one waits for its turn and a quote`
}

const ENDED = {
  rejected: 'it was rejected',
  failed: 'it failed',
  expired: 'it expired',
} as const

function lapsingDoing(open: OpenIntent, nowMs: number): string {
  if (open.reopened) return 'a reorganisation removed its fill: its outcome is read from the chain'
  const said = open.ended === undefined ? 'it is over' : ENDED[open.ended.status]
  if (isPast(open, nowMs)) return afterDeadline(`the service says ${said}`)
  return `the service says ${said}: until its deadline has passed it may still execute`
}

function isPast(open: OpenIntent, nowMs: number): boolean {
  const deadlineSeconds = deadlineOf(open)
  return deadlineSeconds !== undefined && deadlineSeconds * 1000 < nowMs
}

function afterDeadline(said: string): string {
  return `${said}, and its deadline has passed: a final block has to show whether it executed`
}
