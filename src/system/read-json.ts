import type * as z from 'zod'
import type { Reply } from '../domain/order/quote.ts'
import { outsideText } from '../domain/text/outside-text.ts'

/** A value, or the fault in its text, which names the field. */
export type Reading<Value> = Reply<Value, string>

export function readJson<Value>(schema: z.ZodType<Value>, text: string): Reading<Value> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return wrong('the body is not JSON')
  }
  return readAs(schema, json)
}

/** Parses the lines that fit the schema and skips the others. */
export function readableLines<Value>(
  schema: z.ZodType<Value>,
  lines: readonly string[],
): readonly Value[] {
  return lines.flatMap((line) => {
    const read = readJson(schema, line)
    return read.ok ? [read.value] : []
  })
}

export function readAs<Value>(schema: z.ZodType<Value>, value: unknown): Reading<Value> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { ok: true, value: parsed.data }
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') || 'body'
  return wrong(`${where}: ${issue?.message ?? 'unreadable'}`)
}

export function wrong(detail: string): { ok: false; fault: string } {
  return { ok: false, fault: outsideText(detail) }
}

/** At least 16 digits after a JSON separator: only such text can need rewriting. */
const LONG_NUMBER = /[:,[\s]-?\d{16}/
/** A JSON string or number. Strings are matched so that their digits are skipped. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const INTEGER = /^-?\d+$/

/**
 * Replaces integers beyond double precision with strings of their digits; undefined if there are none. `JSON.parse` would
 * round them silently, and a rounded nonce changes the digest. `text` must be valid JSON. Fractions and exponents stay:
 * EIP-712 has none, and the firewall refuses them.
 */
export function withExactIntegers(text: string): string | undefined {
  if (!LONG_NUMBER.test(text)) return undefined
  let changed = false
  const exact = text.replace(STRING_OR_NUMBER, (token) => {
    if (!INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token
    changed = true
    return `"${token}"`
  })
  return changed ? exact : undefined
}
