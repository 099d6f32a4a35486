import { InvariantError } from '../errors.ts'
import { clientOrderId, type IntentId } from '../intent.ts'
import { nextState, type OrderStep } from '../order.ts'
import { wordIn } from '../word.ts'
import { mergeUsed } from './exposures.ts'
import type { EventOf } from './journal.ts'
import {
  countFill,
  forgetOld,
  lapse,
  noteOrder,
  openIntent,
  reopen,
  spend,
  stepAttempt,
  strategyOf,
  unfinalFill,
} from './orders.ts'
import { noteNestedNonce, walletOf } from './sights.ts'
import type { DaemonState, OpenIntent } from './state.ts'
import { bookOf } from './venues.ts'

/** How what was signed ends but by a proof, alike at every venue; and how a proof that is gone opens it again. */

type AuthorizationEnd = {
  readonly step: OrderStep
  readonly how: OpenIntent['died']
  readonly atMs: number
  /** What took the tokens without filling the order: transfers, or a whole transaction. */
  readonly claims?: readonly string[] | undefined
}

/** Ends the current attempt's authorization; the next attempt makes another. */
export function endAuthorization(
  state: DaemonState,
  { intentId, attempt }: { readonly intentId: IntentId; readonly attempt: number },
  { step, claims = [], ...end }: AuthorizationEnd,
): OpenIntent {
  const open = stepAttempt(openIntent(state, intentId), { attempt, step })
  const book = bookOf(open)
  if (end.how === 'cancelled') noteUse(state, open, claims)
  const authorization = book.authorizationOf(open)
  if (authorization !== undefined) lapse(state, open, authorization, end)
  book.forgetAuthorization(open)
  open.died = end.how
  open.attempt += 1
  return open
}

/**
 * What an operator says is booked as what the chain says is: as dead, or in full, as a nonce that was used for nobody knows
 * what (rule T7). Where no deadline says when it can have executed at the latest, it counts from now, by the chain's clock.
 */
export function settleByWord(
  state: DaemonState,
  event: EventOf<'order-settled'>,
  atMs: number,
): void {
  const { blockTimeSeconds } = event
  const unsettled = openIntent(state, event.intentId)
  const permit = unsettled.venue === 'gasless' ? unsettled.permit : undefined
  const open = endAuthorization(state, event, {
    step: 'authorization-dead',
    how: event.as === 'executed' ? 'cancelled' : 'expired',
    atMs: blockTimeSeconds === undefined ? atMs : blockTimeSeconds * 1000,
    claims: event.as === 'executed' && event.txHash !== undefined ? [event.txHash] : [],
  })
  open.settled = wordIn(event)
  if (permit !== undefined && event.as === 'executed' && event.txHash === undefined)
    state.spokenFor.set(permit.clientOrderId, permit)
}

/** What used up a nonce without filling its order is in the books all the same, and is nobody else's. */
function noteUse(state: DaemonState, open: OpenIntent, claims: readonly string[]): void {
  if (open.venue === 'gasless') {
    const atMs = (open.permit?.deadlineSeconds ?? 0) * 1000
    for (const claim of claims) state.claimedTransfers.set(claim, atMs)
    return
  }
  const { call } = open
  if (call?.trust === 'trustless') noteNestedNonce(state, walletOf(call), call.nonce)
}

/** An order that was closed as filled is open again, and its slot with it: the chain decides what became of it. */
export function reopenFill(
  state: DaemonState,
  event: EventOf<'fill-reopened'>,
  atMs: number,
): void {
  const { intentId, attempt } = event
  const fill = unfinalFill(state, clientOrderId(intentId, attempt))
  if (state.intents.has(intentId))
    throw new InvariantError(`intent ${intentId} is open: it is closed before it is opened again`)
  const open = { ...fill.open, reopened: true, state: nextState('closed', event.type) }
  const book = bookOf(open)
  const authorization = book.authorizationOf(open)
  if (authorization === undefined) throw new InvariantError(`${intentId}: nothing was signed`)
  book.forgetProof(state, open)
  reopen(state, open, { ...fill, authorization, atMs })
  state.intents.set(intentId, open)
  const { strategy, slotSeconds } = open.intent
  const { openSlots } = strategyOf(state, strategy)
  if (openSlots.every((slot) => slot.slotSeconds !== slotSeconds))
    openSlots.push({ slotSeconds, memoryOnFill: undefined, ended: undefined })
}

/** Dry-run only: a state that holds real orders never takes a fill that no chain has seen. */
export function bookPaperFill(
  state: DaemonState,
  event: EventOf<'paper-filled'>,
  atMs: number,
): void {
  if (state.bound?.mode !== 'dry-run')
    throw new InvariantError(`${event.intentId}: only dry-run books orders on paper`)
  const open = stepAttempt(openIntent(state, event.intentId), { ...event, step: event.type })
  const { intent } = open
  const book = bookOf(open)
  const { address: token } = book.mostOf(intent).token
  noteOrder(state, intent.strategy, atMs)
  countFill(state, open, atMs)
  book.bookOnPaper(state, open, event)
  const key = clientOrderId(intent.id, event.attempt)
  spend(state, open, { clientOrderId: key, token, amount: event.paid, atMs })
  mergeUsed(state, key)
  forgetOld(state, atMs)
}
