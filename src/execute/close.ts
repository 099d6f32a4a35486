import { type LimitHit, limitText } from '../domain/book/limits.ts'
import type { OpenIntent } from '../domain/book/state.ts'
import type { Outcome } from '../domain/intent.ts'
import type { FailureReason, RefusalReason } from '../domain/reason.ts'
import { closeIntent, type OrderContext } from './context.ts'

/** How an intent ends without anything having executed for it. */
export type Closing =
  | { readonly tag: 'refused'; readonly reason: RefusalReason; readonly detail: string }
  | {
      readonly tag: 'failed'
      readonly outcome: Extract<Outcome, 'failed' | 'expired' | 'skipped'>
      readonly reason: FailureReason
      readonly detail: string
    }

/** Reasons that time alone brought about: the slot ends as expired rather than failed. */
const EXPIRED: ReadonlySet<FailureReason> = new Set(['order-expired', 'quote-stale', 'too-late'])

export function failure(reason: FailureReason, detail: string): Closing {
  return { tag: 'failed', outcome: EXPIRED.has(reason) ? 'expired' : 'failed', reason, detail }
}

export function refusal(
  reason: RefusalReason,
  detail: string,
): Extract<Closing, { tag: 'refused' }> {
  return { tag: 'refused', reason, detail }
}

/** What bars another attempt of any kind of intent. */
export function mayNotStart(context: OrderContext, open: OpenIntent): Closing | undefined {
  const { intent } = open
  const halted = haltedNow(context)
  if (halted !== undefined) return halted
  if (!context.strategies.has(intent.strategy))
    return failure('strategy-removed', 'its strategy file is gone')
  if (open.died === 'cancelled')
    return failure('permit-cancelled', 'its nonce was used without a proof that can be found')
  if (open.attempt > context.policy.attemptsMax)
    return failure(lastFailure(open), open.ended?.message ?? 'no fill')
  if (context.ports.clock.now() > intent.startBeforeMs)
    return failure('too-late', "the slot's maxLateness has passed")
  return undefined
}

/** The kill switch: asked again right before anything is signed. */
export function haltedNow(context: OrderContext): Closing | undefined {
  const { halted } = context.ports.journal.state
  if (halted === undefined) return undefined
  return { tag: 'failed', outcome: 'skipped', reason: 'halted', detail: halted.detail }
}

function lastFailure(open: OpenIntent): FailureReason {
  if (open.ended?.status === 'rejected') return 'order-rejected'
  return open.ended?.status === 'failed' ? 'order-failed' : 'order-expired'
}

/** A cap that filled up between the decision and the signature skips the slot. */
export function skipped(hit: LimitHit, nowMs: number): Closing {
  return { tag: 'failed', outcome: 'skipped', reason: hit.reason, detail: limitText(hit, nowMs) }
}

/** Gives a planned intent its outcome and tells of it. */
export async function closeUnfilled(
  context: OrderContext,
  open: OpenIntent,
  why: Closing,
): Promise<void> {
  const { strategy, id: intentId } = open.intent
  const { observe } = context.ports
  const { reason, detail } = why
  const outcome = why.tag === 'refused' ? 'refused' : why.outcome
  await closeIntent(context, open, { outcome, reason, detail })
  if (why.tag === 'refused')
    observe({ type: 'refused', strategy, intentId, reason: why.reason, detail })
  else if (outcome !== 'skipped')
    observe({ type: 'failed', strategy, intentId, venue: open.venue, reason: why.reason, detail })
}
