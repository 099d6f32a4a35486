import type { Hex } from '../money/units.ts'

/** An operator's verdict on an unresolved signature: not executed, or executed in a known or unknown transaction. */
export type Verdict =
  | { readonly as: 'dead' }
  | { readonly as: 'executed'; readonly txHash: Hex | undefined }

export function verdictIn(given: Verdict): Verdict {
  return given.as === 'dead' ? { as: given.as } : { as: given.as, txHash: given.txHash }
}

/** As a clause: `it executed in 0x...`. */
export function verdictText(verdict: Verdict): string {
  if (verdict.as === 'dead') return 'it did not execute'
  return verdict.txHash === undefined
    ? 'it executed in an unknown transaction'
    : `it executed in ${verdict.txHash}`
}
