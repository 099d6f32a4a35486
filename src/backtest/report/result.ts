import type * as z from 'zod'
import type { backtestResult } from './result-schema.ts'

/** The result of a backtest, whose schema describes each field. Purely descriptive figures are doubles. */
export type BacktestResult = z.output<typeof backtestResult>

export type AmountResult = WealthResult['holdings'][number]
export type ModelResult = BacktestResult['model']
export type WealthResult = BacktestResult['end']
export type FiguresResult = NonNullable<BacktestResult['figures']>
export type DrawdownResult = FiguresResult['drawdown']
export type AgainstResult = BacktestResult['against'][number]
export type StrategyResult = BacktestResult['strategies'][number]
export type TradesResult = StrategyResult['trades'][number]
export type SensitivityResult = BacktestResult['sensitivity'][number]
/** Curves of at most 1,000 points, which share their times. */
export type SeriesResult = BacktestResult['series']
export type CurveResult = SeriesResult['prices'][number]
export type FillResult = BacktestResult['fills'][number]
export type SlotsResult = BacktestResult['slots'][number]
export type PricesResult = BacktestResult['prices'][number]
export type OutcomeResult = StrategyResult['outcomes'][number]

/** Results of a backtest for each combination of values. */
export type SweepResult = NonNullable<BacktestResult['sweep']>
export type SweepMetric = SweepResult['metric']
export type WalkForwardResult = NonNullable<SweepResult['walkForward']>
export type FoldResult = WalkForwardResult['folds'][number]
export type SweepAxisResult = SweepResult['axes'][number]
export type SweepPointResult = SweepResult['points'][number]
