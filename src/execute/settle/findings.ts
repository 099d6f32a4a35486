import type { Token } from '../../domain/token.ts'
import type { Address, Hex } from '../../domain/units.ts'
import type { Sight } from '../../ports.ts'

/** What an authorization that may be live lets happen. */
export type Signed = {
  readonly kind: 'permit' | 'call' | 'trusted call'
  readonly token: Token
  /** The most that it may take, in base units. */
  readonly most: bigint
  /** Who may take it; undefined for a call, which the account makes itself. */
  readonly spender: Address | undefined
  /** Who gets what it buys, or what is called. */
  readonly recipient: Address
  /** What lets it execute once; undefined for a trusted call, which nothing guards. */
  readonly nonce: bigint | undefined
  /** Epoch seconds; undefined where nothing ends it. */
  readonly deadlineSeconds: number | undefined
}

/** A block, and whether the nonce is used there; undefined where nobody can tell by it. */
export type NonceAt = Sight & { readonly isUsed: boolean | undefined }

/** A transaction that may have to do with it. */
export type Found = {
  readonly txHash: Hex
  readonly blockNumber: bigint
  readonly success: boolean
  /** `proof`: that it executed. `mention`: it carries what was signed. `cancel`: the owner used up the nonce itself. */
  readonly shows: 'proof' | 'mention' | 'cancel' | 'nothing'
}

/** What the chain says now of whether it executed, or still may. `why` is a clause for people. */
export type Fate =
  /** Its nonce is used: it executed, or it was cancelled. */
  | { readonly tag: 'used'; readonly isFinal: boolean }
  /** It can never execute from now on. */
  | { readonly tag: 'over'; readonly why: string }
  | { readonly tag: 'live'; readonly why: string }
  /** Nothing guards it: nobody can tell whether it executed, nor that it will not. */
  | { readonly tag: 'unguarded'; readonly why: string }
  /** Nobody can tell any more whether its nonce is used. `isOver`: its time is. */
  | { readonly tag: 'untold'; readonly why: string; readonly isOver: boolean }
  /** The chain does not say so now; it may the next time. */
  | { readonly tag: 'unknown'; readonly why: string }

export type Findings = {
  readonly signed: Signed
  /** The newest block, and the newest final one; undefined where the chain did not say. */
  readonly head: NonceAt | undefined
  readonly final: NonceAt | undefined
  /** Whether the deadline is past at that final block and by every clock; undefined where there is no such block, or deadline. */
  readonly isPast: boolean | undefined
  readonly fate: Fate
  /** What a search found, and what was named to us. */
  readonly found: readonly Found[]
  /** Why a search came to nothing; undefined where it was whole, or there was nothing to search for. */
  readonly searchFault: string | undefined
  /** The transaction that the operator named; undefined where none was, or where it could not be read. */
  readonly named: Found | 'absent' | undefined
}

/** What was seen, and how what was seen is proven. */
export type Looked = {
  readonly findings: Findings
  /** Journals the execution if what was seen proves it, by the ordinary rules. */
  prove(): Promise<boolean>
}

/** Of an authorization that the chain could not be asked about. */
export function unseen(signed: Signed, fate: Fate): Looked {
  const nothing = { head: undefined, final: undefined, isPast: undefined, named: undefined }
  return {
    findings: { ...nothing, signed, fate, found: [], searchFault: undefined },
    prove: () => Promise.resolve(false),
  }
}

export const NO_FINAL_BLOCK = 'no final block can be read, or nodes disagree on it'
