import { InvariantError } from '../../../domain/errors.ts'
import type { Token } from '../../../domain/money/token.ts'
import type { Address, Hex } from '../../../domain/money/units.ts'
import type { CallRecord } from '../../../domain/order/call.ts'
import type { Intent, IntentId } from '../../../domain/order/intent.ts'
import type { OrderStep } from '../../../domain/order/order.ts'
import type { PermitRecord } from '../../../domain/order/permit.ts'
import { authorizationOf, openCall, openCalls } from '../../../venues/call/call-projection.ts'
import { heldBy, projectionOf } from '../../../venues/projections.ts'
import { openSwap } from '../../../venues/swap/swap-projection.ts'
import type { Posting } from '../../ledger/entry.ts'
import {
  checkRecord,
  expose,
  lapse,
  openIntent,
  stepAttempt,
} from '../../projections/order-reducer.ts'
import { noteNonce, walletOf } from '../../projections/wallet-snapshots.ts'
import type { CloseReason } from '../../records.ts'
import type { DaemonState, OpenCall, OpenIntent } from '../../state/daemon-state.ts'
import { defineEvent } from '../event.ts'

/** Authorizations of an order, from their record until they can no longer be used. */

export type OrderContext = { readonly intent: Intent }

export type OfAttempt = { readonly intentId: IntentId; readonly attempt: number }

/** Throws InvariantError if the intent is not open. */
export function orderContext(
  state: DaemonState,
  { intentId }: { readonly intentId: IntentId },
): OrderContext {
  return { intent: openIntent(state, intentId).intent }
}

/** From this record on, a signature of the permit may exist. */
export type PermitRecorded = {
  readonly type: 'permit-recorded'
  readonly intentId: IntentId
  readonly permit: PermitRecord
}

export const permitRecorded = defineEvent<PermitRecorded, OrderContext>({
  type: 'permit-recorded',
  reduce(state, { intentId, permit }, atMs) {
    const open = openSwap(state, intentId)
    checkRecord(open, permit)
    if (permit.amount > open.intent.maxSell)
      throw new InvariantError(`${intentId}: the permit takes more than the intent allows`)
    stepAttempt(state, open, { step: 'authorization-recorded', attempt: permit.attempt })
    open.permit = permit
    expose(state, open, permit, atMs)
  },
  context: orderContext,
  signable: ({ permit }) => permit.clientOrderId,
  anchors: (_, { trader }) => [trader],
})

/** From this record on, a signature of the call may exist. */
export type CallRecorded = {
  readonly type: 'call-recorded'
  readonly intentId: IntentId
  readonly call: CallRecord
}

export const callRecorded = defineEvent<CallRecorded, OrderContext>({
  type: 'call-recorded',
  reduce(state, { intentId, call }, atMs) {
    const open = openCall(state, intentId)
    checkRecord(open, call)
    const { target, calldata, value } = open.intent
    if (call.target !== target || call.calldata !== calldata || call.value !== value)
      throw new InvariantError(`${intentId}: the call is not the one decided`)
    if (call.trust === 'trustless') checkNonceIsFree(state, open, call)
    stepAttempt(state, open, { step: 'authorization-recorded', attempt: call.attempt })
    open.call = call
    expose(state, open, authorizationOf(call, open.intent), atMs)
  },
  context: orderContext,
  signable: ({ call }) => call.clientOrderId,
  anchors: (_, { operator }) => [operator],
})

/** At most one signed call per nonce of an account may be live (rule A1). */
function checkNonceIsFree(
  state: DaemonState,
  open: OpenCall,
  call: { readonly account: Address; readonly nonce: bigint },
): void {
  for (const other of openCalls(state)) {
    if (other === open || other.call?.trust !== 'trustless') continue
    if (other.state === 'filled' || other.call.account !== call.account) continue
    if (other.call.nonce >= call.nonce)
      throw new InvariantError(`${open.intent.id}: nonce ${call.nonce} is live in another call`)
  }
}

