import type { Asset, Pair, Token } from '../money/token.ts'
import type { Address, BaseUnits, Ratio } from '../money/units.ts'
import type { CallTerms, OrderSize, PriceBounds, PriceCheck } from '../strategy.ts'

/** `<strategy>:<slot epoch seconds>:<leg>` */
export type IntentId = `${string}:${number}:${number}`

/** Every slot ends in exactly one of these. */
export const OUTCOMES = ['filled', 'skipped', 'refused', 'failed', 'expired', 'missed'] as const
export type Outcome = (typeof OUTCOMES)[number]

const WORSE_LAST: readonly Outcome[] = [
  'filled',
  'skipped',
  'missed',
  'expired',
  'refused',
  'failed',
]

/** A slot with several intents has their worst outcome; the first one wins a tie. */
export function worseEnd<End extends { readonly outcome: Outcome }>(a: End, b: End): End {
  return WORSE_LAST.indexOf(b.outcome) > WORSE_LAST.indexOf(a.outcome) ? b : a
}

type IntentBase = {
  readonly id: IntentId
  readonly strategy: string
  readonly slotSeconds: number
  readonly leg: number
  readonly owner: Address
  /** No attempt starts after this time (epoch ms): the slot's maxLateness. */
  readonly startBeforeMs: number
  /** Digest of the strategy's terms at the decision. Absent in older journals. */
  readonly terms?: string | undefined
}

export type SwapIntent = IntentBase & {
  readonly venue: 'gasless'
  readonly recipient: Address
  readonly sell: Asset
  readonly buy: Asset
  readonly size: OrderSize
  /** Maximum outflow in sell base units, independent of any quote. */
  readonly maxSell: BaseUnits
  readonly slippageBps: number
  readonly price: PriceBounds
  /** Maximum distance of a quote from the independent price; the firewall refuses more. */
  readonly maxDeviationBps: number
  readonly priceCheck: PriceCheck
  /** Maximum cost of a quote against the independent price, in basis points; the slot is skipped above it. */
  readonly maxCostBps: number | undefined
  /** The price that triggered it; checked again when signing. */
  readonly trigger?: Trigger | undefined
  /** The strategy whose purchases it sells, and the token they were paid in. They leave that strategy's holdings. */
  readonly entry?: { readonly of: string; readonly paidIn: Token } | undefined
}

/** A watched price and its required bounds: quote base units per base unit of the base. */
export type Trigger = {
  readonly pair: Pair
  readonly base: Token
  readonly quote: Token
  readonly atLeast: Ratio | undefined
  readonly atMost: Ratio | undefined
  /** Levels that fired, by their names in the file. Absent in older journals. */
  readonly rungs?: readonly string[] | undefined
}

export type CallIntent = IntentBase &
  CallTerms & {
    readonly venue: 'aggregated'
  }

/** One decided action of a slot, before price and nonce. Complete: executing it reads nothing else. */
export type Intent = SwapIntent | CallIntent

export function intentId(id: { strategy: string; slotSeconds: number; leg: number }): IntentId {
  return `${id.strategy}:${id.slotSeconds}:${id.leg}`
}

/** The service's idempotency key: `<intentId>:<attempt>`; at most 63+1+12+1+3+1+3 characters of its alphabet. */
export function clientOrderId(id: IntentId, attempt: number): string {
  return `${id}:${attempt}`
}
