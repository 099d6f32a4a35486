import type { BacktestResult, CurveResult, SeriesResult } from '../../../backtest/report/result.ts'
import type { SweepResult } from '../../../backtest/report/sweep-result.ts'
import { type PackedFills, packFills } from './fills.ts'
import { seen } from './packing.ts'
import { type PackedSlots, packSlots } from './slots.ts'

export type Sweep = SweepResult

/** What the page carries for its own script, beside what it says already. */
export type PageData = {
  readonly valueToken: string | null
  readonly series: SeriesResult
  readonly fills: PackedFills
  readonly slots: PackedSlots
  readonly sweep: Sweep | null
  /** What each reason that occurs means, by its word. */
  readonly meanings: Readonly<Record<string, string>>
}

export function pageDataOf(
  result: BacktestResult,
  meanings: Readonly<Record<string, string>>,
): PageData {
  const { series } = result
  return {
    valueToken: result.valueToken,
    series: {
      atSeconds: series.atSeconds,
      value: series.value.map(seenOrNot),
      drawdownPercent: series.drawdownPercent.map(seenOrNot),
      against: series.against.map(seenCurve),
      prices: series.prices.map(seenCurve),
      holdings: series.holdings.map(seenCurve),
      caps: series.caps.map(seenCurve),
      skips: series.skips,
    },
    fills: packFills(result.fills),
    slots: packSlots(result.slots),
    sweep: result.sweep,
    meanings,
  }
}

function seenCurve({ name, points }: CurveResult): CurveResult {
  return { name, points: points.map(seenOrNot) }
}

function seenOrNot(point: number | null): number | null {
  return point === null ? null : seen(point)
}
