/** A whole number's digits in groups of three, for people: `12,345`. */
export function grouped(whole: string): string {
  return whole.length <= 3 ? whole : whole.replace(/\B(?=(\d{3})+$)/g, ',')
}

const BRIEF_DIGITS = 6

/** Decimal text for people: significant digits, cut and not rounded, so that no line shows more than was moved. */
export function briefDecimal(text: string, significant = BRIEF_DIGITS): string {
  const [whole = '0', fraction = ''] = text.split('.')
  const leading = whole.replace('-', '') === '0' ? fraction.search(/[1-9]|$/) : -whole.length
  const shown = withoutZeros(fraction.slice(0, Math.max(2, leading + significant)))
  return shown === '' ? grouped(whole) : `${grouped(whole)}.${shown}`
}

/** Without the zeros at its end. */
export function withoutZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return digits.slice(0, end)
}
