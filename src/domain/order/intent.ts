import type { OrderSize, PriceBounds, PriceCheck } from './strategy.ts'
import type { Asset, Pair, Token } from './token.ts'
import type { Address, BaseUnits, Hex, Ratio } from './units.ts'

/** `<strategy>:<slot epoch seconds>:<leg>` */
export type IntentId = `${string}:${number}:${number}`

/** Every slot ends in exactly one of these. */
export type Outcome = 'filled' | 'skipped' | 'refused' | 'failed' | 'expired' | 'missed'

const WORSE_LAST: readonly Outcome[] = [
  'filled',
  'skipped',
  'missed',
  'expired',
  'refused',
  'failed',
]

/** A slot of several intents ends as the worst of them did; of two that are alike the first is told. */
export function worseEnd<End extends { readonly outcome: Outcome }>(a: End, b: End): End {
  return WORSE_LAST.indexOf(b.outcome) > WORSE_LAST.indexOf(a.outcome) ? b : a
}

type IntentBase = {
  readonly id: IntentId
  readonly strategy: string
  readonly slotSeconds: number
  readonly leg: number
  /** The wallet that signs. */
  readonly owner: Address
  /** No attempt starts after this time (epoch ms): the slot's own maxLateness. */
  readonly startBeforeMs: number
  /** Digest of what its strategy's file said when it was decided. Those of older journals have none. */
  readonly terms?: string | undefined
}

/** A swap through the gasless service. */
export type SwapIntent = IntentBase & {
  readonly venue: 'gasless'
  readonly recipient: Address
  readonly sell: Asset
  readonly buy: Asset
  readonly size: OrderSize
  /** The most that may leave the wallet, in sell base units, whatever a quote says. */
  readonly maxSell: BaseUnits
  readonly slippageBps: number
  readonly price: PriceBounds
  /** Widest distance of a quote from the independent price; beyond it the firewall refuses. */
  readonly maxDeviationBps: number
  readonly priceCheck: PriceCheck
  /** Most that a quote may cost against the independent price, in basis points; beyond it the slot is skipped. */
  readonly maxCostBps: number | undefined
  /** The price that set it off, which has to hold when it is signed. */
  readonly trigger?: Trigger | undefined
  /** Whose purchases it sells, and what they were paid in: what it sells is that strategy's no more. */
  readonly entry?: { readonly of: string; readonly paidIn: Token } | undefined
}

/** A watched price and the bounds that it has to be within: quote base units per base unit of the base. */
export type Trigger = {
  readonly pair: Pair
  readonly base: Token
  readonly quote: Token
  readonly atLeast: Ratio | undefined
  readonly atMost: Ratio | undefined
  /** What fired, as the strategy's file names it. Those of older journals have none. */
  readonly rungs?: readonly string[] | undefined
}

/** A contract call through the aggregation service. */
export type CallIntent = IntentBase & {
  readonly venue: 'aggregated'
  readonly target: Address
  readonly calldata: Hex
  /** Wei that the call carries. */
  readonly value: BaseUnits
  readonly gasLimit: bigint
  /** The function as the strategy writes it, for people. */
  readonly label: string
}

/** One decided action for a slot, before any price or nonce is known. Complete: nothing else is read to execute it. */
export type Intent = SwapIntent | CallIntent

export function intentId(id: { strategy: string; slotSeconds: number; leg: number }): IntentId {
  return `${id.strategy}:${id.slotSeconds}:${id.leg}`
}

/** The service's idempotency key: `<intentId>:<attempt>`; at most 63+1+12+1+3+1+3 characters of its alphabet. */
export function clientOrderId(id: IntentId, attempt: number): string {
  return `${id}:${attempt}`
}
