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
