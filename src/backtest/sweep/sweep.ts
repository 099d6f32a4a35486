import { instantText } from '../../journal/wording/log-values.ts'
import type { Period } from '../prices/price-board.ts'
import type {
  FoldResult,
  SweepMetric,
  SweepPointResult,
  SweepResult,
  WalkForwardResult,
} from '../report/result.ts'
import { neighboursOf, pointsOf, type SweepAxis, valuesAt } from './axes.ts'

export type SweepJob = Period & Pick<SweepPointResult, 'values'>

type SweepPlan = Period & {
  readonly axes: readonly SweepAxis[]
  readonly metric: SweepMetric
  /** Number of parts of the period for walk-forward, if any. */
  readonly parts: number | undefined
}

/** Runs jobs in parallel; the results keep their order. */
export type PlayAll = (jobs: readonly SweepJob[]) => Promise<readonly SweepFigures[]>

export function jobsOf({ axes, parts = 1 }: SweepPlan): number {
  const points = pointsOf(axes)
  return points * parts + (parts === 1 ? 0 : parts - 1)
}

/** Plays all combinations over the whole period, and over each part but the last. */
export async function sweep(plan: SweepPlan, playAll: PlayAll): Promise<SweepResult> {
  const { axes, metric } = plan
  const points = await playAll(jobsFor(axes, plan))
  const walkForward = await walk(plan, playAll)
  const best = bestOf(points, metric)
  return {
    axes: axes.map(({ key, values }) => ({ key, values })),
    metric,
    points: points.map((figures, point) => ({ values: valuesAt(axes, point), ...figures })),
    best,
    isLonely: best !== null && standsAlone(axes, points, { best, metric }),
    walkForward,
  }
}

function jobsFor(axes: readonly SweepAxis[], { fromSeconds, untilSeconds }: Period) {
  return Array.from({ length: pointsOf(axes) }, (_, point) => {
    return { fromSeconds, untilSeconds, values: valuesAt(axes, point) }
  })
}

/** Searches each part except the last, and tries the best values in the next part. */
async function walk(plan: SweepPlan, playAll: PlayAll): Promise<WalkForwardResult | null> {
  const { axes, metric, parts } = plan
  if (parts === undefined) return null
  const periods = partsOf(plan, parts)
  const folds: FoldResult[] = []
  for (const [index, searched] of periods.slice(0, -1).entries()) {
    const tried = periods[index + 1] ?? searched
    const points = await playAll(jobsFor(axes, searched))
    const best = bestOf(points, metric)
    const values = best === null ? [] : valuesAt(axes, best)
    const again = best === null ? [] : await playAll([{ ...tried, values }])
    folds.push({
      searchFromAt: instantText(searched.fromSeconds),
      searchUntilAt: instantText(searched.untilSeconds),
      tryFromAt: instantText(tried.fromSeconds),
      tryUntilAt: instantText(tried.untilSeconds),
      values,
      searchReturnPercent: best === null ? null : (points[best]?.returnPercent ?? null),
      tryReturnPercent: again[0]?.returnPercent ?? null,
    })
  }
  return { folds, unseenReturnPercent: chained(folds.map((fold) => fold.tryReturnPercent)) }
}

/** Disjoint parts of equal length. */
function partsOf({ fromSeconds, untilSeconds }: Period, parts: number): readonly Period[] {
  const length = untilSeconds - fromSeconds
  const border = (index: number): number => fromSeconds + Math.floor((length * index) / parts)
  return Array.from({ length: parts }, (_, index) => ({
    fromSeconds: border(index),
    untilSeconds: index === parts - 1 ? untilSeconds : border(index + 1) - 1,
  }))
}

function chained(returns: readonly (number | null)[]): number | null {
  let factor = 1
  for (const percent of returns) {
    if (percent === null) return null
    factor *= 1 + percent / 100
  }
  return (factor - 1) * 100
}

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