/** The transaction that carries a call to the service is signed. From this record on, the service may have it. */
type CallSigned = OfAttempt & { readonly type: 'call-signed'; readonly hash: Hex }

export const callSigned = defineEvent<CallSigned, OrderContext>({
  type: 'call-signed',
  reduce(state, { intentId, attempt, hash }) {
    const open = openCall(state, intentId)
    if (open.attempt !== attempt || open.call === undefined)
      throw new InvariantError(`${intentId}: attempt ${attempt} has no call on record`)
    open.envelopeHash = hash
    // The service may submit it unchanged.
    noteNonce(state, walletOf(open.call), open.call.envelope.nonce)
  },
  context: orderContext,
})

/** Written only by the process that recorded the authorization and knows that it never signed it. */
type AuthorizationWithdrawn = OfAttempt & {
  readonly type: 'authorization-withdrawn'
  readonly reason: CloseReason
}

export const authorizationWithdrawn = defineEvent<AuthorizationWithdrawn, OrderContext>({
  type: 'authorization-withdrawn',
  reduce(state, event, atMs) {
    endAuthorization(state, event, { step: event.type, how: undefined, atMs })
  },
  context: orderContext,
})

/** A final block proves that the authorization can no longer be used. */
type AuthorizationDead = OfAttempt & {
  readonly type: 'authorization-dead'
  readonly how: 'expired' | 'cancelled'
  readonly blockNumber: bigint
  readonly blockTimeSeconds: number
  /** Transfers that took the tokens without filling the order; format as in `Fill`. */
  readonly transfers?: readonly string[] | undefined
}

/** Amount that counts as spent without proof of what it bought. Base units. */
export type Unproven = { readonly token: Token; readonly booked: bigint }

type AuthorizationDeadContext = OrderContext & Unproven

export const authorizationDead = defineEvent<AuthorizationDead, AuthorizationDeadContext>({
  type: 'authorization-dead',
  reduce(state, event, atMs) {
    const { type: step, how, transfers: claims } = event
    endAuthorization(state, event, { step, how, atMs, claims })
  },
  context(state, { intentId, how }) {
    return unproven(openIntent(state, intentId), how === 'cancelled')
  },
  posting: unprovenPosting,
})

/** An authorization used for an unknown purpose counts as spent in full. */
export function unproven(open: OpenIntent, isUsed: boolean): OrderContext & Unproven {
  const { token, amount } = heldBy(open)
  return { intent: open.intent, token, booked: isUsed ? amount : 0n }
}

export function unprovenPosting(
  { intentId }: { readonly intentId: IntentId },
  { intent: { strategy }, token, booked }: OrderContext & Unproven,
  atMs: number,
): Posting {
  if (booked === 0n) return undefined
  return { tag: 'entry', entry: { type: 'unproven', atMs, strategy, intentId, token, booked } }
}

type AuthorizationEnd = {
  readonly step: OrderStep
  readonly how: OpenIntent['died']
  readonly atMs: number
  /** Transfers that took the tokens without filling the order, or a whole transaction. */
  readonly claims?: readonly string[] | undefined
}

/** Ends the current attempt's authorization; the next attempt makes a new one. */
export function endAuthorization(
  state: DaemonState,
  { intentId, attempt }: OfAttempt,
  { step, claims = [], ...end }: AuthorizationEnd,
): OpenIntent {
  const open = stepAttempt(state, openIntent(state, intentId), { attempt, step })
  const projection = projectionOf(open)
  if (end.how === 'cancelled') projection.noteUse(state, open, claims)
  const authorization = projection.authorizationOf(open)
  if (authorization !== undefined) lapse(state, open, authorization, end)
  projection.forgetAuthorization(open)
  open.died = end.how
  open.attempt += 1
  return open
}

export const AUTHORIZATION_EVENTS = [
  permitRecorded,
  callRecorded,
  callSigned,
  authorizationWithdrawn,
  authorizationDead,
] as const
