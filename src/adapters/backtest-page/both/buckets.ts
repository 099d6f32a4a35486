import type { Points } from './charts.ts'

/** Counts of several reasons over time, as bars that stand side by side. */
export type Buckets = {
  readonly fromSeconds: number
  readonly stepSeconds: number
  /** By bar, what each line adds to it. */
  readonly sums: readonly (readonly number[])[]
}

export type BucketInput = {
  readonly at: readonly number[]
  readonly lines: readonly Points[]
  /** What is seen: from, until and how many bars there is room for. */
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly most: number
}

/** Each point counts in the bar that its time lies in; those outside of what is seen count in none. */
export function bucketsOf(input: BucketInput): Buckets {
  const { at, lines, fromSeconds, untilSeconds, most } = input
  const bars = Math.max(1, Math.floor(most))
  const stepSeconds = Math.max(1, (untilSeconds - fromSeconds) / bars)
  const sums = Array.from({ length: bars }, () => lines.map(() => 0))
  at.forEach((seconds, index) => {
    if (seconds < fromSeconds || seconds > untilSeconds) return
    const bar = sums[Math.min(bars - 1, Math.floor((seconds - fromSeconds) / stepSeconds))]
    if (bar === undefined) return
    lines.forEach((points, line) => {
      bar[line] = (bar[line] ?? 0) + (points[index] ?? 0)
    })
  })
  return { fromSeconds, stepSeconds, sums }
}

/** The highest bar. */
export function highestOf({ sums }: Buckets): number {
  return sums.reduce((highest, bar) => Math.max(highest, sumOf(bar)), 0)
}

function sumOf(bar: readonly number[]): number {
  return bar.reduce((sum, part) => sum + part, 0)
}

/** The bar at a moment. */
export function barAt({ fromSeconds, stepSeconds, sums }: Buckets, seconds: number) {
  const place = Math.floor((seconds - fromSeconds) / stepSeconds)
  return sums[Math.max(0, Math.min(sums.length - 1, place))]
}
