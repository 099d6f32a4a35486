import type { ModuleReply, ModuleStrategy, ModuleView } from '../domain/module.ts'
import type { Asset, Pair, Token } from '../domain/money/token.ts'
import type { Address, BaseUnits, Ratio } from '../domain/money/units.ts'
import type { Intent, SwapIntent } from '../domain/order/intent.ts'
import type { SkipReason } from '../domain/order/reason.ts'
import type { SlotSeconds } from '../domain/schedule/schedule.ts'
import type { StrategyBase, TokenPair, UnsoldRule } from '../domain/strategy.ts'
import type { StrategyMemory } from '../domain/strategy-memory.ts'
import type { Decision, MarketView, Skip } from './decision/decision.ts'

/** A kind of strategy, as pure functions. A new kind must define every member; `none` is for those that do not apply. */
export interface StrategyKind<S extends StrategyBase> {
  readonly venue: Intent['venue']
  readonly decision: MarketDecision<S> | ModuleDecision<S> | CalendarDecision<S>
  /** Describes a slot in one line. */
  describe(strategy: S): string

  /** All assets that it may hold, sell or buy. */
  assets(strategy: S): readonly Asset[]
  sells(strategy: S): readonly Asset[]
  /** Prices that its decisions depend on. */
  pairs(strategy: S): readonly TokenPair[]
  /** Fields that do not affect orders: changing them drops no unsigned order. */
  readonly shapesNoOrder: readonly string[]

  /** The order of every slot, if the file alone determines it. */
  fixedOrder(strategy: S): { readonly token: Token; readonly amount: bigint } | undefined
  /** One order for each size that it may trade. Orders above a cap are never made. */
  plannedOrders(strategy: S, inputs: OrderInputs): readonly PlannedOrder[]
  /** Maximum that one slot sells; undefined if unbounded. */
  mostPerSlot(strategy: S, inputs: SlotInputs): bigint | undefined
  /** Maximum that the next slot sells, for kinds that sell by the clock alone. */
  nextSale(strategy: S, inputs: SlotInputs): bigint | undefined
  /** The total that its slots sell together. */
  slicedTotal(strategy: S): SlicedTotal | undefined
  /** A typical swap to quote now, or why there is none. */
  sampleSwap(strategy: S): SampleSwap | string

  /** Assets whose value `limits.drawdown` watches. Undefined for kinds whose files may not set it. */
  readonly portfolio: Answer<S, Portfolio> | undefined
  /** The strategy whose purchases it sells. */
  entry(strategy: S): Entry | undefined
  /** What a chart of its price shows beside the price; undefined if nothing. */
  marks(strategy: S, view: MarksView): Marks | undefined
  /** Undefined for kinds that do not wait for a price. */
  readonly trigger: PriceTrigger<S> | undefined
  /**
   * Prices between which slots are skipped as this one was, with its reason, while memory and purchases stay the same, except
   * for what `remember` adds. A backtest passes such slots without deciding them. Undefined if a later slot may end otherwise.
   */
  quiet(strategy: S, view: MarketView, reason: SkipReason): QuietPrices | undefined
}

/** A method type, so that a kind of one strategy is assignable to a kind of any. */
type Answer<S, A> = { answer(strategy: S): A }['answer']

/** For members that do not apply to a kind. */
export const none = (): undefined => undefined

/** Decides by balances and prices. */
export interface MarketDecision<S> {
  readonly by: 'market'
  decide(strategy: S, view: MarketView): Decision
}

/** Decides by balances, prices and the reply of the operator's module. */
export interface ModuleDecision<S> {
  readonly by: 'module'
  question(strategy: S, view: MarketView): ModuleQuestion | Skip
  decide(strategy: S, view: MarketView, reply: ModuleReply): Decision
}

export type ModuleQuestion = { readonly asks: ModuleStrategy; readonly view: ModuleView }

/** Acts on every slot, regardless of the market. */
interface CalendarDecision<S> {
  readonly by: 'calendar'
  decide(strategy: S, view: CallView): Decision
}

/** `caller`: account of the aggregation service. */
type CallView = { readonly slotSeconds: SlotSeconds; readonly caller: Address }

