import { createRandom, type SeededRandom } from '../../src/domain/random.ts'

const WORDS = 2 ** 32

export function randomHex(random: SeededRandom, bytes: number): `0x${string}` {
  let text = ''
  while (text.length < bytes * 2)
    text += Math.floor(random.next() * WORDS)
      .toString(16)
      .padStart(8, '0')
  return `0x${text.slice(0, bytes * 2)}`
}

/** 32 bytes that depend on the whole text. A substitute for hashes and signatures; not cryptographic. */
export function fingerprint(text: string): `0x${string}` {
  return randomHex(createRandom(text), 32)
}
