import { printable } from '../domain/text/outside-text.ts'
import { createKeyMarks } from './key-marks.ts'

export type Scrubber = {
  /** Registers the 32 bytes of a private key, and keeps neither them nor their text. Hidden like secrets of `add`. */
  addKey(key: Uint8Array): void
  /**
   * Registers a private key, password or URL. From then on every likely spelling is hidden: either case, with or without 0x,
   * percent-encoded, JSON-escaped, as hex, base64 or decimal, and parts of a URL that may hold a token. Text below 8
   * characters is not registered, because hiding it would remove ordinary words.
   */
  add(secret: string): void
  /** The text without registered secrets, signatures, raw transactions and URL tokens. */
  text(text: string): string
  /**
   * A plain, JSON-safe copy without secrets at any depth, including errors with causes, maps, sets and keys. Bytes become
   * their length, functions are dropped, cycles and excess depth are marked.
   */
  value(value: unknown): unknown
}

const MASK = '***'
const SECRET_LENGTH_MIN = 8
/** The suffix of cut text, and the minimum length of a secret's beginning that is hidden before it. */
const CUT = '...'
const SECRET_CUT_MIN = 4
const TEXT_LENGTH_MAX = 4_096
/** Read before the cut, so that a secret across the cut is seen whole. */
const TEXT_READ_MAX = 65_536
const DEPTH_MAX = 8
const NODES_MAX = 2_000
const ENTRIES_MAX = 100

