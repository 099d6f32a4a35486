import { briefDecimal, grouped } from '../../../domain/text/grouped.ts'

/** Amounts and figures for people. Decimal text never passes through a float, which has fewer digits. */

const MINUS = '\u2212'
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/
/** A number with this many zeros after the point is shown as less than `0.000001`. */
const ZEROS_MAX = 6

/** A number in units of `places` decimal places. */
type Decimal = { readonly units: bigint; readonly places: number }

function parse(text: string): Decimal | undefined {
  const [, sign = '', whole, fraction = ''] = DECIMAL.exec(text) ?? []
  if (whole === undefined) return undefined
  return { units: BigInt(sign + whole + fraction), places: fraction.length }
}

function sizeOf({ units }: Decimal): bigint {
  return units < 0n ? -units : units
}

/** All digits, with the whole part in groups of three. Returns other text unchanged. */
export function fullAmount(text: string): string {
  const decimal = parse(text)
  return decimal === undefined ? text : written(decimal)
}

/** As a terminal shows it: `1,234.56`, `0.00831273`. Only zero is shown as zero; smaller numbers are `<0.000001`. */
export function shortAmount(text: string, significant?: number): string {
  const decimal = parse(text)
  if (decimal === undefined) return text
  if (decimal.units === 0n) return '0'
  const zeros = decimal.places - `${sizeOf(decimal)}`.length
  if (zeros >= ZEROS_MAX) return `<0.${'0'.repeat(ZEROS_MAX - 1)}1`
  return briefDecimal(text, significant).replace('-', MINUS)
}

type Amount = { readonly amount: string; readonly token: string }

export function amountText({ amount, token }: Amount): string {
  return `${shortAmount(amount)} ${token}`
}

export function exactText({ amount, token }: Amount): string {
  return `${fullAmount(amount)} ${token}`
}

const GROUPS = String.raw`\d{1,3}(?:,\d{3})+`
const IN_TEXT = new RegExp(
  String.raw`(?<![\w.,:/-])(?:(?:${GROUPS}|\d+)(?:\.\d+)?(?= (?!UTC\b)[a-z]*[A-Z]{2})|(?:${GROUPS}|\d{4,})\.\d+(?!\w|\.\d))`,
  'g',
)

/** A sentence with its prices, and its amounts before a token's symbol, written as `shortAmount` does. */
export function shortAmountsIn(sentence: string): string {
  return sentence.replace(IN_TEXT, (amount) => shortAmount(amount.replaceAll(',', '')))
}

/** Two decimal places: `1,234.50`. */
export function money(text: string): string {
  const decimal = parse(text)
  if (decimal === undefined) return text
  const shown = cut(decimal, 2)
  return shown.units === 0n && decimal.units !== 0n ? '<0.01' : written(shown, 2)
}

/** A gain or loss with its sign; two significant digits below one. */
export function signedMoney(text: string): string {
  const decimal = parse(text)
  if (decimal === undefined) return text
  if (decimal.units === 0n) return '0.00'
  const size = text.replace('-', '')
  const isBelowOne = sizeOf(decimal) < 10n ** BigInt(decimal.places)
  return (decimal.units < 0n ? MINUS : '+') + (isBelowOne ? shortAmount(size, 2) : roughMoney(size))
}

