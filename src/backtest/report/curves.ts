import { instantText } from '../../journal/wording/log-values.ts'
import type { DrawdownResult } from './result.ts'

/** Values over time, as doubles; undefined if a price is missing. */
export type Curve = readonly (number | undefined)[]

/** The deepest fall below an earlier peak. */
export function drawdownOf(values: Curve, atSeconds: readonly number[]): DrawdownResult {
  let peak = 0
  let peakAt = 0
  let worst = { share: 0, peak: 0, peakAt: 0, at: 0 }
  for (const [index, value] of values.entries()) {
    const at = atSeconds[index] ?? 0
    if (value === undefined) continue
    if (value >= peak) {
      peak = value
      peakAt = at
    } else if (1 - value / peak > worst.share) worst = { share: 1 - value / peak, peak, peakAt, at }
  }
  if (worst.share === 0)
    return { percent: 0, fromAt: null, deepestAt: null, recoveredAt: null, seconds: 0 }
  const back = values.findIndex(
    (value, index) =>
      value !== undefined && value >= worst.peak && (atSeconds[index] ?? 0) > worst.at,
  )
  const endAt = atSeconds[back < 0 ? atSeconds.length - 1 : back] ?? worst.at
  return {
    percent: percent(worst.share),
    fromAt: instantText(worst.peakAt),
    deepestAt: instantText(worst.at),
    recoveredAt: back < 0 ? null : instantText(endAt),
    seconds: endAt - worst.peakAt,
  }
}

/** Percent of each value below its earlier peak. */
export function fallsOf(values: Curve): Curve {
  let peak = 0
  return values.map((value) => {
    if (value === undefined) return undefined
    peak = Math.max(peak, value)
    return peak === 0 ? 0 : percent(1 - value / peak)
  })
}

/** A share as percent, to the hundredth of a basis point. */
export function percent(share: number): number {
  return Math.round(share * 100 * 10_000) / 10_000
}

/** Rounds to ten significant digits. */
export function brief(value: number): number {
  return Number.parseFloat(value.toPrecision(10))
}

/** At most `most` of `count` indexes, evenly spread, including the first and the last. */
export function thinned(count: number, most: number): readonly number[] {
  if (count <= most) return Array.from({ length: count }, (_, index) => index)
  const step = (count - 1) / (most - 1)
  return Array.from({ length: most }, (_, index) => Math.round(index * step))
}

/** Ten significant digits as decimal text. */
export function decimal(value: number): string {
  if (!Number.isFinite(value)) return '0'
  const [digits = '', power = '0'] = value.toExponential(9).split('e')
  const places = Math.max(0, 9 - Number.parseInt(power, 10))
  const text = Number.parseFloat(`${digits}e${power}`).toFixed(Math.min(places, 100))
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}
