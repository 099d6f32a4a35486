import type { PriceSeries, Rounds } from '../../domain/money/price-series.ts'

/** Rounds kept in memory per series, 64 MiB. A longer series is read again each time. */
const ROUNDS_MAX = 4_000_000

/** Rounds in memory, which threads share. It can be cloned to a thread. */
export type HeldSeries = Omit<PriceSeries, 'rounds'> & { readonly pieces: readonly Rounds[] }

/** A series that is read once and played many times. */
export type CachedSeries = PriceSeries & {
  /** Undefined if it is too long. */
  held(): HeldSeries | undefined
}

export function cachedSeries(series: PriceSeries | CachedSeries): CachedSeries {
  if ('held' in series) return series
  const { pair, decimals, source } = series
  let pieces: readonly Rounds[] | undefined
  let isTooLong = false
  const read = (): readonly Rounds[] | undefined => {
    pieces ??= isTooLong ? undefined : piecesOf(series)
    isTooLong = pieces === undefined
    return pieces
  }
  return {
    ...{ pair, decimals, source },
    rounds: () => read() ?? series.rounds(),
    held() {
      const all = read()
      return all && { pair, decimals, source, pieces: all }
    },
  }
}

export function heldSeries({ pieces, ...series }: HeldSeries): PriceSeries {
  return { ...series, rounds: () => pieces }
}

function piecesOf(series: PriceSeries): readonly Rounds[] | undefined {
  const pieces: Rounds[] = []
  let count = 0
  for (const { atSeconds, answers, rests } of series.rounds()) {
    count += atSeconds.length
    if (count > ROUNDS_MAX) return undefined
    pieces.push({
      atSeconds: shared(atSeconds),
      answers: shared(answers),
      rests: rests && shared(rests),
    })
  }
  return pieces
}

function shared(values: Float64Array): Float64Array {
  const copy = new Float64Array(new SharedArrayBuffer(values.byteLength))
  copy.set(values)
  return copy
}
