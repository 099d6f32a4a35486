import { isAddress } from 'viem/utils'
import * as z from 'zod'
import { type Address, type Hex, parseAddress } from '../domain/money/units.ts'
import { isTimezone } from '../domain/schedule/timezone.ts'
import { DURATION, durationMs } from '../domain/text/duration.ts'
import { isoMicros } from '../domain/text/iso-time.ts'
import { nearest } from '../domain/text/nearest.ts'

/** The value of a scalar's text, or why it is invalid. Messages never repeat the text: it may be a secret. */
export type Reading<Value> =
  | { readonly ok: true; readonly value: Value }
  | ({ readonly ok: false; readonly message: string } & ReadingHints)

/** Hints for a refused scalar. `offset` and `length` mark the wrong part of the text. */
type ReadingHints = {
  readonly suggestion?: string | undefined
  readonly part?: { readonly offset: number; readonly length: number } | undefined
}

/** Passed from the schemas to `issues.ts` in custom issues. */
export type IssueDetails = ReadingHints & { readonly expected: string }

type JsonType = { readonly [key: string]: unknown }

/**
 * A schema for one scalar, read from its source text. `json` describes the same value for editors, which see numbers and
 * booleans where this schema sees text. If the value is not a scalar, zod's message is `expected`; `issues.ts` words the
 * rest.
 */
export function scalar<Value>(spec: {
  readonly expected: string
  readonly json?: JsonType
  readonly read: (text: string) => Reading<Value>
}) {
  const { expected, json = { type: 'string' }, read } = spec
  return z
    .string({ error: expected })
    .transform((text, context): Value => {
      const reading = read(text)
      if (reading.ok) return reading.value
      const { message, suggestion, part } = reading
      const params: IssueDetails = { expected, suggestion, part }
      context.issues.push({ code: 'custom', input: text, message, params: { ...params } })
      return z.NEVER
    })
    .meta(json)
}

export function meant<Value>(value: Value): Reading<Value> {
  return { ok: true, value }
}

export function refused(message: string, hints: ReadingHints = {}): Reading<never> {
  return { ok: false, message, ...hints }
}

/** A map with exactly these keys. Its expectation lists them, and `issues.ts` picks suggestions from that list. */
export function section<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const keys = Object.keys(shape).join(', ')
  return z.strictObject(shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? keys : `a map with the keys ${keys}`),
  })
}

export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: `one of: ${words.join(', ')}` })
}

export function listOf<Item extends z.ZodType>(item: Item, expected: string) {
  return z.array(item, { error: expected }).min(1, { error: expected })
}

export function textLike(
  pattern: RegExp,
  expected: string,
  json: JsonType = { type: 'string', pattern: pattern.source },
) {
  return scalar({
    expected,
    json,
    read: (text) => (pattern.test(text) ? meant(text) : refused('this is not well formed')),
  })
}

export function filePath() {
  return textLike(/^[^\0\r\n]+$/, 'a path; a relative one starts at the directory of this file')
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/
const NAME_EXPECTED = 'up to 32 letters, digits, `.`, `_` or `-`'

/** Key that defines a wallet, chain or token; also a metric label. */
export const nameKey = z.string().regex(NAME, NAME_EXPECTED)

/** A reference to such a name; `what` is the expectation. */
export function nameOf(what: string) {
  return textLike(NAME, what)
}

/** A whole number within inclusive bounds. */
export function integer(bounds: { min: number; max: number }) {
  const { min, max } = bounds
  return scalar({
    expected: `a whole number from ${min} to ${max}`,
    json: { type: 'integer', minimum: min, maximum: max },
    read: (text) => {
      if (!/^(0|[1-9]\d{0,14})$/.test(text)) return refused('this is not a whole number')
      const value = Number(text)
      return value < min || value > max ? refused('this number is out of range') : meant(value)
    },
  })
}

export const flag = scalar({
  expected: 'true or false',
  json: { type: 'boolean' },
  read: (text) => {
    if (text === 'true' || text === 'false') return meant(text === 'true')
    const suggestion = FLAG_WORDS.get(text.toLowerCase())
    return refused('this is neither true nor false', { suggestion })
  },
})

/** Booleans of other YAML dialects. */
const FLAG_WORDS: ReadonlyMap<string, string> = new Map([
  ...['true', 'yes', 'y', 'on', '1'].map((word) => [word, 'true'] as const),
  ...['false', 'no', 'n', 'off', '0'].map((word) => [word, 'false'] as const),
])

/** Milliseconds of `500ms`, `30s`, `10m`, `6h` or `1d`. The bounds are inclusive and use the same form. */
export function duration(bounds: { min: string; max: string }) {
  const min = durationMs(bounds.min) ?? 0
  const max = durationMs(bounds.max) ?? Number.MAX_SAFE_INTEGER
  return scalar({
    expected: `a duration such as 30s, 10m or 6h, from ${bounds.min} to ${bounds.max}`,
    json: { type: 'string', pattern: DURATION.source },
    read: (text) => {
      const value = durationMs(text)
      if (value === undefined) return refused('this is not a duration')
      return value < min || value > max ? refused('this duration is out of range') : meant(value)
    },
  })
}

export const PAIR = /^[A-Za-z0-9._-]{1,32}\/[A-Za-z0-9._-]{1,32}$/
export const PAIR_FORM = 'BASE/QUOTE, such as WETH/USDC'
export const pairText = textLike(PAIR, PAIR_FORM)

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:\d{2})$/

