import type { CloseReason, JournalEvent } from '../domain/book/journal.ts'
import { type LimitHit, limitText } from '../domain/book/limits.ts'
import type { OpenIntent } from '../domain/book/state.ts'
import { type Outcome, worseEnd } from '../domain/intent.ts'
import {
  type FailureReason,
  isFailureReason,
  LIMIT_REASONS,
  type LimitReason,
  type RefusalReason,
  type SkipReason,
} from '../domain/reason.ts'
import { wordText } from '../domain/word.ts'
import type { Ports, Signature } from '../ports.ts'
import { CHANGED_TERMS, isByTerms } from './authority/terms.ts'
import type { OrderContext, SendingContext } from './context.ts'
import { stopsAfter } from './streak.ts'

/** How an intent ends without anything having executed for it. */
export type Closing = {
  readonly tag: 'closing'
  readonly outcome: Extract<Outcome, 'refused' | 'failed' | 'expired' | 'skipped'>
  readonly reason: RefusalReason | FailureReason | SkipReason
  readonly detail: string
}

/** Reasons that time alone brought about: the slot ends as expired rather than failed. */
const EXPIRED: ReadonlySet<FailureReason> = new Set(['order-expired', 'quote-stale', 'too-late'])

export function failure(reason: FailureReason, detail: string): Closing {
  const outcome = EXPIRED.has(reason) ? 'expired' : 'failed'
  return { tag: 'closing', outcome, reason, detail }
}

export function refusal(reason: RefusalReason, detail: string): Closing {
  return { tag: 'closing', outcome: 'refused', reason, detail }
}

export function skipped(reason: FailureReason | SkipReason, detail: string): Closing {
  return { tag: 'closing', outcome: 'skipped', reason, detail }
}

/** A cap that filled up between the decision and the signature skips the slot. */
export function capped(hit: LimitHit, nowMs: number): Closing {
  return skipped(hit.reason, limitText(hit, nowMs))
}

/** The kill switch, in the journal or outside of it. The signer asks it again at every signature. */
export function haltedNow(context: SendingContext): Closing | undefined {
  const { journal, guard } = context.ports
  const detail = journal.state.halted?.detail ?? guard.barred()
  return detail === undefined ? undefined : skipped('halted', detail)
}

/** Without its file an intent has no caps either, and nothing may be signed for it. */
export function strategyRemoved(): Closing {
  return failure('strategy-removed', 'its strategy file is gone or disabled')
}

/** How an intent ends for which the signer makes no signature. */
export function barredBy({ reason, detail }: Refusal): Closing {
  if (reason === 'halted' || reason === 'strategy-changed' || isLimit(reason))
    return skipped(reason, detail)
  return isFailureReason(reason) ? failure(reason, detail) : refusal(reason, detail)
}

/** What a signer answers where it does not sign. */
export type Refusal = Extract<Signature<unknown>, { readonly ok: false }>

function isLimit(reason: string): reason is LimitReason {
  return (LIMIT_REASONS as readonly string[]).includes(reason)
}

/** An intent that an operator has settled is never attempted again, whatever else bars it or does not. */
export function settledEnd({ settled }: OpenIntent): Closing | undefined {
  return settled && failure('settled', `an operator says: ${wordText(settled)}`)
}

/** What says whether an attempt may begin. */
export type StartContext = Pick<OrderContext, 'strategies' | 'policy'> & {
  readonly ports: {
    readonly clock: Pick<Ports['clock'], 'now'>
    readonly journal: Pick<Ports['journal'], 'state'>
    readonly modules: Pick<Ports['modules'], 'versionOf'>
  }
}

const UNPROVEN = 'its nonce was used, and what used it did not fill it'

const IN_LOSS = 'it was open when a loss was accepted: what is lost may have executed it'

/**
 * What bars another attempt of any kind of intent, by the books and the clock: asked before each, about once a second while it
 * waits for anything, and around the record that a signature needs. A pause bars it as it bars a slot: what is signed goes
 * on, what is not never is. What bars it outside of the books, the signer asks when the record is on disk.
 */
