/** A number of sixteen digits or more that follows a JSON separator: the only text that can need rewriting. */
const LONG_NUMBER = /[:,[\s]-?\d{16}/
/** One JSON string or one JSON number. The strings are matched so that digits inside them are left alone. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g
const INTEGER = /^-?\d+$/

/**
 * JSON text in which every integer that a double cannot hold exactly has become a string of its digits, or
 * undefined when there is none. `JSON.parse` would round such an integer without a word, and a rounded nonce has
 * another digest than the one the service meant. `text` must be valid JSON. Fractions and exponents stay as they
 * are: no EIP-712 value is written that way, and the firewall refuses them.
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
