import type { Quote } from '../../../src/domain/order/quote.ts'
import type { RateLimit } from './rate-limits.ts'

/**
 * Responses that say nothing about an order. An error and unreadable bytes are equivalent; a hanging poll ends without
 * a response.
 */
export const SILENCES = ['not-found', 'error', 'limit', 'hang'] as const
export type Silence = (typeof SILENCES)[number]

/** Faults of the service. Probabilities are per request or per order; all may be changed while the simulation runs. */
export type ServiceFaults = {
  down: boolean
  /** Extra latency of a request or its answer. */
  slowMs: number
  rateLimited: number
  /** Rate limit of each route; requests above it get a 429 with a `retry-after`. */
  limit: RateLimit | undefined
  /** Until then, answers every request with a 429 that asks for the remaining time (true time, epoch ms). */
  holdsUntilMs: number | undefined
  /** Fails a request before it took effect, or after it did: the answer is the same. */
  failsBefore: number
  failsAfter: number
  /** Rejects a submission: without taking the order, or although it takes it. */
  rejects: number
  rejectsButTakes: number
  /** Answers 404 for an existing order. */
  forgets: number
  /** Takes an order and answers no later poll of it, in the way of `silence`, or in a random way for each order. */
  silent: number
  silence: Silence | undefined
  /** Never settles accepted orders, or only in the last seconds before their deadline. */
  neverFills: number
  fillsLate: number
  /** Reports `failed` at once and settles the order anyway. */
  saysFailedButFills: number
  /** Reports `filled` and names a stranger's transaction. */
  namesForeignHash: number
  /** Reports `filled` without settling. */
  saysFilledButDoesNot: number
  /** Takes the whole permitted amount and delivers next to nothing, as a malicious settlement contract could. */
  steals: number
  /** Changes a quote before it is sent. */
  tamper: ((quote: Quote) => Quote) | undefined
  /** Lists its tokens with wrong decimals. */
  listsWrongDecimals: boolean
  /** Symbols that its list of tokens omits. */
  unlisted: readonly string[]
  /** The service's clock less true time. */
  skewMs: number
  /** Settles all orders of such a period in one transaction. */
  batchMs: number | undefined
  /** Number of zero-value transfers out of the wallet before the orders of a settlement. */
  zeroTransfers: number
  /** The calldata of a settlement omits the amounts taken: it does not distinguish its orders. */
  hidesAmounts: boolean
  quoteLifetimeMs: number
}

export function noServiceFaults(): ServiceFaults {
  return {
    down: false,
    slowMs: 0,
    rateLimited: 0,
    limit: undefined,
    holdsUntilMs: undefined,
    failsBefore: 0,
    failsAfter: 0,
    rejects: 0,
    rejectsButTakes: 0,
    forgets: 0,
    silent: 0,
    silence: undefined,
    neverFills: 0,
    fillsLate: 0,
    saysFailedButFills: 0,
    namesForeignHash: 0,
    saysFilledButDoesNot: 0,
    steals: 0,
    tamper: undefined,
    listsWrongDecimals: false,
    unlisted: [],
    skewMs: 0,
    batchMs: undefined,
    zeroTransfers: 0,
    hidesAmounts: false,
    quoteLifetimeMs: 60_000,
  }
}
