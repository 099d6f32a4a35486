import type { HoldingsSeries, Overview } from '../../model.ts'

/** One figure over time. */
export type Course = {
  readonly name: string
  readonly unit: string
  readonly atSeconds: readonly number[]
  readonly values: readonly (number | null)[]
}

export function coursesOf(series: HoldingsSeries): readonly Course[] {
  const { atSeconds, value, valueToken, tokens } = series
  const total = { name: 'Total value', unit: valueToken ?? '', atSeconds, values: value }
  const held = tokens.map(({ token: name, amounts: values }) => {
    return { name, unit: name, atSeconds, values }
  })
  return [total, ...held].filter(({ values }) => values.some((one) => one !== null))
}

/** Indexes of at most `most` evenly spread points, including the first and the last. */
export function spread(length: number, most: number): readonly number[] {
  if (length <= most) return Array.from({ length }, (_, index) => index)
  const step = (length - 1) / (most - 1)
  return Array.from({ length: most }, (_, index) => Math.round(index * step))
}

/** The next index in a direction with a known value; `from` if there is none. */
export function nextKnown(values: readonly (number | null)[], from: number, step: 1 | -1): number {
  for (let index = from + step; index >= 0 && index < values.length; index += step)
    if (values[index] !== null) return index
  return from
}

const APART_SECONDS = 10
/** Two hours. */
const POINTS_MAX = 720

type Point = {
  readonly atSeconds: number
  readonly value: number | null
  readonly amounts: ReadonlyMap<string, number | null>
}

/** Readings since the page was opened: the newest, and before it one every ten seconds. The daemon's own are ten minutes apart. */
export class ValueTail {
  /** Replaced whenever a point is added. */
  points: readonly Point[] = []

  clear(): void {
    this.points = []
  }

  add({ readAtMs, totalValue, holdings }: Overview): void {
    if (readAtMs === null) return
    const atSeconds = Math.floor(readAtMs / 1_000)
    const [last, before] = [this.points.at(-1), this.points.at(-2)]
    if (last !== undefined && atSeconds <= last.atSeconds) return
    const isSoon = before !== undefined && atSeconds <= before.atSeconds + APART_SECONDS
    const kept = isSoon ? this.points.slice(0, -1) : this.points.slice(1 - POINTS_MAX)
    const amounts = new Map(holdings.map(({ token, amount }) => [token, figureOf(amount)]))
    const point = { atSeconds, value: figureOf(totalValue), amounts }
    this.points = [...kept, point]
  }
}

export function withTail(series: HoldingsSeries, points: readonly Point[]): HoldingsSeries {
  const end = series.atSeconds.at(-1) ?? Number.NEGATIVE_INFINITY
  const after = points.filter(({ atSeconds }) => atSeconds > end)
  if (after.length === 0) return series
  const known = new Map(series.tokens.map(({ token, amounts }) => [token, amounts]))
  const tokens = new Set([...known.keys(), ...after.flatMap(({ amounts }) => [...amounts.keys()])])
  const unknown = series.atSeconds.map(() => null)
  return {
    valueToken: series.valueToken,
    atSeconds: [...series.atSeconds, ...after.map(({ atSeconds }) => atSeconds)],
    value: [...series.value, ...after.map(({ value }) => value)],
    tokens: [...tokens].map((token) => ({
      token,
      amounts: [
        ...(known.get(token) ?? unknown),
        ...after.map(({ amounts }) => amounts.get(token) ?? null),
      ],
    })),
  }
}

function figureOf(amount: string | null): number | null {
  return amount === null ? null : Number(amount)
}
