import type { CloseReason, EventOf, JournalEvent } from '../domain/book/journal.ts'
import { limitHit } from '../domain/book/limits.ts'
import type { OpenIntent } from '../domain/book/state.ts'
import { bookOf } from '../domain/book/venues.ts'
import type { BaseUnits } from '../domain/units.ts'
import type { Sight } from '../ports.ts'
import { type Closing, type ClosingContext, capped, strategyRemoved } from './close.ts'
import type { OrderContext } from './context.ts'
import type { Doubted } from './doubt.ts'

/** The life of what we sign, alike at every venue: caps before it, the service's answer, withdrawal, death. */

/** What the chain says of an authorization on record. */
export type Resolution<View extends Sight> =
  /** The journal has a new fact. */
  | { readonly tag: 'moved' }
  /** It may still execute; what was seen, and what there is to tell of that it does not end. */
  | { readonly tag: 'open'; readonly view: View; readonly waits?: Doubted | undefined }
  /** The chain is silent, or is not the one that it was made for. */
  | { readonly tag: 'unknown' }

/** What the answer to a submission means. */
export type SubmitReply =
  | { readonly tag: 'accepted'; readonly orderId: string }
  /** The service refused it before it took it. Only the answer to the very first submission can say so (rule G7). */
  | { readonly tag: 'rejected'; readonly message: string }
  /** It was not given to the service, and will not be: as it was signed it would revert. */
  | { readonly tag: 'unfit'; readonly message: string }
  | { readonly tag: 'unknown'; readonly message: string }

/** The cap that an order would pass if it took `amount` (base units of what the intent spends). */
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
    token: bookOf(intent).mostOf(intent).token,
    amount,
    nowMs,
    limits: strategy.limits,
    account,
  })
  return hit === undefined ? undefined : capped(hit, nowMs)
}

/**
 * Journals what nothing is signed by, without waiting for the disk: what is appended later waits for it too, so that nothing is
 * made of it that would outlive it. A disk that fails ends the daemon all the same; a journal that has failed before takes
 * nothing, which is an error at once: who goes on would find the same again and again.
 */
export async function note({ ports }: OrderContext, event: JournalEvent): Promise<void> {
  const onDisk = ports.journal.append(event)
  onDisk.catch(() => undefined)
  await Promise.race([onDisk, undefined])
}

/** Journals what a service's answer to a submission makes certain. */
export async function recordReply(
  context: OrderContext,
  open: OpenIntent,
  submitted: { readonly attempt: number; readonly reply: SubmitReply },
): Promise<void> {
  const { journal } = context.ports
  const { attempt, reply } = submitted
  const key = { intentId: open.intent.id, attempt }
  switch (reply.tag) {
    case 'accepted':
      return note(context, { type: 'order-accepted', ...key, orderId: reply.orderId })
    case 'rejected': {
      const { message } = reply
      return journal.append({ type: 'order-ended', ...key, status: 'rejected', message })
    }
    case 'unfit': {
      const { message } = reply
      return journal.append({ type: 'order-ended', ...key, status: 'failed', message })
    }
    case 'unknown':
      tellUnknown(context, open, reply.message)
  }
}

/** Nobody knows yet whether the service has the order. */
export function tellUnknown(context: OrderContext, open: OpenIntent, message: string): void {
  const { attempt, intent } = open
  const { strategy, id: intentId } = intent
  context.ports.observe({ type: 'order-unknown', strategy, intentId, attempt, message })
}

/** Takes a record back that was made and, as only this process can know, never signed. */
export function withdraw(
  context: OrderContext,
  open: OpenIntent,
  { attempt, reason }: { readonly attempt: number; readonly reason: CloseReason },
): Promise<void> {
  const { id: intentId } = open.intent
  return context.ports.journal.append({
    type: 'authorization-withdrawn',
    intentId,
    attempt,
    reason,
  })
}

/** Books an order that passed every check as filled, without a signature: what dry-run does instead of trading. */
export function bookOnPaper(
  context: OrderContext,
  { intent, attempt }: OpenIntent,
  booked: Pick<EventOf<'paper-filled'>, 'paid' | 'received' | 'feed' | 'fee'>,
): Promise<void> {
  const { journal } = context.ports
  return journal.append({ type: 'paper-filled', intentId: intent.id, attempt, ...booked })
}

/**
 * Time of a block that was read no earlier than the one of a proof, Unix seconds; undefined where the node that was read is
 * behind. `marginSeconds`: by how much the clock that caps are judged by may be ahead of the chain without anyone noticing.
 */
export function executedBy(
  view: Sight,
  { blockNumber }: Pick<Sight, 'blockNumber'>,
  marginSeconds = 0,
): number | undefined {
  return view.blockNumber < blockNumber ? undefined : view.blockTimeSeconds + marginSeconds
}

/** Journals that an authorization can never execute from now on, or that its fate cannot be found. */
export function recordDeath(
  context: OrderContext,
  open: OpenIntent,
  death: {
    readonly attempt: number
    readonly view: Sight
    readonly how: 'expired' | 'cancelled'
    readonly transfers?: readonly string[] | undefined
  },
): Promise<void> {
  const { attempt, how, view, transfers } = death
  const { blockNumber, blockTimeSeconds } = view
  return context.ports.journal.append({
    type: 'authorization-dead',
    intentId: open.intent.id,
    attempt,
    how,
    blockNumber,
    blockTimeSeconds,
    ...(transfers === undefined ? {} : { transfers }),
  })
}
