import { InvariantError } from '../errors.ts'

/**
 * The order state table. Every mode, live or simulated, and every recovery uses it. A manual resolution (`order-settled`)
 * is the step `authorization-dead`, after which nothing more is signed.
 *
 * - `planned`: nothing of the current attempt is signed.
 * - `exposed`: an authorization (a permit, a call) is on record; its signature may exist and may have reached the
 * service.
 * - `accepted`: the service returned an order id.
 * - `lapsing`: the service reports the order as over without a fill; its authorization may still be alive.
 * - `filled`: the chain proves the fill, or a dry run booked it at its quote; only post-processing (unwrapping) remains.
 * - `closed`: the intent has its outcome. A reorg that removes its fill before finality makes it `lapsing` again;
 * nothing is signed for it again.
 */
export type OrderState = 'planned' | 'exposed' | 'accepted' | 'lapsing' | 'filled' | 'closed'

export type OrderStep =
  | 'authorization-recorded'
  | 'authorization-withdrawn'
  | 'order-accepted'
  | 'order-ended'
  | 'fill-proven'
  | 'paper-filled'
  | 'authorization-dead'
  | 'intent-closed'
  | 'fill-reopened'

const TABLE: Readonly<Record<OrderState, Readonly<Partial<Record<OrderStep, OrderState>>>>> = {
  planned: {
    'authorization-recorded': 'exposed',
    'paper-filled': 'filled',
    'intent-closed': 'closed',
  },
  exposed: {
    'authorization-withdrawn': 'planned',
    'order-accepted': 'accepted',
    'order-ended': 'lapsing',
    'fill-proven': 'filled',
    'authorization-dead': 'planned',
  },
  accepted: { 'order-ended': 'lapsing', 'fill-proven': 'filled', 'authorization-dead': 'planned' },
  lapsing: { 'fill-proven': 'filled', 'authorization-dead': 'planned' },
  filled: { 'intent-closed': 'closed' },
  closed: { 'fill-reopened': 'lapsing' },
}

/** Throws InvariantError for a step that the table does not allow. */
export function nextState(from: OrderState, step: OrderStep): OrderState {
  const to = TABLE[from][step]
  if (to === undefined) throw new InvariantError(`order state table: no step ${step} from ${from}`)
  return to
}

/** States in which a signature may be live, so nothing new may be signed for the intent (rule G1). */
export function hasLiveAuthorization(state: OrderState): boolean {
  return state === 'exposed' || state === 'accepted' || state === 'lapsing'
}
