import type { SweepMetric } from '../report/sweep-result.ts'
import { neighboursOf, type SweepAxis } from './axes.ts'

/** What one backtest of a sweep came to; null where something had no price. */
export type SweepFigures = {
  readonly returnPercent: number | null
  readonly drawdownPercent: number | null
  readonly fills: number
}

/** The best is lonely where its neighbours have less than this share of what it is ahead of the middle of all. */
const SHARED_MIN = 0.5
/** Of fewer points none can be told to stand alone. */
const POINTS_MIN = 5

/** Index of the point with the highest return, or the smallest drawdown; the first of several. Null where none has the figure. */
export function bestOf(points: readonly SweepFigures[], metric: SweepMetric): number | null {
  let best: number | null = null
  let most = Number.NEGATIVE_INFINITY
  for (const [index, point] of points.entries()) {
    const score = scoreOf(point, metric)
    if (score === undefined || score <= most) continue
    best = index
    most = score
  }
  return best
}

/**
 * Whether the best point stands alone: those beside it come to less than half of what it has above the median of all. Then its
 * values fit this past rather than any rule.
 */
export function standsAlone(
  axes: readonly SweepAxis[],
  points: readonly SweepFigures[],
  { best, metric }: { readonly best: number; readonly metric: SweepMetric },
): boolean {
  const scores = points.map((point) => scoreOf(point, metric))
  const known = scores.filter((score) => score !== undefined)
  const top = scores[best]
  if (known.length < POINTS_MIN || top === undefined) return false
  const middle = medianOf(known)
  const beside = neighboursOf(axes, best).map((index) => scores[index] ?? middle)
  if (top <= middle || beside.length === 0) return false
  return medianOf(beside) - middle < SHARED_MIN * (top - middle)
}

/** Higher is better. */
function scoreOf(point: SweepFigures, metric: SweepMetric): number | undefined {
  const figure = point[metric]
  if (figure === null) return undefined
  return metric === 'drawdownPercent' ? -figure : figure
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = Math.floor((sorted.length - 1) / 2)
  const [low = 0, high = low] = [sorted[at], sorted[Math.ceil((sorted.length - 1) / 2)]]
  return (low + high) / 2
}
