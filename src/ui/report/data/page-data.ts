import type {
  BacktestResult,
  CurveResult,
  SeriesResult,
  SweepResult,
} from '../../../backtest/report/result.ts'
import { dayText, secondsOf } from '../../parts/wording/times.ts'
import { type Packed, packFills, packSlots, visible } from './long-tables.ts'

export type PageData = {
  /** `1 Jan 2025 to 4 Jan 2025`. */
  readonly period: string
  readonly valueToken: string | null
  readonly series: SeriesResult
  readonly fills: Packed
  readonly slots: Packed
  readonly sweep: SweepResult | null
  readonly meanings: Readonly<Record<string, string>>
}

export function pageDataOf(result: BacktestResult, meanings: PageData['meanings']): PageData {
  const { series, valueToken, sweep } = result
  return {
    period: `${dayText(secondsOf(result.fromAt))} to ${dayText(secondsOf(result.untilAt))}`,
    valueToken,
    series: {
      atSeconds: series.atSeconds,
      value: series.value.map(rounded),
      drawdownPercent: series.drawdownPercent.map(rounded),
      against: series.against.map(roundedCurve),
      prices: series.prices.map(roundedCurve),
      holdings: series.holdings.map(roundedCurve),
      caps: series.caps.map(roundedCurve),
      skips: series.skips,
    },
    fills: packFills(result.fills),
    slots: packSlots(result.slots),
    sweep,
    meanings,
  }
}

function roundedCurve({ name, points }: CurveResult): CurveResult {
  return { name, points: points.map(rounded) }
}

function rounded(point: number | null): number | null {
  return point === null ? null : visible(point)
}

/** Encodes times as differences, because they would be most digits of a short report. */
export function encodeData(data: PageData): string {
  return JSON.stringify(data, (name, value: unknown) =>
    isTimes(name, value) ? steps(value) : value,
  )
}

export function decodeData(text: string): PageData {
  return JSON.parse(text, (name, value: unknown) => (isTimes(name, value) ? sums(value) : value))
}

function isTimes(name: string, value: unknown): value is readonly number[] {
  return name.endsWith('Seconds') && Array.isArray(value)
}

function steps(seconds: readonly number[]): readonly number[] {
  return seconds.map((each, at) => toTheMillisecond(each - (seconds[at - 1] ?? 0)))
}

function sums(differences: readonly number[]): readonly number[] {
  let sum = 0
  return differences.map((each) => {
    sum = toTheMillisecond(sum + each)
    return sum
  })
}

function toTheMillisecond(seconds: number): number {
  return Math.round(seconds * 1_000) / 1_000
}
