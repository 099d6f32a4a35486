import { hash, randomBytes, randomInt } from 'node:crypto'

type Marks = {
  readonly length: number
  /** The base to the power of `length`: the factor of a character that leaves the window. */
  readonly weight: number
  readonly fingerprints: number[]
  readonly digests: string[]
}

/**
 * Finds private keys in text, without holding them as text.
 *
 * A heap dump could reveal keys held as text, so their spellings are known only by salted digests. A 32-bit rolling hash,
 * one pass per length, selects the few windows to digest. Case-insensitive. Salt and base are new in each process.
 */
export function createKeyMarks() {
  const salt = randomBytes(16).toString('hex')
  // Odd, so that no character is lost from the product.
  const base = randomInt(2 ** 20, 2 ** 31) | 1
  const marks = new Map<number, Marks>()
  /** Text runs long enough for a spelling; most texts have none. */
  let runs: RegExp | undefined
  let shortest = 0

  function digestOf(codes: Uint16Array, start: number, length: number): string {
    const window = String.fromCharCode(...codes.subarray(start, start + length))
    return hash('sha256', salt + window)
  }

  function fingerprintOf(codes: Uint16Array, length: number): number {
    let value = 0
    for (let at = 0; at < length; at += 1) value = (Math.imul(value, base) + (codes[at] ?? 0)) | 0
    return value
  }

  function weightOf(length: number): number {
    let weight = 1
    for (let left = length; left > 0; left -= 1) weight = Math.imul(weight, base)
    return weight
  }

  /** Runs for each logged hash and address, so it uses plain loops without allocations. */
  function find(codes: Uint16Array, known: Marks, found: [number, number][]): void {
    const { length, weight, fingerprints, digests } = known
    let value = fingerprintOf(codes, length)
    for (let start = 0; ; start += 1) {
      if (fingerprints.includes(value) && digests.includes(digestOf(codes, start, length)))
        found.push([start, start + length])
      const end = start + length
      if (end >= codes.length) return
      value =
        (Math.imul(value, base) + (codes[end] ?? 0) - Math.imul(weight, codes[start] ?? 0)) | 0
    }
  }

  function hideIn(run: string, mask: string): string {
    const codes = lowerCaseCodes(run)
    const found: [number, number][] = []
    for (const known of marks.values()) if (known.length <= codes.length) find(codes, known, found)
    return found.length === 0 ? run : masked(run, found, mask)
  }

  return {
    add(key: Uint8Array): void {
      for (const spelling of spellings(key)) {
        const codes = lowerCaseCodes(spelling)
        const { length } = codes
        const fresh = { length, weight: weightOf(length), fingerprints: [], digests: [] }
        const known: Marks = marks.get(length) ?? fresh
        marks.set(length, known)
        const digest = digestOf(codes, 0, length)
        if (known.digests.includes(digest)) continue
        known.fingerprints.push(fingerprintOf(codes, length))
        known.digests.push(digest)
      }
      shortest = Math.min(...marks.keys())
      runs = new RegExp(`[0-9A-Za-z+/_-]{${shortest},}`, 'g')
    },
    hide(text: string, mask: string): string {
      if (runs === undefined || text.length < shortest) return text
      return text.replace(runs, (run) => hideIn(run, mask))
    },
  }
}

/** Character codes in lower case (ASCII). */
function lowerCaseCodes(text: string): Uint16Array {
  const codes = new Uint16Array(text.length)
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    codes[at] = code >= 65 && code <= 90 ? code + 32 : code
  }
  return codes
}

/** Shorter spellings, such as of a key that is a small number, would match ordinary words. */
const LENGTH_MIN = 8
/** Base64 digits of 32 bytes, without padding. */
const BASE64_DIGITS = 43

/** Every spelling likely to reach a log. Drop them at once, and never match them, because the regex engine keeps matches. */
function spellings(key: Uint8Array): readonly string[] {
  const bytes = Buffer.from(key)
  const hex = bytes.toString('hex')
  const base64 = bytes.toString('base64')
  const number = BigInt(`0x${hex}`)
  const found = [
    hex,
    number.toString(16),
    number.toString(),
    base64.slice(0, BASE64_DIGITS),
    bytes.toString('base64url'),
  ]
  bytes.fill(0)
  return found.filter(({ length }) => length >= LENGTH_MIN)
}

/** Spellings may overlap: everything that any of them covers is masked. */
function masked(text: string, found: readonly [number, number][], mask: string): string {
  let clean = ''
  let at = 0
  for (const [start, end] of found.toSorted(([a], [b]) => a - b)) {
    if (start >= at) clean += text.slice(at, start) + mask
    at = Math.max(at, end)
  }
  return clean + text.slice(at)
}
