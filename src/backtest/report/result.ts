import type { SweepResult } from './sweep-result.ts'

/**
 * What a backtest comes to, as it is printed, drawn and compared. Amounts are decimal text with their token, times ISO 8601 in UTC,
 * shares percent. Figures that only describe are doubles.
 */
export type BacktestResult = {
  readonly fromAt: string
  readonly untilAt: string
  /** The token that everything is valued in; null where no price feed is configured. */
  readonly valueToken: string | null
  readonly prices: readonly PricesResult[]
  readonly model: ModelResult
  readonly begin: WealthResult
  readonly end: WealthResult
  readonly figures: FiguresResult | null
  /** What else could have been done with the same money. */
  readonly against: readonly AgainstResult[]
  readonly strategies: readonly StrategyResult[]
  /** How the result moves with what the model assumes; empty where that was not asked for. */
  readonly sensitivity: readonly SensitivityResult[]
  readonly series: SeriesResult
  readonly fills: readonly FillResult[]
  /** Fills beyond those listed. */
  readonly fillsLeftOut: number
  /** Slots in order; those of one strategy that ended alike one after the other are one row. */
  readonly slots: readonly SlotsResult[]
  /** Rows beyond those listed. */
  readonly slotsLeftOut: number
  /** What is worth to know of how it was found, in sentences. */
  readonly notes: readonly string[]
  /** What other values would have come to; null unless a sweep was asked for. */
  readonly sweep: SweepResult | null
}

export type AmountResult = { readonly amount: string; readonly token: string }

export type PricesResult = {
  readonly pair: string
  /** A file, a chain, a seed. */
  readonly source: string
  /** Rounds that were on chain in the period or before it. */
  readonly rounds: number
}

/** What stood in for services and chains. */
export type ModelResult = {
  readonly spreadBps: number
  readonly feeBps: number
  /** Value of one order that moves the price by 1 %; null where none does. */
  readonly depth: AmountResult | null
  readonly failurePercent: number
  readonly quoteSeconds: number
  readonly fillSeconds: number
  readonly validSeconds: number
  readonly wrapGas: AmountResult
  readonly callCharge: AmountResult
  /** What the GasTank held at the beginning; null where it never runs dry. */
  readonly gasTank: AmountResult | null
  readonly seed: string
  /** Where the figures come from. */
  readonly source: 'default' | 'options' | 'journal'
}

export type WealthResult = {
  /** Null where something has no price. */
  readonly value: AmountResult | null
  readonly holdings: readonly AmountResult[]
}

export type FiguresResult = {
  readonly returnPercent: number
  /** The same for a year at that rate; null for periods of less than 30 days. */
  readonly yearlyPercent: number | null
  readonly drawdown: DrawdownResult
  /** Value of all that was sold. */
  readonly turnover: AmountResult
  /** The same in percent of the value at the beginning; null where that was nothing. */
  readonly turnoverPercent: number | null
  readonly costs: CostsResult
}

/** The deepest fall from the highest value before it, at samples. */
export type DrawdownResult = {
  readonly percent: number
  /** Null where the value never fell. */
  readonly fromAt: string | null
  readonly deepestAt: string | null
  /** Null where it had not come back by the end. */
  readonly recoveredAt: string | null
  /** From the highest value until it was reached again, or to the end. */
  readonly seconds: number
}

export type CostsResult = {
  readonly total: AmountResult
  readonly spread: AmountResult
  readonly fee: AmountResult
  readonly impact: AmountResult
  /** Gas of wrapping and unwrapping. */
  readonly gas: AmountResult
  /** What calls were charged. */
  readonly calls: AmountResult
}

export type AgainstResult = {
  readonly name: 'holding' | 'lump-sum' | 'plain-dca'
  readonly value: AmountResult
  readonly returnPercent: number
  readonly drawdownPercent: number
}

export type OutcomeResult = {
  readonly outcome: string
  readonly reason: string
  readonly count: number
}

export type TradesResult = {
  readonly sold: AmountResult
  readonly bought: AmountResult
  readonly fills: number
  /** Sold per bought, in whole tokens: decimal text of ten digits, as of every price here. */
  readonly averagePrice: string | null
  /** The mean of the feed's price over the period, told the same way. */
  readonly periodPrice: string | null
}

export type StrategyResult = {
  readonly name: string
  readonly kind: string
  readonly slots: number
  readonly filled: number
  readonly skipped: number
  /** Failed, refused or expired. */
  readonly failed: number
  readonly missed: number
  /** Slots whose orders were under way at the end. */
  readonly open: number
  /** Most frequent first. */
  readonly outcomes: readonly OutcomeResult[]
  readonly trades: readonly TradesResult[]
  readonly calls: number
  /** Why it opened no slots at the end; null where it did. */
  readonly stopped: string | null
}

export type SensitivityResult = {
  readonly what: string
  readonly value: AmountResult | null
  readonly returnPercent: number | null
  readonly drawdownPercent: number | null
  readonly fills: number
}

/** Curves of at most some thousand points, which share their times. Null where a price was missing. */
export type SeriesResult = {
  /** Epoch seconds. */
  readonly atSeconds: readonly number[]
  readonly value: readonly (number | null)[]
  readonly drawdownPercent: readonly (number | null)[]
  readonly against: readonly CurveResult[]
  /** By feed, whole quote per whole base. */
  readonly prices: readonly CurveResult[]
  /** Whole tokens. */
  readonly holdings: readonly CurveResult[]
  /** How full a cap was, in percent. */
  readonly caps: readonly CurveResult[]
  /** Slots skipped for a reason since the point before. */
  readonly skips: readonly CurveResult[]
}

export type CurveResult = { readonly name: string; readonly points: readonly (number | null)[] }

export type FillResult = {
  readonly at: string
  readonly strategy: string
  readonly slotSeconds: number
  readonly paid: AmountResult
  readonly received: AmountResult
  /** Paid per received, in whole tokens. */
  readonly price: string
  /** The market's then, told the same way. */
  readonly marketPrice: string
}

export type SlotsResult = {
  readonly fromAt: string
  readonly untilAt: string
  readonly count: number
  readonly strategy: string
  readonly outcome: string
  readonly reason: string
  /** Of the first of them; null where nothing more is to say. */
  readonly detail: string | null
}
