import { formatAmount, parseAmount } from '../../domain/money/units.ts'

/** A field of a strategy's file and its values to try. */
export type SweepAxis = {
  /** The field as typed: `band`, `weekly-eth.limits.perDay`. */
  readonly key: string
  readonly strategy: string
  /** Keys of maps, and indices of lists. */
  readonly path: readonly (string | number)[]
  readonly values: readonly string[]
}

type AxisFault = { readonly message: string; readonly expected: string }

const VALUES_MAX = 1_000
export const POINTS_MAX = 20_000

const GIVEN = /^([^=\s]+)=(.+)$/
const KEY = /^[A-Za-z][\w-]*(?:\.[A-Za-z0-9][\w-]*|\[\d+\])*$/
const RANGE = /^(.+?)\.\.(.+?):(.+)$/
const QUANTITY = /^(\d+(?:\.\d+)?)([a-z%]*)$/i
const EXPECTED = 'a field and its values: band=1%..10%:1%, or amount=10,25,50'

/** Reads `band=1%..10%:1%` or `weekly-eth.amount=10,25,50`. The strategy may be omitted if it is the only one. */
export function parseAxis(text: string, strategies: readonly string[]): SweepAxis | AxisFault {
  const [, key = '', list = ''] = GIVEN.exec(text) ?? []
  if (!KEY.test(key)) return { message: `\`${text}\` is no field with values`, expected: EXPECTED }
  const values = valuesOf(list)
  if (!Array.isArray(values)) return values as AxisFault
  const [first = '', ...rest] = key.split(/[.[]/).map((part) => part.replace(/\]$/, ''))
  const isNamed = strategies.includes(first) && rest.length > 0
  const [only, ...others] = strategies
  const strategy = isNamed ? first : only
  if (strategy === undefined || (!isNamed && others.length > 0))
    return {
      message: `\`${key}\` may be a field of any strategy that is played`,
      expected: `its strategy before it, such as ${only ?? 'weekly-eth'}.${key}`,
    }
  const path = (isNamed ? rest : [first, ...rest]).map((part) =>
    /^\d+$/.test(part) ? Number.parseInt(part, 10) : part,
  )
  return { key, strategy, path, values }
}

function valuesOf(text: string): readonly string[] | AxisFault {
  const range = RANGE.exec(text)
  const values = range === null ? text.split(',') : rangeOf(range.slice(1))
  if (!Array.isArray(values)) return values as AxisFault
  if (values.some((value) => value === ''))
    return { message: `\`${text}\` holds an empty value`, expected: EXPECTED }
  const twice = values.find((value, index) => values.indexOf(value) !== index)
  if (twice !== undefined)
    return { message: `${twice} is given twice`, expected: 'each value once' }
  return values
}

/** Values from the first to the last, inclusive and exact, in the common unit. */
function rangeOf(parts: readonly string[]): readonly string[] | AxisFault {
  const [from, to, step] = parts.map((part) => QUANTITY.exec(part))
  const fault = (message: string): AxisFault => ({ message, expected: EXPECTED })
  const text = `${parts[0]}..${parts[1]}:${parts[2]}`
  if (!(from && to && step)) return fault(`\`${text}\` is no range of numbers`)
  const unit = from[2] ?? ''
  if (to[2] !== unit || step[2] !== unit)
    return fault(`begin, end and step of \`${text}\` have different units`)
  const numbers = [from, to, step].map((each) => each[1] ?? '')
  const places = Math.max(...numbers.map((each) => (each.split('.')[1] ?? '').length))
  const [first = 0n, last = 0n, by = 0n] = numbers.map((each): bigint | undefined =>
    parseAmount(each, places),
  )
  if (by <= 0n || last < first) return fault(`\`${text}\` has no values`)
  if ((last - first) / by >= BigInt(VALUES_MAX))
    return fault(`\`${text}\` has more than ${VALUES_MAX} values`)
  const values: string[] = []
  for (let value = first; value <= last; value += by)
    values.push(`${formatAmount(value, places)}${unit}`)
  return values
}

type Axes = readonly Pick<SweepAxis, 'values'>[]

/** Number of combinations. */
export function pointsOf(axes: Axes): number {
  return axes.reduce((product, { values }) => product * values.length, 1)
}

/** One value of each axis; the last axis varies fastest. */
export function valuesAt(axes: Axes, point: number): readonly string[] {
  let rest = point
  const values: string[] = []
  for (const { values: all } of axes.toReversed()) {
    values.unshift(all[rest % all.length] ?? '')
    rest = Math.floor(rest / all.length)
  }
  return values
}

/** Points that differ by one step in one axis. */
export function neighboursOf(axes: Axes, point: number): readonly number[] {
  const found: number[] = []
  let stride = 1
  for (const { values } of axes.toReversed()) {
    const at = Math.floor(point / stride) % values.length
    if (at > 0) found.push(point - stride)
    if (at + 1 < values.length) found.push(point + stride)
    stride *= values.length
  }
  return found
}
