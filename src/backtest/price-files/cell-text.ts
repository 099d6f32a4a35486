import { isIsoForm, isoMicros } from '../../domain/text/iso-time.ts'

/** The form of a file's times, one for the whole file. */
export type TimeForm = (typeof UNITS)[number]['form'] | 'iso'

/** Description for errors. */
export const TIME_FORMS =
  'epoch seconds, milliseconds or microseconds, or ISO 8601 such as 2025-01-31T12:00:00Z'

const DIGITS = /^(\d{9,16})(?:\.(\d+))?$/

/** The size of a number gives its unit: from 1973 to the year 5138 no two units overlap. */
const EPOCH_FROM = 1e8
const UNITS = [
  { form: 'seconds', below: 1e11, micros: 1_000_000 },
  { form: 'milliseconds', below: 1e14, micros: 1_000 },
  { form: 'microseconds', below: 1e17, micros: 1 },
] as const

export function timeFormOf(text: string): TimeForm | undefined {
  const digits = DIGITS.exec(text)?.[1]
  if (digits === undefined) return isIsoForm(text) ? 'iso' : undefined
  const value = Number.parseInt(digits, 10)
  return value < EPOCH_FROM ? undefined : UNITS.find(({ below }) => value < below)?.form
}

/** Epoch microseconds, exact. Undefined for text in another form and for days that do not exist. */
export function microsOf(text: string, form: TimeForm): number | undefined {
  if (form === 'iso') return isoMicros(text)
  if (timeFormOf(text) !== form) return undefined
  const [whole = '', fraction = ''] = text.split('.')
  const micros = UNITS.find((unit) => unit.form === form)?.micros ?? 1
  const places = String(micros).length - 1
  return Number(whole) * micros + Number(fraction.slice(0, places).padEnd(places, '0'))
}

const PRICE = /^\+?(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,2}))?$/i
const LENGTH_MAX = 100

function decimalOf(text: string) {
  const match = text.length > LENGTH_MAX ? null : PRICE.exec(text)
  if (match === null) return undefined
  const [, whole = '', fraction = '', exponent = '0'] = match
  if (whole === '' && fraction === '') return undefined
  return { digits: whole + fraction, places: fraction.length - Number.parseInt(exponent, 10) }
}

/** A price such as `3000.5` or `1e-7` as an integer with `decimals`, rounded half up; undefined for other text. */
export function answerOf(text: string, decimals: number): bigint | undefined {
  const decimal = decimalOf(text)
  if (decimal === undefined) return undefined
  const { digits, places } = decimal
  if (places <= decimals) return BigInt(digits + '0'.repeat(decimals - places))
  const unit = 10n ** BigInt(places - decimals)
  return (BigInt(digits) + unit / 2n) / unit
}

/** Decimal places without trailing zeros; 0 for text that is not a price. */
export function placesOf(text: string): number {
  const decimal = decimalOf(text)
  if (decimal === undefined) return 0
  const { digits, places } = decimal
  const zeros = digits.length - digits.replace(/0+$/, '').length
  return zeros === digits.length ? 0 : Math.max(0, places - zeros)
}
