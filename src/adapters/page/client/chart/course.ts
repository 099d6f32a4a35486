import type { HoldingsSeries } from '../../model.ts'

/** One figure over time, as a chart and a table show it. */
export type Course = {
  readonly name: string
  /** Of its values. */
  readonly unit: string
  readonly atSeconds: readonly number[]
  readonly values: readonly (number | null)[]
}

/** The total value and the amount of each token; a figure that was never known is left out. */
export function coursesOf(series: HoldingsSeries): readonly Course[] {
  const { atSeconds, value, valueToken, tokens } = series
  const total = { name: 'Total value', unit: valueToken ?? '', atSeconds, values: value }
  const amounts = tokens.map(({ token, amounts: values }) => ({
    name: token,
    unit: token,
    atSeconds,
    values,
  }))
  return [total, ...amounts].filter(({ values }) => values.some((one) => one !== null))
}

export type Extent = {
  readonly first: number
  readonly last: number
  readonly lowest: number
  readonly highest: number
  readonly fromSeconds: number
  readonly toSeconds: number
}

/** The ends of what is known; undefined where nothing is. */
export function extentOf({ atSeconds, values }: Course): Extent | undefined {
  let extent: Extent | undefined
  values.forEach((value, index) => {
    const seconds = atSeconds[index]
    if (value === null || seconds === undefined) return
    extent = {
      first: extent?.first ?? value,
      last: value,
      lowest: Math.min(extent?.lowest ?? value, value),
      highest: Math.max(extent?.highest ?? value, value),
      fromSeconds: extent?.fromSeconds ?? seconds,
      toSeconds: seconds,
    }
  })
  return extent
}

/** Indexes of at most `most` points, evenly spread, the first and the last among them. */
export function spread(length: number, most: number): readonly number[] {
  if (length <= most) return Array.from({ length }, (_, index) => index)
  const step = (length - 1) / (most - 1)
  return Array.from({ length: most }, (_, index) => Math.round(index * step))
}

/** The next index in a direction at which something is known; the same where there is none. */
export function nextKnown(values: readonly (number | null)[], from: number, step: 1 | -1): number {
  for (let index = from + step; index >= 0 && index < values.length; index += step)
    if (values[index] !== null) return index
  return from
}
