import { type IntentId, type Outcome, worseEnd } from '../../../domain/order/intent.ts'
import { type Verdict, verdictIn } from '../../../domain/order/manual-resolution.ts'
import {
  type FailureReason,
  isFailureReason,
  isRefusalReason,
  type RefusalReason,
} from '../../../domain/order/reason.ts'
import { swapOf } from '../../../venues/swap/swap-projection.ts'
import { openIntent, stepAttempt, strategyOf, takeStep } from '../../projections/order-reducer.ts'
import { forgetTransactions } from '../../projections/transactions.ts'
import type { CloseReason } from '../../records.ts'
import type { DaemonState, OpenIntent } from '../../state/daemon-state.ts'
import { defineEvent } from '../event.ts'
import {
  authorizationDead,
  endAuthorization,
  type OfAttempt,
  type OrderContext,
  orderContext,
  type Unproven,
  unproven,
  unprovenPosting,
} from './authorizations.ts'

/** How an order ends: reported by the service, resolved by an operator, and closed by the daemon. */

/** The service has the order. */
type OrderAccepted = OfAttempt & {
  readonly type: 'order-accepted'
  readonly orderId: string
}

export const orderAccepted = defineEvent<OrderAccepted, OrderContext>({
  type: 'order-accepted',
  reduce(state, event) {
    const open = stepAttempt(state, openIntent(state, event.intentId), {
      ...event,
      step: event.type,
    })
    open.orderId = event.orderId
  },
  context: orderContext,
})

/** The service reports the order as ended; the chain decides. */
type OrderEnded = OfAttempt & NonNullable<OpenIntent['ended']> & { readonly type: 'order-ended' }

export const orderEnded = defineEvent<OrderEnded, OrderContext>({
  type: 'order-ended',
  reduce(state, event) {
    const open = stepAttempt(state, openIntent(state, event.intentId), {
      ...event,
      step: event.type,
    })
    open.ended = { status: event.status, message: event.message }
  },
  context: orderContext,
})

/** An operator's resolution of an order without another outcome. Nothing more is signed for its intent. */
export type OrderSettled = OfAttempt & {
  readonly type: 'order-settled'
  /** The chain's status at that moment, as text. */
  readonly evidence: string
  /** Newest block at that moment; undefined if the chain was unreachable. */
  readonly blockNumber: bigint | undefined
  readonly blockTimeSeconds: number | undefined
} & Verdict

export const orderSettled = defineEvent<OrderSettled, OrderContext & Unproven>({
  type: 'order-settled',
  /**
   * Booked as if the chain had proved it: as dead, or in full like a nonce used for an unknown purpose (rule T7). An order
   * counts from its deadline, the latest time of execution; without one, from now by the chain's clock.
   */
  reduce(state, event, atMs) {
    const { blockTimeSeconds } = event
    const unsettled = openIntent(state, event.intentId)
    const permit = swapOf(unsettled)?.permit
    const open = endAuthorization(state, event, {
      step: authorizationDead.type,
      how: event.as === 'executed' ? 'cancelled' : 'expired',
      atMs: blockTimeSeconds === undefined ? atMs : blockTimeSeconds * 1000,
      claims: event.as === 'executed' && event.txHash !== undefined ? [event.txHash] : [],
    })
    open.settled = verdictIn(event)
    if (permit !== undefined && event.as === 'executed' && event.txHash === undefined)
      state.spokenFor.set(permit.clientOrderId, permit)
  },
  context: (state, { intentId, as }) => unproven(openIntent(state, intentId), as === 'executed'),
  posting: unprovenPosting,
})

/** The intent has its outcome. */
export type IntentClosed = {
  readonly type: 'intent-closed'
  readonly intentId: IntentId
  readonly outcome: Outcome
  readonly reason: CloseReason
  readonly detail?: string | undefined
}

export const intentClosed = defineEvent<IntentClosed, OrderContext>({
  type: 'intent-closed',
  reduce(state, event) {
    const open = openIntent(state, event.intentId)
    takeStep(state, open, event.type)
    noteEnd(state, open, event)
    state.intents.delete(event.intentId)
    forgetTransactions(state, event.intentId)
  },
  context: orderContext,
})

/** An end of an intent that needs attention: refused by our own checks, or failed without a fill. */
type OrderEnd =
  | { readonly tag: 'refused'; readonly reason: RefusalReason; readonly detail: string }
  | { readonly tag: 'failed'; readonly reason: FailureReason; readonly detail: string }
  | { readonly tag: 'closed' }

export function orderEndOf({ outcome, reason, detail = '' }: IntentClosed): OrderEnd {
  if (outcome === 'refused' && isRefusalReason(reason)) return { tag: 'refused', reason, detail }
  if ((outcome === 'failed' || outcome === 'expired') && isFailureReason(reason))
    return { tag: 'failed', reason, detail }
  return { tag: 'closed' }
}

/** Keeps the worst end of a slot's intents until the last one closes the slot. */
function noteEnd(state: DaemonState, open: OpenIntent, event: IntentClosed): void {
  const { strategy, slotSeconds } = open.intent
  const slots = strategyOf(state, strategy).openSlots
  const slot = slots.find((each) => each.slotSeconds === slotSeconds)
  if (slot === undefined) return
  const end = { outcome: event.outcome, reason: event.reason }
  const isUsed = event.outcome === 'filled' || open.died === 'cancelled'
  slot.isPartial = !isUsed || (slot.ended !== undefined && slot.isPartial !== false)
  slot.ended = slot.ended === undefined ? end : worseEnd(slot.ended, end)
}

export const OUTCOME_EVENTS = [orderAccepted, orderEnded, orderSettled, intentClosed] as const
