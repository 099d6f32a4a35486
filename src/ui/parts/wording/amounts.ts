/** Decimal texts as people read them. The digits are never put through a float: an amount has more of them than that holds. */

const MINUS = '\u2212'
const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/
/** Below this many zeros after the point a number is written out; beyond, only that it is smaller. */
const ZEROS_MAX = 6

type Decimal = { readonly negative: boolean; readonly whole: string; readonly fraction: string }

function parse(text: string): Decimal | undefined {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const [, sign, whole = '0', fraction = ''] = match
  return {
    negative: sign === '-',
    whole: whole.replace(/^0+(?=\d)/, ''),
    fraction: fraction.replace(/0+$/, ''),
  }
}

/** All digits, the whole part in groups of three. Text that is no decimal number comes back as it is. */
export function fullAmount(text: string): string {
  const decimal = parse(text)
  return decimal === undefined ? text : written(decimal)
}

/**
 * About `significant` digits, never fewer than the whole part has: `1,234.57`, `0.00831274`. Rounded half up. What is too small to be
 * written so is `<0.000001`, so that no amount but zero reads as zero.
 */
export function shortAmount(text: string, significant = 6): string {
  const decimal = parse(text)
  if (decimal === undefined) return text
  const { whole, fraction } = decimal
  const leading = /^0*/.exec(fraction)?.[0].length ?? 0
  if (whole === '0' && fraction !== '' && leading >= ZEROS_MAX)
    return `<0.${'0'.repeat(ZEROS_MAX - 1)}1`
  const places = whole === '0' ? leading + significant : Math.max(2, significant - whole.length)
  return written(rounded(decimal, places))
}

/** Two places, as money is written: `1,234.50`. */
export function money(text: string): string {
  const decimal = parse(text)
  if (decimal === undefined) return text
  const { fraction, ...rest } = rounded(decimal, 2)
  if (rest.whole === '0' && fraction === '' && !isZero(decimal)) return '<0.01'
  return written({ ...rest, fraction: fraction.padEnd(2, '0') })
}

/** A gain or a loss, with its sign; of less than one with as many places as it takes to tell it from nothing. */
export function signedMoney(text: string): string {
  const decimal = parse(text)
  if (decimal === undefined) return text
  const size = written({ ...decimal, negative: false })
  if (isZero(decimal)) return '0.00'
  const plain = size.replaceAll(',', '')
  return `${decimal.negative ? MINUS : '+'}${decimal.whole === '0' ? shortAmount(plain, 2) : roughMoney(plain)}`
}

/** One decimal text less another, exact. */
export function differenceOf(left: string, right: string): string {
  const [a, b] = [parse(left), parse(right)]
  if (a === undefined || b === undefined) return left
  const places = Math.max(a.fraction.length, b.fraction.length)
  const difference = scaled(a, places) - scaled(b, places)
  const digits = (difference < 0n ? -difference : difference).toString().padStart(places + 1, '0')
  const whole = digits.slice(0, digits.length - places)
  const sign = difference < 0n ? '-' : ''
  return places === 0 ? `${sign}${whole}` : `${sign}${whole}.${digits.slice(-places)}`
}

/** Whole from a million on: what is seen at a glance has no room for cents of that. */
export function roughMoney(text: string): string {
  const decimal = parse(text)
  if (decimal === undefined || decimal.whole.length <= 6) return money(text)
  return written(rounded(decimal, 0))
}

function isZero({ whole, fraction }: Decimal): boolean {
  return whole === '0' && fraction === ''
}

function rounded({ negative, whole, fraction }: Decimal, places: number): Decimal {
  if (fraction.length <= places) return { negative, whole, fraction }
  const kept = BigInt(whole + fraction.slice(0, places))
  const up = (fraction[places] ?? '0') >= '5' ? 1n : 0n
  const digits = (kept + up).toString().padStart(places + 1, '0')
  return {
    negative,
    whole: digits.slice(0, digits.length - places),
    fraction: digits.slice(digits.length - places).replace(/0+$/, ''),
  }
}

function written({ negative, whole, fraction }: Decimal): string {
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  const sign = negative && !(whole === '0' && fraction === '') ? MINUS : ''
  return fraction === '' ? sign + grouped : `${sign}${grouped}.${fraction}`
}

/** A count: `1,234`. */
export function count(number: number): string {
  return fullAmount(String(Math.trunc(number)))
}

/** Basis points against the feed, with their sign: `+3.2 bps`, `−12 bps`, `0 bps`. */
export function basisPoints(bps: number): string {
  const size = Math.abs(bps)
  const text = size < 10 ? String(Math.round(size * 10) / 10) : count(Math.round(size))
  if (text === '0') return '0 bps'
  return `${bps < 0 ? MINUS : '+'}${text} bps`
}

/** A share of one as whole percent, one place below ten: `4.2 %`, `87 %`. What is not quite all is never `100 %`. */
export function percent(share: number): string {
  const size = share * 100
  if (size > 0 && size < 0.1) return '<0.1 %'
  const places = size < 10 ? 10 : 1
  const text = Math.round(size * places) / places
  return text >= 100 && size < 100 ? '99 %' : `${text} %`
}

/** How full a cap is. A share that was rounded to nothing is not told as nothing where something is used. */
export function shareText({ share, used }: { share: number; used: string }): string {
  return share === 0 && compareAmounts(used, '0') > 0 ? '<0.1 %' : percent(share)
}

/** How far one number is from another, in percent with its sign; undefined where there is nothing to compare with. */
export function changeText(from: number, to: number): string | undefined {
  return from > 0 ? signedPercent((to / from - 1) * 100) : undefined
}

/** Percent with their sign, two places below ten: `+3.21 %`, `−12.3 %`, `0 %`. */
export function signedPercent(percent: number): string {
  const text = plainPercent(percent)
  return percent > 0 && text !== '0 %' ? `+${text}` : text
}

/** Percent, two places below ten: `3.21 %`, `1,234.5 %`, `0 %`. */
export function plainPercent(percent: number): string {
  const size = Math.abs(percent)
  const text = size.toFixed(size < 10 ? 2 : 1)
  if (Number(text) === 0) return '0 %'
  const [whole = '', fraction = ''] = text.split('.')
  return `${percent < 0 ? MINUS : ''}${fullAmount(whole)}.${fraction} %`
}

/** A float of a chart, as short as `shortAmount` is. */
export function chartNumber(number: number): string {
  const text = number.toFixed(12)
  return shortAmount(text === '-0.000000000000' ? '0' : text)
}

/** Sizes of two decimal texts, without a float. Texts that are no numbers come last. */
export function compareAmounts(left: string, right: string): number {
  const [a, b] = [parse(left), parse(right)]
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined)
  const places = Math.max(a.fraction.length, b.fraction.length)
  const difference = scaled(a, places) - scaled(b, places)
  if (difference === 0n) return 0
  return difference < 0n ? -1 : 1
}

function scaled({ negative, whole, fraction }: Decimal, places: number): bigint {
  const size = BigInt(whole + fraction.padEnd(places, '0'))
  return negative ? -size : size
}