/** Epoch seconds of an ISO 8601 time with a zone. */
export const instant = scalar<number>({
  expected: 'a time with its zone, such as 2027-01-31T09:00:00Z',
  json: { type: 'string', format: 'date-time' },
  read: (text) => {
    const micros = INSTANT.test(text) ? isoMicros(text) : undefined
    return micros === undefined ? refused('this is not a time') : meant(micros / 1_000_000)
  },
})

export const address = scalar<Address>({
  expected: '0x and 40 hex digits, all lower-case or with a correct checksum',
  json: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
  read: (text) => {
    const value = parseAddress(text)
    if (value === undefined) return refused('this is not an address')
    if (/^0x0{40}$/.test(value)) return refused('this is the zero address')
    return isAddress(text, { strict: true })
      ? meant(value)
      : refused('the checksum of this address is wrong: a digit may be mistyped')
  },
})

export const addressKey = z.string().regex(/^0x[0-9a-fA-F]{40}$/, '0x and 40 hex digits')

/** keccak256 of a contract's code, in lower case. */
export const codeHash = scalar<Hex>({
  expected: '0x and 64 hex digits: the keccak256 of the code, as the log names it when first seen',
  json: { type: 'string', pattern: '^0x[0-9a-fA-F]{64}$' },
  read: (text) =>
    /^0x[0-9a-f]{64}$/i.test(text)
      ? meant(text.toLowerCase() as Hex)
      : refused('this is not a hash'),
})

export const webAddress = scalar({
  expected: 'an http:// or https:// address',
  read: (text) => (toHttpUrl(text) ? meant(text) : refused('this is not a web address')),
})

/** Base URL of a REST service, without a trailing slash; paths are appended to it. */
export const serviceAddress = scalar({
  expected: 'an http:// or https:// address without query, fragment and /api/v1, which is appended',
  read: (text) => {
    const url = toHttpUrl(text)
    if (url === undefined) return refused('this is not a web address')
    if (url.search !== '' || url.hash !== '') return refused('this has a query or a fragment')
    const base = text.replace(/\/+$/, '')
    return base.endsWith('/api/v1') ? refused('this ends in /api/v1 already') : meant(base)
  },
})

function toHttpUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined
}

/** The form that BotFather issues. */
const BOT_TOKEN = /^\d{1,20}:[\w-]{8,100}$/

export const botToken = scalar({
  expected: 'the token of a bot, as BotFather gives it, from a variable',
  read: (text) => (BOT_TOKEN.test(text) ? meant(text) : refused('this is not a bot token')),
})

/** Telegram guarantees chat numbers only up to this. */
const CHAT_MAX = 2 ** 52

/** Number of a private chat, which equals its user's number. */
export const privateChat = scalar<number>({
  expected: 'the number of a user of Telegram: the number of the private chat with it',
  json: { type: 'integer', minimum: 1, maximum: CHAT_MAX },
  read: (text) => {
    if (/^-\d+$/.test(text))
      return refused('this is a group or a channel, where others can write as well')
    if (!/^[1-9]\d{0,15}$/.test(text)) return refused('this is not a chat id')
    return Number(text) > CHAT_MAX ? refused('this number is out of range') : meant(Number(text))
  },
})

export const timezone = scalar({
  expected: 'an IANA time zone such as Europe/Berlin or UTC',
  read: (text) =>
    isTimezone(text)
      ? meant(text)
      : refused('no such time zone is known', { suggestion: nearestTimezone(text) }),
})

/** Finds a city without its continent first, the most common mistake. */
function nearestTimezone(text: string): string | undefined {
  const zones = Intl.supportedValuesOf('timeZone')
  const city = `/${text.toLowerCase().replaceAll(' ', '_')}`
  return zones.find((zone) => zone.toLowerCase().endsWith(city)) ?? nearest(text, [...zones, 'UTC'])
}
