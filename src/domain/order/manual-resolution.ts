import type { Hex } from './units.ts'

/**
 * What an operator says became of something signed that nothing else ended: it did not execute, or it did, in a transaction
 * of that hash or in one that nobody knows.
 */
export type Word =
  | { readonly as: 'dead' }
  | { readonly as: 'executed'; readonly txHash: Hex | undefined }

/** The word that a record carries, and nothing else of it. */
export function wordIn(said: Word): Word {
  return said.as === 'dead' ? { as: said.as } : { as: said.as, txHash: said.txHash }
}

/** It as a clause: `it executed in 0x...`. */
export function wordText(word: Word): string {
  if (word.as === 'dead') return 'it did not execute'
  return word.txHash === undefined
    ? 'it executed, nobody knows in which transaction'
    : `it executed in ${word.txHash}`
}
