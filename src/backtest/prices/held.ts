import type { PriceSeries, Rounds } from '../../domain/money/price-series.ts'

/** Rounds kept in memory per series, 64 MiB. A longer series is read again each time. */
const ROUNDS_MAX = 4_000_000

/** A series that is read once and played many times. */
export function cachedSeries(series: PriceSeries): PriceSeries {
  let held: readonly Rounds[] | undefined
  let isTooLong = false
  return {
    ...series,
    rounds() {
      held ??= isTooLong ? undefined : piecesOf(series)
      isTooLong = held === undefined
      return held ?? series.rounds()
    },
  }
}

function piecesOf(series: PriceSeries): readonly Rounds[] | undefined {
  const pieces: Rounds[] = []
  let count = 0
  for (const piece of series.rounds()) {
    count += piece.atSeconds.length
    if (count > ROUNDS_MAX) return undefined
    pieces.push(piece)
  }
  return pieces
}