/** 65-byte signatures and longer: raw transactions, calldata. Hashes and digests have 64 digits. */
const LONG_HEX = /(?:0x)?[0-9a-f]{128,}/gi
const LONG_HEX_DIGITS = 128
const KEY_DIGITS = 64
const WEB_ADDRESS = /\b(?!file:)[a-z][a-z0-9+.-]*:\/\/[^\s"'<>`),\]}]+/gi
const PLAIN_SEGMENT = /^(?:[a-z][a-z.-]{0,15}|v\d{1,3})$/
const HEX_TEXT = /^(?:0x)?(?:[0-9a-f]{2})+$/i
const KEY_TEXT = /^\s*(?:0x)?[0-9a-f]{64}\s*$/i

const SECRET_FIELD =
  /(?:private_?key|password|passphrase|mnemonic|seed_?phrase|secret|api_?key|authorization|signature)$/i
const KEY_FIELD = /(?:keys?|^[rs])$/i
const SECRET_IN_TEXT =
  /((?:private_?key|password|passphrase|mnemonic|secret|api_?key)["']?\s*[:=]\s*["']?)[^\s"',;&}]+/gi
const KEY_IN_TEXT = /(\bkey["']?\s*[:=]?\s*["']?)(?:0x)?[0-9a-f]{64}\b/gi

type Field = { readonly name: string; readonly isSecret: boolean; readonly isKey: boolean }

/** Cache size: our field names are few, but outside ones are unlimited. */
const FIELDS_MAX = 500

type Walk = {
  readonly text: (raw: string) => string
  readonly field: (name: string) => Field
  readonly ancestors: object[]
  nodesLeft: number
  underKey: boolean
}

/** One per process, so that registered secrets apply to the log and the webhooks. */
export function createScrubber(): Scrubber {
  const known = new Set<string>()
  const keys = createKeyMarks()
  const fields = new Map<string, Field>()
  let pattern: RegExp | undefined

  function field(name: string): Field {
    const seen = fields.get(name)
    if (seen !== undefined) return seen
    const isSecret = SECRET_FIELD.test(name)
    const shown = { name: text(name), isSecret, isKey: KEY_FIELD.test(name) }
    // Names that had to be changed are not cached.
    if (shown.name === name && fields.size < FIELDS_MAX) fields.set(name, shown)
    return shown
  }

  function text(raw: string): string {
    const read = raw.length > TEXT_READ_MAX ? raw.slice(0, TEXT_READ_MAX) : raw
    const clean = withoutPatterns(keys.hide(withoutKnown(read), MASK))
    return clean.length > TEXT_LENGTH_MAX ? `${clean.slice(0, TEXT_LENGTH_MAX)}...` : clean
  }

  function withoutKnown(raw: string): string {
    if (pattern === undefined || raw.length < SECRET_CUT_MIN) return raw
    const whole = raw.replace(pattern, MASK)
    return whole.includes(CUT) ? withoutCut(whole) : whole
  }

  /** Text that was cut elsewhere may end with the beginning of a secret. */
  function withoutCut(raw: string): string {
    const parts = raw.split(CUT)
    const last = parts.pop() ?? ''
    return [...parts.map((part) => withoutBeginning(part, known)), last].join(CUT)
  }

  return {
    addKey(key) {
      fields.clear()
      keys.add(key)
    },
    add(secret) {
      fields.clear()
      if (KEY_TEXT.test(secret)) {
        keys.add(Buffer.from(secret.trim().replace(/^0x/i, ''), 'hex'))
        return
      }
      for (const spelling of spellings(secret.trim())) known.add(spelling)
      if (known.size > 0) pattern = anyOf(known)
    },
    text,
    value: (value) =>
      scrub(value, { text, field, ancestors: [], nodesLeft: NODES_MAX, underKey: false }),
  }
}

function withoutBeginning(text: string, known: ReadonlySet<string>): string {
  const lower = text.toLowerCase()
  let longest = 0
  for (const secret of known) {
    const small = secret.toLowerCase()
    let length = Math.min(small.length, lower.length)
    while (length >= SECRET_CUT_MIN && !lower.endsWith(small.slice(0, length))) length -= 1
    if (length >= SECRET_CUT_MIN) longest = Math.max(longest, length)
  }
  return longest === 0 ? text : text.slice(0, -longest) + MASK
}

function anyOf(known: ReadonlySet<string>): RegExp {
  const longestFirst = [...known].sort((a, b) => b.length - a.length)
  return new RegExp(
    longestFirst.map((secret) => secret.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'),
    'gi',
  )
}

/** Each pattern runs only on text that could match, because most log texts are short words. */
function withoutPatterns(raw: string): string {
  let text = printable(raw)
  if (text.includes(':') || text.includes('=')) text = text.replace(SECRET_IN_TEXT, `$1${MASK}`)
  if (text.includes('://')) text = text.replace(WEB_ADDRESS, maskAddress)
  if (text.length > KEY_DIGITS) text = text.replace(KEY_IN_TEXT, `$1${MASK}`)
  if (text.length >= LONG_HEX_DIGITS)
    text = text.replace(LONG_HEX, (hex) => `<${hex.replace(/^0x/i, '').length} hex digits>`)
  return text
}

/** Keeps scheme, host and plain path words; drops credentials, query, fragment and token-like segments. */
function maskAddress(address: string): string {
  const hostStart = address.indexOf('://') + 3
  const [location = ''] = address.slice(hostStart).split(/[?#]/, 1)
  const [authority = '', ...segments] = location.split('/')
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  const path = segments.map((part) => (part === '' || PLAIN_SEGMENT.test(part) ? part : MASK))
  const rest = location.length < address.length - hostStart ? `?${MASK}` : ''
  return address.slice(0, hostStart) + [host, ...path].join('/') + rest
}

function spellings(secret: string): string[] {
  const forms = [secret, ...(URL.canParse(secret) ? urlSecrets(new URL(secret)) : [])]
  return forms.flatMap(encodings).filter((form) => form.length >= SECRET_LENGTH_MIN)
}

function encodings(secret: string): string[] {
  if (secret.length < SECRET_LENGTH_MIN) return []
  const bytes = HEX_TEXT.test(secret)
    ? Buffer.from(secret.replace(/^0x/i, ''), 'hex')
    : Buffer.from(secret)
  const hex = bytes.toString('hex')
  return [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    hex,
    BigInt(`0x${hex}`).toString(),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
  ]
}

function urlSecrets(url: URL): string[] {
  const segments = url.pathname.split('/').filter((part) => !PLAIN_SEGMENT.test(part))
  const query = [...url.searchParams.values(), url.search.slice(1)]
  const parts = [url.username, url.password, ...segments, ...query, url.hash.slice(1)]
  return parts.flatMap((part) => [part, decoded(part)])
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

function scrub(value: unknown, walk: Walk): unknown {
  switch (typeof value) {
    case 'string':
      return walk.underKey && KEY_TEXT.test(value) ? MASK : walk.text(value)
    case 'bigint':
      return walk.text(value.toString())
    case 'number':
    case 'boolean':
      return value
    case 'object':
      return value === null ? null : scrubObject(value, walk)
    default:
      return undefined
  }
}

function scrubObject(value: object, walk: Walk): unknown {
  if (walk.ancestors.includes(value)) return '[circular]'
  if (walk.ancestors.length >= DEPTH_MAX) return '[nested too deep]'
  if (walk.nodesLeft <= 0) return '[cut]'
  walk.nodesLeft -= 1
  walk.ancestors.push(value)
  try {
    return scrubParts(value, walk)
  } catch {
    // A foreign getter or toJSON threw; logging must not fail.
    return '[unreadable]'
  } finally {
    walk.ancestors.pop()
  }
}

function scrubParts(value: object, walk: Walk): unknown {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer)
    return `[${value.byteLength} bytes]`
  if (value instanceof Error) return scrubEntries(errorEntries(value), walk)
  if (value instanceof Map) return scrubEntries(value, walk)
  if (Array.isArray(value) || value instanceof Set) return scrubItems([...value], walk)
  if ('toJSON' in value && typeof value.toJSON === 'function') return scrub(value.toJSON(), walk)
  return scrubEntries(Object.entries(value), walk)
}

function scrubItems(items: readonly unknown[], walk: Walk): unknown[] {
  const clean = items.slice(0, ENTRIES_MAX).map((item) => scrub(item, walk))
  return items.length > ENTRIES_MAX ? [...clean, `[${items.length - ENTRIES_MAX} more]`] : clean
}

/** Keeps only identifying fields: packages attach whole requests, including keys, to other properties. */
function errorEntries(error: Error & { code?: unknown; errors?: unknown }): [string, unknown][] {
  return [
    ['type', error.name],
    ['message', error.message],
    ['code', error.code],
    ['stack', error.stack],
    ['cause', error.cause],
    ['errors', error.errors],
  ]
}

function scrubEntries(entries: Iterable<readonly [unknown, unknown]>, walk: Walk) {
  const clean: [string, unknown][] = []
  for (const [key, value] of entries) {
    if (clean.length >= ENTRIES_MAX) break
    const field = walk.field(fieldName(key))
    const safe = field.isSecret ? maskField(value) : scrubField(field, value, walk)
    if (safe !== undefined) clean.push([field.name, safe])
  }
  return Object.fromEntries(clean)
}

/** Names the type of object keys, because their text could be a key's bytes. */
function fieldName(key: unknown): string {
  if (typeof key === 'string') return key
  return typeof key === 'object' || typeof key === 'symbol' ? `[${typeof key}]` : String(key)
}

function maskField(value: unknown): unknown {
  return value === undefined || value === null || typeof value === 'boolean' ? value : MASK
}

function scrubField({ isKey }: Field, value: unknown, walk: Walk): unknown {
  const before = walk.underKey
  walk.underKey = before || isKey
  const safe = scrub(value, walk)
  walk.underKey = before
  return safe
}
