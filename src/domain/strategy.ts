import type { Schedule } from './schedule.ts'
import type { Asset } from './token.ts'
import type { Address, BaseUnits, Hex, Ratio } from './units.ts'

export const STRATEGY_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/

/** Caps of one strategy. Amounts are base units of the sell token. */
export type StrategyLimits = {
  readonly perDay: BaseUnits | undefined
  readonly total: BaseUnits | undefined
  readonly cooldownMs: number
  /** Orders of this strategy that may be unresolved at once. */
  readonly maxOpenIntents: number
}

/** Bounds on the price in sell token per buy token, as base-unit ratios. Outside them the slot is skipped. */
export type PriceBounds = { readonly min: Ratio | undefined; readonly max: Ratio | undefined }

/** Exact input (`sell`) or exact output (`buy`). */
export type OrderSize =
  | { readonly side: 'sell'; readonly amount: BaseUnits }
  | { readonly side: 'buy'; readonly amount: BaseUnits }

type StrategyBase = {
  readonly name: string
  readonly file: string
  readonly enabled: boolean
  readonly schedule: Schedule
  readonly limits: StrategyLimits
}

export type DcaStrategy = StrategyBase & {
  readonly kind: 'dca'
  readonly slippageBps: number
  readonly sell: Asset
  readonly buy: Asset
  readonly size: OrderSize
  readonly price: PriceBounds
}

/** A contract call on a schedule, through the aggregation service. Its caps are wei of value. */
export type CallStrategy = StrategyBase & {
  readonly kind: 'call'
  readonly target: Address
  readonly calldata: Hex
  /** Wei that each call carries. */
  readonly value: BaseUnits
  readonly gasLimit: bigint
  /** The function as the file writes it. */
  readonly label: string
}

export type Strategy = DcaStrategy | CallStrategy
