import type { Asset, Token } from './money/token.ts'
import type { Address, BaseUnits, Hex, Ratio } from './money/units.ts'
import type { Schedule } from './schedule/schedule.ts'

export const STRATEGY_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/

/** Spending caps per token, in base units; an absent token has no cap. */
export type Caps = ReadonlyMap<Address, BaseUnits>

export const NO_CAPS: Caps = new Map()

/** In the order of a file's `limits`. */
export const CAP_NAMES = ['perOrder', 'perHour', 'perDay', 'perWeek', 'total'] as const
export type CapName = (typeof CAP_NAMES)[number]
type EveryCap = { readonly [Name in CapName]: Caps }

export function everyCap(capsOf: (name: CapName) => Caps): EveryCap {
  return Object.fromEntries(CAP_NAMES.map((name) => [name, capsOf(name)])) as EveryCap
}

/** Caps by the sold token's address. Calls spend NATIVE_TOKEN. */
export type SpendingCaps = EveryCap & { readonly cooldownMs: number }

export type StrategyLimits = SpendingCaps & {
  readonly maxOpenIntents: number
  /** Consecutive failed, refused or expired slots before the strategy is paused. */
  readonly maxFailures: number | undefined
  /** Fall of the holdings' value from its peak, in basis points, that pauses the strategy. */
  readonly drawdownBps: number | undefined
}

/** Price bounds in sell token per buy token, as base-unit ratios. Outside them the slot is skipped. */
export type PriceBounds = { readonly min: Ratio | undefined; readonly max: Ratio | undefined }

/** Exact input (`sell`) or exact output (`buy`). */
export type OrderSize =
  | { readonly side: 'sell'; readonly amount: BaseUnits }
  | { readonly side: 'buy'; readonly amount: BaseUnits }

/** Proof of a fair quote: feeds, or only the strategy's price bounds if its file declares a pair without a feed. */
export type PriceCheck = 'feed' | 'bounds'

export type StrategyBase = {
  readonly kind: string
  readonly name: string
  readonly file: string
  readonly enabled: boolean
  readonly schedule: Schedule
  readonly limits: StrategyLimits
}

export type SwapBase = StrategyBase & {
  readonly slippageBps: number
  /** Maximum distance of a quote from the independent price, at most the account's. */
  readonly maxDeviationBps: number
  readonly priceCheck: PriceCheck
}

export type TradeBase = SwapBase & {
  readonly sell: Asset
  readonly buy: Asset
  readonly price: PriceBounds
}

export type CallTerms = {
  readonly target: Address
  readonly calldata: Hex
  /** Wei sent with the call. */
  readonly value: BaseUnits
  readonly gasLimit: bigint
  readonly label: string
  /** The call with its arguments, and its target as the file names it; undefined in older journals. */
  readonly shown?: string | undefined
}

/** Fields of every call strategy. Caps are wei of value. */
export type CallBase = StrategyBase & CallTerms

/** Prices that a decision depends on: sell base units per buy base unit. */
export type TokenPair = { readonly sell: Token; readonly buy: Token }

/** Rule for unsold slices of a total: later ones grow, or they are dropped. */
export type UnsoldRule = 'spread' | 'drop'