export function mayNotStart(context: StartContext, open: OpenIntent): Closing | undefined {
  const { intent } = open
  if (open.reopened)
    return open.died === 'cancelled'
      ? failure('permit-cancelled', UNPROVEN)
      : failure(
          'fill-reverted',
          'a reorganisation undid its fill, and it was never made again; what was wrapped for it is left as it is',
        )
  const { halted, strategies } = context.ports.journal.state
  if (halted !== undefined) return skipped('halted', halted.detail)
  if (open.isInLoss === true) return failure('attempts-exhausted', IN_LOSS)
  const paused = strategies.get(intent.strategy)?.paused
  if (paused !== undefined) return skipped('paused', paused.detail)
  const strategy = context.strategies.get(intent.strategy)
  if (strategy === undefined) return strategyRemoved()
  if (!isByTerms(intent, strategy, context.ports.modules.versionOf))
    return skipped('strategy-changed', CHANGED_TERMS)
  if (open.died === 'cancelled') return failure('permit-cancelled', UNPROVEN)
  if (open.attempt > context.policy.attemptsMax || isRefusedCall(open))
    return failure(lastFailure(open), open.ended?.message ?? 'no fill')
  if (context.ports.clock.now() > intent.startBeforeMs)
    return failure('too-late', "the slot's maxLateness has passed")
  return undefined
}

/** A call is refused for what it is, and each signature of it would live until its deadline. */
function isRefusedCall({ venue, ended }: OpenIntent): boolean {
  return venue === 'aggregated' && ended?.status === 'rejected'
}

function lastFailure(open: OpenIntent): FailureReason {
  if (open.ended?.status === 'rejected') return 'order-rejected'
  return open.ended?.status === 'failed' ? 'order-failed' : 'order-expired'
}

/** The outcome of an intent or a slot. */
export type End = {
  readonly outcome: Outcome
  readonly reason: CloseReason
  readonly detail?: string | undefined
}

/** Gives an intent its outcome and, with the last intent of its slot, the slot. */
export async function closeIntent(
  context: OrderContext,
  open: OpenIntent,
  end: End,
): Promise<void> {
  await context.ports.journal.append(...endOf(context, open, end))
}

/** What the books of a closing intent are made of. */
export type ClosingContext = Pick<OrderContext, 'strategies' | 'account'> & {
  readonly ports: { readonly journal: Pick<Ports['journal'], 'state'> }
}

/** What is journaled of the end of an intent, and of its slot with the last of it. */
export function endOf(
  context: ClosingContext,
  open: OpenIntent,
  { outcome, reason, detail }: End,
): readonly JournalEvent[] {
  const { id: intentId } = open.intent
  const closed: JournalEvent = { type: 'intent-closed', intentId, outcome, reason, detail }
  return isLastOfSlot(context, open)
    ? [closed, ...slotEnds(context, open, { outcome, reason, detail })]
    : [closed]
}

/** The slot ends as the worst of its intents did, and may stop its strategy, or everything. */
function slotEnds(context: ClosingContext, { intent }: OpenIntent, end: End): JournalEvent[] {
  const { strategies, account, ports } = context
  const { state } = ports.journal
  const { strategy, slotSeconds } = intent
  const before = state.strategies
    .get(strategy)
    ?.openSlots.find((each) => each.slotSeconds === slotSeconds)?.ended
  const worst: End = before === undefined ? end : worseEnd(before, end)
  const stops = stopsAfter(worst.outcome, { strategy, state, strategies, account })
  return [{ type: 'slot-closed', strategy, slotSeconds, ...worst }, ...stops]
}

function isLastOfSlot(context: ClosingContext, open: OpenIntent): boolean {
  for (const other of context.ports.journal.state.intents.values()) {
    if (other === open) continue
    const { strategy, slotSeconds } = other.intent
    if (strategy === open.intent.strategy && slotSeconds === open.intent.slotSeconds) return false
  }
  return true
}
