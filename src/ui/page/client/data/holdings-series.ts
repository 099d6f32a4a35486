import type { HoldingsSeries, Overview } from '../../model.ts'

const APART_SECONDS = 10
/** Two hours of them. */
const POINTS_MAX = 720

type Point = {
  readonly atSeconds: number
  readonly value: number | null
  readonly amounts: ReadonlyMap<string, number | null>
}

/**
 * What was held since the page was opened, a point in ten seconds. The daemon notes one in ten minutes, so that without these a line
 * would end some minutes ago, and in the first ten there would be none.
 */
export class ValueTail {
  #points: readonly Point[] = []

  /** Changes whenever there is another point. */
  get points(): readonly Point[] {
    return this.#points
  }

  clear(): void {
    this.#points = []
  }

  add({ atMs, totalValue, holdings }: Overview): void {
    const atSeconds = Math.floor(atMs / 1_000)
    const last = this.#points.at(-1)
    if (last !== undefined && atSeconds < last.atSeconds + APART_SECONDS) return
    if (holdings.length === 0) return
    const amounts = new Map(holdings.map(({ token, amount }) => [token, figureOf(amount)]))
    const point = { atSeconds, value: figureOf(totalValue), amounts }
    this.#points = [...this.#points.slice(1 - POINTS_MAX), point]
  }
}

/** A curve with what was seen after its end. */
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
