import { instantText } from '../../journal/wording/log-values.ts'
import type { Period } from '../prices/coverage.ts'
import type {
  FoldResult,
  SweepMetric,
  SweepPointResult,
  SweepResult,
  WalkForwardResult,
} from '../report/result.ts'
import { pointsOf, type SweepAxis, valuesAt } from './axes.ts'
import { bestOf, type SweepFigures, standsAlone } from './rank.ts'

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

function jobsFor(
  axes: readonly SweepAxis[],
  { fromSeconds, untilSeconds }: Period,
): readonly SweepJob[] {
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
