import { assertNever } from './errors.ts'
import type { Schedule } from './schedule/schedule.ts'
import type { Asset, Pair, Token } from './token.ts'
import type { Address, BaseUnits, Hex, Ratio } from './units.ts'

export const STRATEGY_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/

/** Base units that may be spent of each token; a token that is absent has no cap. */
export type Caps = ReadonlyMap<Address, BaseUnits>

export const NO_CAPS: Caps = new Map()

/** Caps by address of the token that is sold. Calls spend NATIVE_TOKEN. */
export type SpendingCaps = {
  readonly perOrder: Caps
  readonly perHour: Caps
  readonly perDay: Caps
  readonly perWeek: Caps
  readonly total: Caps
  readonly cooldownMs: number
}

/** What bounds one strategy. */
export type StrategyLimits = SpendingCaps & {
  /** Orders of this strategy that may be unresolved at once. */
  readonly maxOpenIntents: number
  /** Slots in a row that may end failed, refused or expired before the strategy is paused. */
  readonly maxFailures: number | undefined
  /** Fall of the holdings' value from its highest, in basis points, at which the strategy is paused. */
  readonly drawdownBps: number | undefined
}

/** Bounds on the price in sell token per buy token, as base-unit ratios. Outside them the slot is skipped. */
export type PriceBounds = { readonly min: Ratio | undefined; readonly max: Ratio | undefined }

/** Exact input (`sell`) or exact output (`buy`). */
export type OrderSize =
  | { readonly side: 'sell'; readonly amount: BaseUnits }
  | { readonly side: 'buy'; readonly amount: BaseUnits }

/**
 * What proves that a quote is fair: a configured feed (or several, crossed), or nothing but the strategy's own price
 * bounds, for a pair that its file names as having no feed.
 */
export type PriceCheck = 'feed' | 'bounds'

type StrategyBase = {
  readonly name: string
  readonly file: string
  readonly enabled: boolean
  readonly schedule: Schedule
  readonly limits: StrategyLimits
}

/** What every strategy that swaps has beside its kind's own fields. */
type SwapBase = StrategyBase & {
  readonly slippageBps: number
  /** Widest distance of a quote from the independent price, at most the account's. */
  readonly maxDeviationBps: number
  readonly priceCheck: PriceCheck
}

/** A swap strategy of one direction. */
type TradeBase = SwapBase & {
  readonly sell: Asset
  readonly buy: Asset
  readonly price: PriceBounds
}

/** Sells more on a dip: from a fall of `dropBps` below the highest price of the window on, `amount` instead. */
export type Dip = { readonly dropBps: number; readonly amount: BaseUnits }

export type DcaStrategy = TradeBase & {
  readonly kind: 'dca'
  readonly size: OrderSize
  /** Deepest first. Amounts are of the side that `size` names. */
  readonly dips: readonly Dip[]
  /** How far back the highest price is looked for. */
  readonly dipWindowMs: number
}

/** One trigger of a threshold strategy. `id` is stable while its line of the file is unchanged. */
export type Rung = {
  readonly id: string
  readonly trigger:
    | { readonly type: 'above' | 'below'; readonly level: Ratio }
    | { readonly type: 'trailing'; readonly bps: number }
    /** So far above, or below, the average entry of the strategy that `entryOf` names. */
    | { readonly type: 'gain' | 'loss'; readonly bps: number }
  readonly size: RungSize
}

/** Exact input, or a share of what the wallet has free. */
export type RungSize =
  | { readonly type: 'amount'; readonly amount: BaseUnits }
  | { readonly type: 'share'; readonly bps: number }

export type ThresholdStrategy = TradeBase & {
  readonly kind: 'threshold'
  /** The price that is watched: base-unit ratio of `quote` per `base`. */
  readonly watch: { readonly pair: Pair; readonly base: Token; readonly quote: Token }
  readonly rungs: readonly Rung[]
  /** How far the price must come back before a rung may fire again, in basis points of its level. */
  readonly rearmBps: number
  /** Each rung fires at most once ever. */
  readonly once: boolean
  /** It may trade at its first slot, and its levels may be far off the price: nothing waits for an approval. */
  readonly fireAtOnce: boolean
  /** The strategy whose purchases are sold; gains and losses are measured from their average cost. */
  readonly entryOf?: string | undefined
}

