/** Seeded random numbers (sfc32): the same seed gives the same sequence on every machine. */
export type Prng = {
  /** Uniform in [0, 1). */
  next(): number
}

const WARM_UP = 12
const TWO_POW_32 = 4_294_967_296

/** Streams of one seed with different labels are independent of each other. */
export function createPrng(seed: number, label = ''): Prng {
  let a = 0x9e3779b9 ^ seed
  let b = 0x243f6a88 ^ fnv1a(label)
  let c = 0xb7e15162 ^ Math.floor(seed / TWO_POW_32)
  let counter = 1
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / TWO_POW_32
  }
  for (let i = 0; i < WARM_UP; i += 1) next()
  return { next }
}

/**
 * Nearly normal: the sum of twelve uniforms, minus six. Only additions, so that no two engines can differ
 * in the last bit, as they may with logarithms and cosines.
 */
export function nextGaussian(prng: Prng): number {
  let sum = -6
  for (let i = 0; i < 12; i += 1) sum += prng.next()
  return sum
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
