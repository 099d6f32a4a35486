import { briefDecimal, grouped, withoutZeros } from '../text/grouped.ts'

declare const unit: unique symbol

/** Token amount in base units (the token's smallest unit), never a decimal or a float. */
export type BaseUnits = bigint & { readonly [unit]: 'BaseUnits' }

/** 20-byte address as lower-case 0x text, so that `===` compares addresses. Made by `parseAddress`. */
export type Address = `0x${string}`
/** Arbitrary bytes as lower-case 0x text. */
export type Hex = `0x${string}`

/** No account, or no code. */
export const ZERO_ADDRESS: Address = `0x${'0'.repeat(40)}`

/** Exact non-negative ratio of two integers. Each use names its unit. */
export type Ratio = { readonly num: bigint; readonly den: bigint }

export const PAR: Ratio = { num: 1n, den: 1n }

export const BPS = 10_000n

export function baseUnits(value: bigint): BaseUnits {
  if (value < 0n) throw new RangeError(`base units cannot be negative: ${value}`)
  return value as BaseUnits
}

/** Powers of ten up to the largest that prices need: raising ten again takes longer than the multiplication by it. */
const TENS = Array.from({ length: 80 }, (_, power) => 10n ** BigInt(power))

export function tenTo(power: number): bigint {
  return TENS[power] ?? 10n ** BigInt(power)
}

/** value * num / den, rounded toward zero. `den` must be positive. */
export function mulDivDown(value: bigint, num: bigint, den: bigint): bigint {
  return (value * num) / den
}

/** value * num / den, rounded away from zero for non-negative operands. */
export function mulDivUp(value: bigint, num: bigint, den: bigint): bigint {
  return (value * num + den - 1n) / den
}

export function maxOf(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

export function minOf(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

export function compareRatio(a: Ratio, b: Ratio): -1 | 0 | 1 {
  const left = a.num * b.den
  const right = b.num * a.den
  if (left === right) return 0
  return left < right ? -1 : 1
}

/** A ratio changed by basis points, exact. */
export function scaleBps(ratio: Ratio, bps: number): Ratio {
  return { num: ratio.num * (BPS + BigInt(bps)), den: ratio.den * BPS }
}

/** A ratio in lowest terms as short text; the inverse of `ratioOfText`. */
export function ratioText({ num, den }: Ratio): string {
  let [a, b] = [num, den]
  while (b !== 0n) [a, b] = [b, a % b]
  return `${num / a}/${den / a}`
}

/** Undefined for text that `ratioText` does not produce. */
export function ratioOfText(text: string | undefined): Ratio | undefined {
  const match = /^(\d+)\/([1-9]\d*)$/.exec(text ?? '')
  if (match === null) return undefined
  return { num: BigInt(match[1] ?? 0), den: BigInt(match[2] ?? 1) }
}

const DECIMAL = /^(0|[1-9]\d*)(?:\.(\d+))?$/

/** Exact ratio of a plain decimal such as `4000.5`; undefined for other text (signs, exponents, blanks). */
export function parseRatio(text: string): Ratio | undefined {
  const match = DECIMAL.exec(text)
  if (!match) return undefined
  const fraction = match[2] ?? ''
  return { num: BigInt(`${match[1]}${fraction}`), den: tenTo(fraction.length) }
}

/** Base units of a plain decimal; undefined if it is invalid or has more places than the token. */
export function parseAmount(text: string, decimals: number): BaseUnits | undefined {
  const match = DECIMAL.exec(text)
  if (!match) return undefined
  const fraction = match[2] ?? ''
  if (fraction.length > decimals) return undefined
  return baseUnits(BigInt(`${match[1]}${fraction.padEnd(decimals, '0')}`))
}

/** Shortest exact decimal of an amount, the inverse of `parseAmount`. */
export function formatAmount(amount: bigint, decimals: number): string {
  const sign = amount < 0n ? '-' : ''
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = withoutZeros(digits.slice(digits.length - decimals))
  return sign + (fraction === '' ? whole : `${whole}.${fraction}`)
}

/** For people: six significant digits, cut and not rounded, so that a line never shows more than was moved. */
export function formatBrief(amount: bigint, decimals: number): string {
  return briefDecimal(formatAmount(amount, decimals))
}

/** All digits of decimal text, for people. */
export function exactDecimal(text: string): string {
  const [whole = '0', ...fraction] = text.split('.')
  return [grouped(whole), ...fraction].join('.')
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Lower-case address; undefined if invalid. The config layer checks checksums. */
export function parseAddress(text: string): Address | undefined {
  return ADDRESS.test(text) ? (text.toLowerCase() as Address) : undefined
}
