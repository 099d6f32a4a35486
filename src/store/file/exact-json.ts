import { printableJson } from '../../domain/text/outside-text.ts'

const BIGINT_TEXT = /^-?\d+n$/
/** Strings that would be parsed as a bigint, and strings that are already escaped. */
const NEEDS_ESCAPE = /^\\*-?\d+n$/
/** Fast path: strings without characters that JSON escapes or that control a terminal. */
const PLAIN = /^[ !#-[\]-~]*$/

/**
 * JSON text that preserves bigints: `123n` becomes the string "123n", and strings that look like this get a leading
 * backslash. Undefined fields are omitted. Throws TypeError for values that JSON would alter silently: maps, sets, dates,
 * class instances, functions, NaN, infinities, holes and undefined in arrays.
 */
export function exactStringify(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return quoted(endsLikeBigint(value) && NEEDS_ESCAPE.test(value) ? `\\${value}` : value)
    case 'bigint':
      return `"${value}n"`
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`JSON has no ${value}`)
      return `${value}`
    case 'boolean':
      return `${value}`
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value) ? listText(value) : objectText(value)
    default:
      throw new TypeError(`JSON has no ${typeof value}`)
  }
}

/** Inverse of `exactStringify`. Throws SyntaxError for invalid JSON. */
export function exactParse(text: string): unknown {
  return fromPlain(JSON.parse(text))
}

function listText(list: readonly unknown[]): string {
  let text = ''
  // By index, so that holes are visited and refused too.
  for (let at = 0; at < list.length; at += 1) {
    if (at > 0) text += ','
    text += exactStringify(list[at])
  }
  return `[${text}]`
}

function objectText(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null)
    throw new TypeError(`JSON would lose what a ${value.constructor.name} is`)
  const record = value as Record<string, unknown>
  let text = ''
  for (const key of Object.keys(record)) {
    const field = record[key]
    if (field === undefined) continue
    if (text !== '') text += ','
    text += `${quoted(key)}:${exactStringify(field)}`
  }
  return `{${text}}`
}

/** Printable, because a custom module's memory may be any text. */
function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : printableJson(text)
}

/** Works in place, in half the time of a reviver. All keys are own properties, so assigning `__proto__` is safe. */
function fromPlain(value: unknown): unknown {
  if (typeof value === 'string') return fromText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) value[at] = fromPlain(value[at])
    return value
  }
  const record = value as Record<string, unknown>
  for (const key of Object.keys(record)) record[key] = fromPlain(record[key])
  return record
}

function fromText(text: string): string | bigint {
  if (!endsLikeBigint(text)) return text
  if (BIGINT_TEXT.test(text)) return BigInt(text.slice(0, -1))
  return NEEDS_ESCAPE.test(text) ? text.slice(1) : text
}

/** Checks one character before the slower regular expression. */
function endsLikeBigint(text: string): boolean {
  return text.length > 1 && text.charCodeAt(text.length - 1) === 0x6e
}
