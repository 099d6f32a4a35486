import type {
  SweepMetric,
  SweepPointResult,
  SweepResult,
} from '../../../backtest/report/sweep-result.ts'
import { signedPercent } from '../../page-parts/words/amounts.ts'
import { type Cell, type Column, NONE, type Row } from './cells.ts'
import { counted, fallText } from './words.ts'

/** Which part of a sweep is looked at: two of its axes, and one value of each other one. */
export type HeatChoice = {
  /** Place of the axis whose values stand side by side. */
  readonly across: number
  /** Place of the axis whose values stand one below the other. */
  readonly down: number
  /** One value of each axis; those of the two that are shown do not count. */
  readonly fixed: readonly string[]
  readonly metric: SweepMetric
}

export type HeatMap = {
  /** Of the axis whose values stand one below the other. */
  readonly down: string
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
}

/** Steps of the scale, from the worst to the best. */
export const HEAT_STEPS = 9

export const METRICS: Readonly<Record<SweepMetric, string>> = {
  returnPercent: 'Return',
  drawdownPercent: 'Worst drawdown',
}

/** The first two axes, at the best point where there are more of them. */
export function firstChoice({ axes, metric, best, points }: SweepResult): HeatChoice {
  const at = best === null ? undefined : points[best]
  const fixed = at?.values ?? axes.map(({ values }) => values[0] ?? '')
  return { across: 0, down: 1, fixed, metric }
}

/** The map of two axes; its first cell of each row is the value of the axis that goes down. */
export function heatMapOf(sweep: SweepResult, choice: HeatChoice): HeatMap {
  const { axes, points, best } = sweep
  const byValues = new Map(points.map((point) => [keyOf(point.values), point]))
  const scale = scaleOf(points, choice.metric)
  const bestPoint = best === null ? undefined : points[best]
  const [across, down] = [axes[choice.across], axes[choice.down]]
  const columns = across?.values ?? []
  const rows = (down?.values ?? []).map((rowValue): Row => {
    const cells = columns.map((columnValue): Cell => {
      const values = choice.fixed.with(choice.across, columnValue).with(choice.down, rowValue)
      const point = byValues.get(keyOf(values))
      return heatCell(point, {
        metric: choice.metric,
        scale,
        isBest: point !== undefined && point === bestPoint,
      })
    })
    return { key: rowValue, cells: [{ text: rowValue }, ...cells] }
  })
  return { down: down?.key ?? '', columns, rows }
}

/** The columns of a map: the axis that goes down, then one for each value of the other. */
export function heatColumns(map: HeatMap): readonly Column<Row>[] {
  return [map.down, ...map.columns].map((title, at) => ({
    id: at === 0 ? 'axis' : 'point',
    title,
    cell: ({ cells }) => cells[at] ?? NONE,
  }))
}

function keyOf(values: readonly string[]): string {
  return JSON.stringify(values)
}

/** What a metric says of a point, as one reads it. */
export function metricText(point: SweepPointResult, metric: SweepMetric): string {
  const value = point[metric]
  if (value === null) return '–'
  return metric === 'returnPercent' ? signedPercent(value) : fallText(value)
}

/** More is better, but of a fall. */
export function goodness(point: SweepPointResult, metric: SweepMetric): number | null {
  const value = point[metric]
  return value === null || metric !== 'drawdownPercent' ? value : -Math.abs(value)
}

type Scale = (value: number) => number

/** From the worst point to the best, 0 to `HEAT_STEPS - 1`; the same wherever in the sweep one looks. */
function scaleOf(points: readonly SweepPointResult[], metric: SweepMetric): Scale {
  const known = points.map((point) => goodness(point, metric)).filter((value) => value !== null)
  const lowest = known.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY)
  const highest = known.reduce((high, value) => Math.max(high, value), Number.NEGATIVE_INFINITY)
  const extent = highest - lowest
  if (!(extent > 0)) return () => Math.floor(HEAT_STEPS / 2)
  return (value) => Math.round(((value - lowest) / extent) * (HEAT_STEPS - 1))
}

function heatCell(
  point: SweepPointResult | undefined,
  { metric, scale, isBest }: { metric: SweepMetric; scale: Scale; isBest: boolean },
): Cell {
  if (point === undefined) return { text: '–', title: 'not run', kind: 'heat unknown' }
  const value = goodness(point, metric)
  const step = value === null ? 'unknown' : `heat-${scale(value)}`
  const text = metricText(point, metric)
  return {
    // Colour is never all there is: the best is marked in its text as well.
    text: isBest ? `★ ${text}` : text,
    title: pointTitle(point, isBest),
    kind: `heat ${step}${isBest ? ' best' : ''}`,
  }
}

function pointTitle(point: SweepPointResult, isBest: boolean): string {
  const figures = (['returnPercent', 'drawdownPercent'] as const)
    .map((metric) => `${METRICS[metric].toLowerCase()} ${metricText(point, metric)}`)
    .concat(counted(point.fills, 'fill'))
  return `${isBest ? 'The best: ' : ''}${point.values.join(', ')}: ${figures.join(', ')}`
}

/** Places of the points from the best to the worst; those without a figure are left out. */
export function ranked({ points, metric }: SweepResult): readonly number[] {
  return points
    .map((point, place) => ({ place, value: goodness(point, metric) }))
    .filter(({ value }) => value !== null)
    .toSorted((a, b) => (b.value ?? 0) - (a.value ?? 0))
    .map(({ place }) => place)
}
