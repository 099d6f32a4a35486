import type { BaseUnits } from '../domain/money/units.ts'
import {
  authorizationDead,
  authorizationWithdrawn,
} from '../journal/events/order/authorizations.ts'
import { paperFilled } from '../journal/events/order/fills.ts'
import { orderAccepted, orderEnded } from '../journal/events/order/outcomes.ts'
import { limitHit } from '../journal/projections/limits.ts'
import type { Booked } from '../journal/projections/order-reducer.ts'
import type { CloseReason } from '../journal/records.ts'
import type { OpenIntent } from '../journal/state/daemon-state.ts'
import type { SeenBlock } from '../ports.ts'
import { type Closing, type ClosingContext, capped, strategyRemoved } from './close.ts'
import type { RejectedClaim } from './conflict.ts'
import type { OrderContext } from './context.ts'
import { projectionOf } from './projections.ts'

/** Lifecycle of an authorization, shared by all venues: caps, the service's answer, withdrawal, end. */

export type Resolution<View extends SeenBlock> =
  | { readonly tag: 'moved' }
  /** It may still execute; `waits` is the conflict that delays its end. */
  | { readonly tag: 'open'; readonly view: View; readonly waits?: RejectedClaim | undefined }
  /** The chain is unavailable, or the node serves another chain. */
  | { readonly tag: 'unknown' }

export type SubmitReply =
  | { readonly tag: 'accepted'; readonly orderId: string }
  /** The service refused before accepting. Only the answer to the first submission can prove that (rule G7). */
  | { readonly tag: 'rejected'; readonly message: string }
  /** Never sent to the service, because it would revert as signed. */
  | { readonly tag: 'unfit'; readonly message: string }
  | { readonly tag: 'unknown'; readonly message: string }

/** The cap that an order of `amount` would exceed, in base units of the token that the intent spends. */
export function capHit(
  context: ClosingContext,
  { intent }: OpenIntent,
  { amount, nowMs }: { readonly amount: BaseUnits; readonly nowMs: number },
): Closing | undefined {
  const strategy = context.strategies.get(intent.strategy)
  if (strategy === undefined) return strategyRemoved()
  const { account, ports } = context
  const hit = limitHit(ports.journal.state, {
    strategy: intent.strategy,
    token: projectionOf(intent).mostOf(intent).token,
    amount,
    nowMs,
    limits: strategy.limits,
    account,
  })
  return hit === undefined ? undefined : capped(hit, nowMs)
}

export async function recordReply(
  context: OrderContext,
  open: OpenIntent,
  { attempt, reply }: { readonly attempt: number; readonly reply: SubmitReply },
): Promise<void> {
  const { journal } = context.ports
  const key = { intentId: open.intent.id, attempt }
  switch (reply.tag) {
    case 'accepted':
      journal.note(orderAccepted({ ...key, orderId: reply.orderId }))
      return
    case 'rejected':
    case 'unfit': {
      const status = reply.tag === 'rejected' ? 'rejected' : 'failed'
      return journal.append(orderEnded({ ...key, status, message: reply.message }))
    }
    case 'unknown':
      reportUnknown(context, open, reply.message)
  }
}

export function reportUnknown(context: OrderContext, open: OpenIntent, message: string): void {
  const { strategy, id: intentId } = open.intent
  const { attempt } = open
  context.ports.observe({ type: 'order-unknown', strategy, intentId, attempt, message })
}

/** Withdraws a record that this process knows it never signed. */
export function withdraw(
  context: OrderContext,
  open: OpenIntent,
  { attempt, reason }: { readonly attempt: number; readonly reason: CloseReason },
): Promise<void> {
  const { id: intentId } = open.intent
  return context.ports.journal.append(authorizationWithdrawn({ intentId, attempt, reason }))
}

/** Dry run: books an order that passed all checks as filled, without a signature. */
export function recordPaperFill(
  context: OrderContext,
  { intent, attempt }: OpenIntent,
  booked: Booked,
): Promise<void> {
  return context.ports.journal.append(paperFilled({ intentId: intent.id, attempt, ...booked }))
}

/**
 * Latest execution time, Unix seconds, from a block read no earlier than the proof's; undefined if the node lags.
 * `marginSeconds`: how far the clock of the caps may be ahead of the chain.
 */
export function executedBy(
  view: SeenBlock,
  { blockNumber }: Pick<SeenBlock, 'blockNumber'>,
  marginSeconds = 0,
): number | undefined {
  return view.blockNumber < blockNumber ? undefined : view.blockTimeSeconds + marginSeconds
}

/** Journals that an authorization can never execute, or that its outcome cannot be found. */
export function recordDeath(
  context: OrderContext,
  open: OpenIntent,
  death: {
    readonly attempt: number
    readonly view: SeenBlock
    readonly how: 'expired' | 'cancelled'
    readonly transfers?: readonly string[] | undefined
  },
): Promise<void> {
  const { attempt, how, view, transfers } = death
  const { blockNumber, blockTimeSeconds } = view
  return context.ports.journal.append(
    authorizationDead({
      intentId: open.intent.id,
      attempt,
      how,
      blockNumber,
      blockTimeSeconds,
      ...(transfers === undefined ? {} : { transfers }),
    }),
  )
}
