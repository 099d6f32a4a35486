import { parseAmount, parseRatio } from '../domain/money/units.ts'
import { integer, meant, type Reading, refused, scalar } from './scalars.ts'

/** Hundredths of a percent, as a whole number within inclusive bounds. */
export function basisPoints(bounds: { min: number; max: number }) {
  const { min, max } = bounds
  const whole = integer(bounds)
  return scalar({
    expected: `basis points, a whole number from ${min} to ${max}: 50 is 0.5%`,
    json: { type: 'integer', minimum: min, maximum: max },
    read: (text) => {
      const read = whole.safeParse(text)
      if (read.success) return meant(read.data)
      const points = pointsMeant(text)
      const suggestion = points >= min && points <= max ? `${points}` : undefined
      return refused(read.error.issues[0]?.message ?? 'this is not a number', { suggestion })
    },
  })
}

/** Basis points that were written as `30bps`, or as a percentage with or without its sign. */
function pointsMeant(text: string): number {
  const points = /^(\d{1,4}) ?bps$/i.exec(text)?.[1]
  const percent = /^(\d{1,3}\.\d{1,2}|\d{1,3}(?:\.\d{1,2})?(?=%))%?$/.exec(text)?.[1] ?? '0'
  return Number(points ?? Math.round(Number(percent) * 100))
}

/** Basis points of a percentage with at most two decimal places, such as `5%` or `0.25%`. */
export function percent(bounds: { minBps: number; maxBps: number }) {
  const { minBps, maxBps } = bounds
  return scalar({
    expected: `a percentage from ${minBps / 100}% to ${maxBps / 100}%`,
    json: { type: 'string', pattern: '^\\d+(\\.\\d{1,2})?%$' },
    read: (text) => {
      const bps = bpsIn(text, 7)
      if (bps === undefined) return refused('this is not a percentage')
      return bps < minBps || bps > maxBps ? refused('this percentage is out of range') : meant(bps)
    },
  })
}

/** Basis points of a percentage with at most `digitsMax` digits before the decimal point; undefined for other text. */
function bpsIn(text: string, digitsMax: number): number | undefined {
  const [, whole, places = ''] = /^(\d+)(?:\.(\d{1,2}))?%$/.exec(text) ?? []
  if (whole === undefined || whole.length > digitsMax) return undefined
  return Number(`${whole}${places.padEnd(2, '0')}`)
}

/** A fee per gas in wei, from text such as `20 gwei`. The unit is required, because fees are also written in ether. */
export const gasPrice = scalar({
  expected: 'a fee with its unit, such as 20 gwei',
  json: { type: 'string', pattern: '^\\d+(\\.\\d{1,9})? gwei$' },
  read: (text) => {
    const amount = /^(\S+) gwei$/.exec(text)?.[1]
    const wei = amount === undefined ? undefined : parseAmount(amount, 9)
    return wei === undefined || wei === 0n ? refused('this is not a fee') : meant<bigint>(wei)
  },
})

/** Longer decimals are refused, which bounds the integers made from them. */
const DECIMAL_LENGTH_MAX = 80

/** Fault of a text that is not a positive decimal; undefined for a valid one. */
function decimalFault(text: string, message: string): Reading<never> | undefined {
  const ratio = text.length <= DECIMAL_LENGTH_MAX ? parseRatio(text) : undefined
  if (ratio === undefined) return refused(message)
  return ratio.num === 0n ? refused('this is zero') : undefined
}

/** A positive decimal, kept as text: its decimal places depend on a token that the schema does not know. */
export const positiveDecimal = scalar({
  expected: 'a positive decimal such as "25" or "0.5", without sign, exponent or separators',
  json: { type: ['string', 'number'], exclusiveMinimum: 0 },
  read: (text) => decimalFault(text, 'this is not a plain decimal') ?? meant(text),
})

/** A positive decimal, kept as text, or a percentage up to `maxBps`. Values are tagged `plain` or `percent`, as named. */
function decimalOrPercent<Plain extends string, Percent extends string>(spec: {
  readonly plain: Plain
  readonly percent: Percent
  readonly expected: string
  readonly digitsMax: number
  readonly maxBps: number
  readonly outOfRange: string
}) {
  const { plain, percent, expected, digitsMax, maxBps, outOfRange } = spec
  return scalar<
    | { readonly type: Plain; readonly text: string }
    | { readonly type: Percent; readonly bps: number }
  >({
    expected,
    json: { type: ['string', 'number'] },
    read: (text) => {
      const bps = bpsIn(text, digitsMax)
      if (bps === undefined)
        return decimalFault(text, `this is not a valid ${plain}`) ?? meant({ type: plain, text })
      return bps >= 1 && bps <= maxBps ? meant({ type: percent, bps }) : refused(outOfRange)
    },
  })
}

/** An amount as decimal text, or a share of the balance. */
export const amountOrShare = decimalOrPercent({
  plain: 'amount',
  percent: 'share',
  expected: 'a positive decimal such as "0.5", or a percentage up to 100% such as 50%',
  digitsMax: 3,
  maxBps: 10_000,
  outOfRange: 'this share is out of range',
})

/** A price as decimal text, or a distance from another price in percent. */
export function priceOrPercent({ maxBps }: { maxBps: number }) {
  return decimalOrPercent({
    plain: 'price',
    percent: 'percent',
    expected: `a price such as "3500", or a percentage up to ${maxBps / 100}% such as 10%`,
    digitsMax: 5,
    maxBps,
    outOfRange: 'this percentage is out of range',
  })
}

function readEther(text: string): Reading<bigint> {
  const wei = text.length <= DECIMAL_LENGTH_MAX ? parseAmount(text, 18) : undefined
  return wei === undefined ? refused('this is not a plain amount of ether') : meant(wei)
}

/** Ether as decimal text, read as wei. */
export const ether = scalar({
  expected: 'a positive amount of ether with at most 18 decimal places, such as "0.05"',
  json: { type: ['string', 'number'], exclusiveMinimum: 0 },
  read(text) {
    const wei = readEther(text)
    return wei.ok && wei.value === 0n ? refused('this is zero') : wei
  },
})

/** Like `ether`, but zero is valid. */
export const etherOrNone = scalar({
  expected: 'an amount of ether with at most 18 decimal places, such as "0.05" or "0"',
  json: { type: ['string', 'number'], minimum: 0 },
  read: readEther,
})
