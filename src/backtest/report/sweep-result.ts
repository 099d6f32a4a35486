/**
 * A backtest for each combination of the values of some keys: what it came to. Shares are percent. All figures are doubles that
 * only describe.
 */
export type SweepResult = {
  /** What was varied: one axis or more. */
  readonly axes: readonly SweepAxisResult[]
  /** What the best point is the best by. */
  readonly metric: SweepMetric
  readonly points: readonly SweepPointResult[]
  /** Index of a point; null where no point has the figure. */
  readonly best: number | null
  /** Whether the points beside the best one are far below it: then it was found by searching, not by a rule that holds. */
  readonly isLonely: boolean
  /** The same search in a part of the period, tried in the part after it; null where that was not asked for. */
  readonly walkForward: WalkForwardResult | null
}

export type SweepMetric = 'returnPercent' | 'drawdownPercent'

export type SweepAxisResult = {
  /** As it was given: the path of a field, such as `dip-buyer.trigger.drop`. */
  readonly key: string
  /** In the order in which they are shown. */
  readonly values: readonly string[]
}

export type SweepPointResult = {
  /** One value of each axis, in their order. */
  readonly values: readonly string[]
  /** Null where something had no price. */
  readonly returnPercent: number | null
  readonly drawdownPercent: number | null
  readonly fills: number
}

export type WalkForwardResult = {
  readonly folds: readonly FoldResult[]
  /** What all parts that were not searched come to, one after the other; null where one of them has no value. */
  readonly unseenReturnPercent: number | null
}

export type FoldResult = {
  readonly searchFromAt: string
  readonly searchUntilAt: string
  /** The part after it, in which what was found was tried. */
  readonly tryFromAt: string
  readonly tryUntilAt: string
  /** What was best in the part that was searched: one value of each axis. */
  readonly values: readonly string[]
  readonly searchReturnPercent: number | null
  readonly tryReturnPercent: number | null
}
