import { fullAmount } from '../../page-parts/words/amounts.ts'

const MILLION = 1_000_000
/** A step below this takes more places than there is room for. */
const STEP_SMALLEST = 0.000_01

/** Numbers along an axis, all with as many places as the step between them takes: `2,950`, `1.25M`, `0.005`. */
export function axisTexts(values: readonly number[], step: number, unit = ''): readonly string[] {
  const highest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const after = unit === '%' ? ' %' : ''
  if (step < STEP_SMALLEST) return values.map((value) => value.toExponential(1) + after)
  const [size, suffix] = highest >= MILLION ? [MILLION, 'M'] : [1, '']
  const places = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9))
  return values.map((value) => fixedText(value / size, places) + suffix + after)
}

function fixedText(value: number, places: number): string {
  const text = Math.abs(value).toFixed(Math.min(places, 8))
  const [whole = '', fraction] = text.split('.')
  const sign = value < 0 && Number(text) !== 0 ? '\u2212' : ''
  return sign + fullAmount(whole) + (fraction === undefined ? '' : `.${fraction}`)
}