/** The journal's memory of a strategy, and base units spent, by token. */
export type Progress = {
  readonly memory: StrategyMemory
  readonly spent: ReadonlyMap<Address, bigint>
}

export const NO_PROGRESS: Progress = { memory: {}, spent: new Map() }

/** Sell base units per buy base unit, if known. */
type PriceOf = (sell: Token, buy: Token) => Ratio | undefined

export type SlotInputs = { readonly progress: Progress; readonly priceOf: PriceOf }

/** `free`: uncommitted base units of an asset, if known. */
export type OrderInputs = {
  readonly priceOf: PriceOf
  readonly free: (asset: Asset) => bigint | undefined
}

/** An order of a strategy, if known in advance. */
export type PlannedOrder = {
  /** Subject of a sentence. */
  readonly who: string
  readonly asset: Asset
  readonly amount: bigint
  /** A share of the free balance, which may be less on another day. */
  readonly isShare?: boolean
}

export type SlicedTotal = {
  /** Identifies it in the journal by token, total, count and start. */
  readonly key: string
  readonly token: Token
  readonly total: BaseUnits
  readonly rule: UnsoldRule
  /** Never below 0. */
  unsold(progress: Progress): bigint
}

export type SampleSwap = Pick<SwapIntent, 'sell' | 'buy' | 'size' | 'maxSell' | 'price'>

/** The assets that count as a strategy's own, valued in `quote`. */
export type Portfolio = { readonly quote: Token; readonly assets: readonly Asset[] }

/** Purchases of `bought` with `paidIn` by strategy `of`. */
type Entry = {
  readonly of: string
  readonly bought: Token
  readonly paidIn: Token
  /** True if every size is a share, so that no more is sold than was bought. */
  readonly isAllShares: boolean
}

/** How a kind waits for a price. Prices are base units of the watched quote per base unit of the watched base. */
export interface PriceTrigger<S> {
  watch(strategy: S): { readonly pair: Pair; readonly base: Token; readonly quote: Token }
  /** Every level, and whether it fires at a price. */
  levels(strategy: S, price: Ratio, view: TriggerView): readonly Level[]
  /** Whether every level has fired for good. */
  isSpent(strategy: S, memory: StrategyMemory): boolean
  /** True if it may trade at its first slot without an approval. */
  mayFireAtOnce(strategy: S): boolean
}

/** `price`: of the first of `pairs`, if known. */
export type MarksView = Pick<MarketView, 'nowSeconds' | 'memory' | 'entry'> & {
  readonly price: Ratio | undefined
}

export type Marks = {
  /** In sell base units per buy base unit of the first of `pairs`. */
  readonly levels?: readonly {
    readonly name: string
    readonly level: Ratio
    /** Whether it trades there; otherwise it only gets ready to. */
    readonly trades: boolean
    /** Whether the price is at or beyond it: it trades at its next slot. */
    readonly isReached: boolean
  }[]
  /** Target shares of a portfolio, and the distance at which it trades. */
  readonly weights?: readonly {
    readonly token: Token
    readonly weightBps: number
    readonly bandBps: number
  }[]
}

export type TriggerView = Pick<MarketView, 'prices' | 'memory' | 'entry'>

/** A trailing stop has no fixed `level`. */
export type Level = {
  readonly name: string
  readonly level: Ratio | undefined
  readonly fires: boolean
}

export type QuietPrices = {
  /** Prices strictly within; any price of other pairs. */
  readonly bands: readonly (TokenPair & PriceBand)[]
  /** Whether other balances may end it. */
  readonly needsBalances: boolean
  /** Undefined if slots leave the memory alone. */
  readonly remember?: Remember | undefined
}

/** The memory after consecutive slots, each of which remembers its price. */
export type Remember = (before: StrategyMemory, slots: readonly PricedSlot[]) => StrategyMemory

/** `price`: of the first of `pairs`. */
export type PricedSlot = { readonly nowSeconds: number; readonly price: Ratio }

/** Sell base units per buy base unit. */
export type PriceBand = { readonly low: Ratio; readonly high: Ratio | undefined }
