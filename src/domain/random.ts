/** Seeded random numbers (sfc32), identical on every machine. */
export type SeededRandom = {
  /** Uniform in [0, 1). */
  next(): number
  /** Uniform integer in [from, to]. */
  between(from: number, to: number): number
  /** True with probability `p`. Draws no number for 0 or 1. */
  chance(p: number): boolean
  /** An independent stream: draws in one part of a simulation do not affect the others. */
  fork(label: string): SeededRandom
}

const WARM_UP = 12
const TWO_POW_32 = 4_294_967_296

export function createRandom(seed: string): SeededRandom {
  let [a, b, c, counter] = [salted(seed, 1), salted(seed, 2), salted(seed, 3), 1]
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / TWO_POW_32
  }
  for (let i = 0; i < WARM_UP; i += 1) next()
  return {
    next,
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    chance: (p) => p >= 1 || (p > 0 && next() < p),
    fork: (label) => createRandom(`${seed}/${label}`),
  }
}

function salted(text: string, salt: number): number {
  return fnv1a(text, Math.imul(0x811c9dc5 ^ salt, 0x9e3779b1)) | 0
}

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** FNV-1a over UTF-16 units, unsigned 32 bits. Not cryptographic. */
export function fnv1a(text: string, start: number = FNV_OFFSET): number {
  let hash = start
  for (let at = 0; at < text.length; at += 1)
    hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME)
  return hash >>> 0
}
