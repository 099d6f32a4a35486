import type { BacktestResult } from './result.ts'

/** What a backtest for each combination of the values of some keys came to. */
export type SweepResult = NonNullable<BacktestResult['sweep']>
export type SweepMetric = SweepResult['metric']
export type WalkForwardResult = NonNullable<SweepResult['walkForward']>
export type FoldResult = WalkForwardResult['folds'][number]
export type SweepAxisResult = SweepResult['axes'][number]
export type SweepPointResult = SweepResult['points'][number]