export type TwapStrategy = TradeBase & {
  readonly kind: 'twap'
  /** All that the slices sell together. */
  readonly total: BaseUnits
  /** What becomes of slices that were missed or not filled: the later ones grow, or they are dropped. */
  readonly unsold: 'spread' | 'drop'
}

export type RebalanceTarget = { readonly token: Token; readonly weightBps: number }

export type RebalanceStrategy = SwapBase & {
  readonly kind: 'rebalance'
  /** At least two; weights sum to 10,000. */
  readonly targets: readonly RebalanceTarget[]
  /** Distance from its target, in basis points of the portfolio, up to which a weight is left alone. */
  readonly bandBps: number
  /** How far to trade once outside: just back into the band, or to the target itself. */
  readonly to: 'edge' | 'target'
  /** The token that everything is valued in. */
  readonly quote: Token
  /** Least value of one order, in `quote` base units. */
  readonly minTrade: BaseUnits
  /** Most that an order may cost against the feed's price, in basis points of what it moves; else it is not worth it. */
  readonly maxCostBps: number | undefined
}

/** Decides by a module of the operator's own. */
export type CustomStrategy = SwapBase & {
  readonly kind: 'custom'
  /** Absolute path. */
  readonly module: string
  /** The only assets that it may trade, by the name that the module uses. */
  readonly assets: ReadonlyMap<string, Asset>
  /** What the file says, lists and maps of texts; the module's own schema reads it where the module runs. */
  readonly params: unknown
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

export type SwapStrategy =
  | DcaStrategy
  | RebalanceStrategy
  | ThresholdStrategy
  | TwapStrategy
  | CustomStrategy
export type Strategy = SwapStrategy | CallStrategy

/** Whether a strategy decides by balances and prices. The others act whatever the market is. */
export function readsMarket(strategy: Strategy): strategy is SwapStrategy {
  return !makesCalls(strategy)
}

/** Whether it trades through the aggregation service. */
export function makesCalls(strategy: Strategy): strategy is CallStrategy {
  return strategy.kind === 'call'
}

/** Everything that a strategy may hold, sell or buy. */
export function assetsOf(strategy: Strategy): readonly Asset[] {
  switch (strategy.kind) {
    case 'dca':
    case 'threshold':
    case 'twap':
      return [strategy.sell, strategy.buy]
    case 'rebalance':
      return strategy.targets.map(({ token }) => ({ token, native: false }))
    case 'custom':
      return [...strategy.assets.values()]
    case 'call':
      return []
    default:
      return assertNever(strategy)
  }
}

/** Prices that a strategy's decision depends on, each as sell base units per buy base unit. */
export type TokenPair = { readonly sell: Token; readonly buy: Token }

export function pairsOf(strategy: Strategy): readonly TokenPair[] {
  switch (strategy.kind) {
    case 'dca':
    case 'twap':
      return [{ sell: strategy.sell.token, buy: strategy.buy.token }]
    case 'threshold': {
      const { sell, buy, watch } = strategy
      return [
        { sell: watch.quote, buy: watch.base },
        { sell: sell.token, buy: buy.token },
      ]
    }
    case 'rebalance':
      return strategy.targets
        .filter(({ token }) => token !== strategy.quote)
        .map(({ token }) => ({ sell: strategy.quote, buy: token }))
    case 'custom': {
      const tokens = [...new Set([...strategy.assets.values()].map(({ token }) => token))]
      return tokens.flatMap((sell) =>
        tokens.filter((buy) => buy !== sell).map((buy) => ({ sell, buy })),
      )
    }
    case 'call':
      return []
    default:
      return assertNever(strategy)
  }
}