/** Exact, without floats. */
export function differenceOf(left: string, right: string): string {
  const [a, b] = [parse(left), parse(right)]
  if (a === undefined || b === undefined) return left
  const places = Math.max(a.places, b.places)
  const units = scaled(a, places) - scaled(b, places)
  const [whole, fraction] = partsOf({ units, places })
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

function scaled({ units, places }: Decimal, to: number): bigint {
  return units * 10n ** BigInt(to - places)
}

/** Money at a glance: without cents from a million up. */
export function roughMoney(text: string): string {
  const decimal = parse(text)
  if (decimal === undefined || sizeOf(decimal) < 10n ** BigInt(decimal.places + 6))
    return money(text)
  return written(cut(decimal, 0))
}

export function isNothing(text: string): boolean {
  return parse(text)?.units === 0n
}

/** Toward zero. */
function cut({ units, places }: Decimal, most: number): Decimal {
  if (places <= most) return { units, places }
  return { units: units / 10n ** BigInt(places - most), places: most }
}

/** At least `places` decimal places. */
function written(decimal: Decimal, places = 0): string {
  const [whole, decimals] = partsOf(decimal)
  const fraction = decimals.replace(/0+$/, '').padEnd(places, '0')
  const sign = decimal.units < 0n ? MINUS : ''
  return `${sign}${grouped(whole)}${fraction === '' ? '' : `.${fraction}`}`
}

function partsOf(decimal: Decimal): readonly [whole: string, fraction: string] {
  const digits = `${sizeOf(decimal)}`.padStart(decimal.places + 1, '0')
  const point = digits.length - decimal.places
  return [digits.slice(0, point), digits.slice(point)]
}

/** A count: `1,234`. */
export function count(number: number): string {
  return fullAmount(String(Math.trunc(number)))
}

/** Signed basis points against the feed: `+3.2 bps`, `−12 bps`, `0 bps`. */
export function basisPoints(bps: number): string {
  const size = Math.abs(bps)
  const text = size < 10 ? String(Math.round(size * 10) / 10) : count(Math.round(size))
  if (text === '0') return '0 bps'
  return `${bps < 0 ? MINUS : '+'}${text} bps`
}

/** A share of one as whole percent, with one decimal place below ten: `4.2 %`, `87 %`. A part is never `100 %`. */
export function percent(share: number): string {
  const size = share * 100
  if (size > 0 && size < 0.1) return '<0.1 %'
  const places = size < 10 ? 10 : 1
  const text = Math.round(size * places) / places
  return text >= 100 && size < 100 ? '99 %' : `${text} %`
}

/** A used share is never `0 %`. */
export function shareText({ share, used }: { share: number; used: string }): string {
  return share === 0 && !isNothing(used) ? '<0.1 %' : percent(share)
}

/** Signed change between two numbers in percent; undefined if the first is not positive. */
export function changeText(from: number, to: number): string | undefined {
  return from > 0 ? signedPercent((to / from - 1) * 100) : undefined
}

/** Signed percent, with two decimal places below ten: `+3.21 %`, `−12.3 %`, `0 %`. */
export function signedPercent(percent: number): string {
  const text = plainPercent(percent)
  return percent > 0 && text !== '0 %' ? `+${text}` : text
}

/** Percent, with two decimal places below ten: `3.21 %`, `1,234.5 %`, `0 %`. */
export function plainPercent(percent: number): string {
  const size = Math.abs(percent)
  const text = size.toFixed(size < 10 ? 2 : 1)
  if (Number(text) === 0) return '0 %'
  const [whole = '', fraction = ''] = text.split('.')
  return `${percent < 0 ? MINUS : ''}${fullAmount(whole)}.${fraction} %`
}

/** Digits that a float has for certain; a further one could be a 9 before the cut. */
const FLOAT_DIGITS = 15

export function chartNumber(number: number): string {
  const whole = Math.trunc(Math.abs(number)).toString().length
  return shortAmount(number.toFixed(Math.max(0, Math.min(12, FLOAT_DIGITS - whole))))
}

/** Undefined if no value is known. `from` is the index of the first one. */
export function extentOf(values: readonly (number | null)[]) {
  const known = values.filter((value) => value !== null)
  const [first] = known
  if (first === undefined) return undefined
  return {
    first,
    last: known.at(-1) ?? first,
    lowest: known.reduce((low, value) => Math.min(low, value)),
    highest: known.reduce((high, value) => Math.max(high, value)),
    from: values.indexOf(first),
  }
}
