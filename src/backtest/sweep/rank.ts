import type { SweepMetric, SweepPointResult } from '../report/result.ts'
import { neighboursOf, type SweepAxis } from './axes.ts'

export type SweepFigures = Omit<SweepPointResult, 'values'>

/** The best point is lonely if its neighbours have less than this share of its lead over the median. */
const SHARED_MIN = 0.5
/** Minimum points to call one lonely. */
const POINTS_MIN = 5

/** Index of the best point, the first of equals; null if none has the figure. */
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

/** True if the neighbours of the best point have less than half of its lead over the median: it is then overfitted. */
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

/** Score of a point; higher is better. */
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
