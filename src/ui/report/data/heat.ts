import type { SweepMetric, SweepPointResult, SweepResult } from '../../../backtest/report/result.ts'
import { type Cell, column, NONE } from '../../parts/table.tsx'
import { extentOf, signedPercent } from '../../parts/wording/amounts.ts'
import { counted, fallText } from './labels.ts'

/** Indexes of the two axes shown, and one value of each other axis. */
export type HeatChoice = {
  readonly across: number
  readonly down: number
  readonly fixed: readonly string[]
  readonly metric: SweepMetric
}

type HeatRow = { readonly cells: readonly Cell[] }

/** Steps from the worst to the best. */
export const HEAT_STEPS = 9

export const METRICS: Readonly<Record<SweepMetric, string>> = {
  returnPercent: 'Return',
  drawdownPercent: 'Worst drawdown',
}

/** The first two axes, and the best point's values on all others. */
export function firstChoice({ axes, metric, best, points }: SweepResult): HeatChoice {
  const at = best === null ? undefined : points[best]
  const fixed = at?.values ?? axes.map(({ values }) => values[0] ?? '')
  return { across: 0, down: 1, fixed, metric }
}

/** The first cell of each row is its value on the vertical axis. */
export function heatMapOf(sweep: SweepResult, choice: HeatChoice) {
  const { axes, points, best } = sweep
  const { metric, fixed } = choice
  const byValues = new Map(points.map((point) => [JSON.stringify(point.values), point]))
  const scale = scaleOf(points, metric)
  const bestPoint = best === null ? undefined : points[best]
  const [across, down] = [axes[choice.across], axes[choice.down]]
  const columns = across?.values ?? []
  const rows = (down?.values ?? []).map((rowValue) => {
    const cells = columns.map((columnValue) => {
      const values = fixed.with(choice.across, columnValue).with(choice.down, rowValue)
      const point = byValues.get(JSON.stringify(values))
      return heatCell(point, { metric, scale, isBest: point !== undefined && point === bestPoint })
    })
    return { cells: [{ text: rowValue }, ...cells] }
  })
  return { down: down?.key ?? '', columns, rows }
}

export function heatColumns({ down, columns }: ReturnType<typeof heatMapOf>) {
  return [down, ...columns].map((title, at) =>
    column<HeatRow>(at === 0 ? 'axis' : 'point', title, ({ cells }) => cells[at] ?? NONE),
  )
}

export function metricText(point: SweepPointResult, metric: SweepMetric): string {
  const value = point[metric]
  if (value === null) return '–'
  return metric === 'returnPercent' ? signedPercent(value) : fallText(value)
}

/** Higher is better for every metric. */
function goodness(point: SweepPointResult, metric: SweepMetric): number | null {
  const value = point[metric]
  return value === null || metric !== 'drawdownPercent' ? value : -Math.abs(value)
}

type Scale = (value: number) => number

/** Maps the worst to the best point to 0 to `HEAT_STEPS - 1`, on one scale for the whole sweep. */
function scaleOf(points: readonly SweepPointResult[], metric: SweepMetric): Scale {
  const { lowest = 0, highest = 0 } = extentOf(points.map((each) => goodness(each, metric))) ?? {}
  const range = highest - lowest
  if (!(range > 0)) return () => Math.floor(HEAT_STEPS / 2)
  return (value) => Math.round(((value - lowest) / range) * (HEAT_STEPS - 1))
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
    // Colour is never the only sign: the best point is also marked in its text.
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

/** Indexes of the points from the best to the worst, without those that lack the figure. */
export function ranked({ points, metric }: SweepResult): readonly number[] {
  return points
    .map((point, place) => ({ place, value: goodness(point, metric) }))
    .filter(({ value }) => value !== null)
    .toSorted((a, b) => (b.value ?? 0) - (a.value ?? 0))
    .map(({ place }) => place)
}
