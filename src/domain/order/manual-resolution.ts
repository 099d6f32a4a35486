import type { Hex } from '../money/units.ts'

/** An operator's verdict on an unresolved signature: not executed, or executed in a known or unknown transaction. */
export type Word =
  | { readonly as: 'dead' }
  | { readonly as: 'executed'; readonly txHash: Hex | undefined }

export function wordIn(said: Word): Word {
  return said.as === 'dead' ? { as: said.as } : { as: said.as, txHash: said.txHash }
}

/** As a clause: `it executed in 0x...`. */
export function wordText(word: Word): string {
  if (word.as === 'dead') return 'it did not execute'
  return word.txHash === undefined
    ? 'it executed in an unknown transaction'
    : `it executed in ${word.txHash}`
}
