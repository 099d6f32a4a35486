import type { Quote } from '../../../src/domain/order/quote.ts'
import type { RateLimit } from './rate-limits.ts'

/** What says nothing of an order. An error or bytes that nobody can read are alike; a hanging poll ends with nothing. */
export const SILENCES = ['not-found', 'error', 'limit', 'hang'] as const
export type Silence = (typeof SILENCES)[number]

/** What is wrong with the service. Probabilities are per request or per order; all may be changed while the world runs. */
export type ServiceFaults = {
  down: boolean
  /** How much longer a request or its answer may be on its way. */
  slowMs: number
  rateLimited: number
  /** What it takes of each route; beyond it, a 429 with a `retry-after`. */
  limit: RateLimit | undefined
  /** Fails a request before it took effect, or after it did: nobody can tell from the answer. */
  failsBefore: number
  failsAfter: number
  /** Rejects a submission: without taking the order, or although it takes it. */
  rejects: number
  rejectsButTakes: number
  /** Answers 404 for an order that it knows. */
  forgets: number
  /** Takes an order and answers no poll of it ever after, in the way of `silence`, or else in one of its own for each. */
  silent: number
  silence: Silence | undefined
  /** Accepted orders are never settled, or only in the last seconds before their deadline. */
  neverFills: number
  fillsLate: number
  /** Says `failed` at once and settles the order all the same. */
  saysFailedButFills: number
  /** Says `filled` and names a stranger's transaction. */
  namesForeignHash: number
  /** Says `filled` without settling. */
  saysFilledButDoesNot: number
  /** Takes the whole permitted amount and delivers next to nothing, as a settlement contract gone bad could. */
  steals: number
  /** Changes a quote before it is sent. */
  tamper: ((quote: Quote) => Quote) | undefined
  /** Lists its tokens with other decimals than they have. */
  listsWrongDecimals: boolean
  /** The service's clock less true time. */
  skewMs: number
  /** Settles all orders of such a period in one transaction. */
  batchMs: number | undefined
  /** So many transfers of nothing out of the wallet go before the orders of a settlement. */
  zeroTransfers: number
  /** The calldata of a settlement does not say what it takes: nobody can tell its orders apart. */
  hidesAmounts: boolean
  quoteLifetimeMs: number
}

export function noServiceFaults(): ServiceFaults {
  return {
    down: false,
    slowMs: 0,
    rateLimited: 0,
    limit: undefined,
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
    skewMs: 0,
    batchMs: undefined,
    zeroTransfers: 0,
    hidesAmounts: false,
    quoteLifetimeMs: 60_000,
  }
}
