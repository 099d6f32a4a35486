const PRICE = /^\+?(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,2}))?$/i
const LENGTH_MAX = 100

function decimalOf(text: string) {
  const match = text.length > LENGTH_MAX ? null : PRICE.exec(text)
  if (match === null) return undefined
  const [, whole = '', fraction = '', exponent = '0'] = match
  if (whole === '' && fraction === '') return undefined
  return { digits: whole + fraction, places: fraction.length - Number.parseInt(exponent, 10) }
}

/**
 * A price such as `3000.5` or `1e-7` as an integer with `decimals`, rounded half up. Undefined for text that is not a plain
 * decimal number.
 */
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
