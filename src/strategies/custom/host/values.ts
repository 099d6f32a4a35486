/**
 * Values between the daemon and a module: JSON in which every list begins with a tag (`int` and digits, `list` and items,
 * `map` and pairs, `other` and a name). So bigints stay exact and no text is ambiguous.
 */
type Encoded = string | number | boolean | null | readonly Encoded[]

/** A valid answer has two levels. */
const DEPTH_MAX = 16
const NODES_MAX = 20_000
const INT = /^-?\d{1,4096}$/

class ValueError extends Error {}

/**
 * Encodes own enumerable fields, each read once. Other types are encoded by name.
 *
 * @throws {ValueError} if too large or too deep, and anything that a getter throws
 */
export function encodeValue(value: unknown): Encoded {
  const budget = { nodes: NODES_MAX }
  const encode = (each: unknown, depth: number): Encoded => {
    budget.nodes -= 1
    if (budget.nodes < 0 || depth > DEPTH_MAX) throw new ValueError('it is too large')
    switch (typeof each) {
      case 'string':
      case 'boolean':
        return each
      case 'number':
        return Number.isFinite(each) ? each : ['other', String(each)]
      case 'bigint':
        return intOf(each)
      case 'object':
        return each === null ? null : encodeObject(each, depth)
      default:
        return ['other', typeof each]
    }
  }
  const encodeObject = (each: object, depth: number): Encoded => {
    if (!Array.isArray(each))
      return [
        'map',
        ...Object.entries(each).map(([name, inner]) => [name, encode(inner, depth + 1)] as const),
      ]
    if (each.length > budget.nodes) throw new ValueError('it is too large')
    return ['list', ...Array.from(each, (inner) => encode(inner, depth + 1))]
  }
  return encode(value, 0)
}

/** Bounded, because printing the digits of a huge number takes too long. */
function intOf(value: bigint): Encoded {
  if (BigInt.asIntN(8_192, value) !== value) throw new ValueError('it holds a number without end')
  return ['int', value.toString()]
}

/**
 * Decodes to plain objects and lists. Other types become symbols, which every reader refuses, except `undefined`.
 *
 * @throws {ValueError} for anything that `encodeValue` does not write
 */
export function decodeValue(encoded: unknown): unknown {
  const budget = { nodes: NODES_MAX }
  const decode = (each: unknown, depth: number): unknown => {
    budget.nodes -= 1
    if (budget.nodes < 0 || depth > DEPTH_MAX) throw new ValueError('it is too large')
    if (Array.isArray(each)) return decodeTagged(each, (inner) => decode(inner, depth + 1))
    if (typeof each === 'object' && each !== null) throw new ValueError('it is no value')
    return each
  }
  return decode(encoded, 0)
}

function decodeTagged(
  [tag, ...rest]: readonly unknown[],
  decode: (inner: unknown) => unknown,
): unknown {
  const [first] = rest
  switch (tag) {
    case 'int':
      if (typeof first !== 'string' || !INT.test(first)) throw new ValueError('it is no number')
      return BigInt(first)
    case 'list':
      return rest.map(decode)
    case 'map':
      // Own fields, including `__proto__`.
      return Object.fromEntries(rest.map((entry) => decodeEntry(entry, decode)))
    case 'other':
      return first === 'undefined' ? undefined : Symbol(String(first))
    default:
      throw new ValueError('it is no value')
  }
}

function decodeEntry(entry: unknown, decode: (inner: unknown) => unknown): [string, unknown] {
  const [name, inner]: unknown[] = Array.isArray(entry) ? entry : []
  if (typeof name !== 'string') throw new ValueError('it is no value')
  return [name, decode(inner)]
}
