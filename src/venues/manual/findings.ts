import type { Token } from '../../domain/money/token.ts'
import type { Address, Hex } from '../../domain/money/units.ts'
import { formatInstant } from '../../domain/schedule/civil-date.ts'
import type { SeenBlock } from '../../ports.ts'

export type Signed = {
  readonly kind: 'permit' | 'call' | 'trusted call'
  readonly token: Token
  /** Maximum spend, in base units. */
  readonly most: bigint
  /** Undefined for a call, which the account makes itself. */
  readonly spender: Address | undefined
  /** Receiver of the purchase, or the called contract. */
  readonly recipient: Address
  /** Limits it to one execution; undefined for a trusted call, which has no such limit. */
  readonly nonce: bigint | undefined
  /** Epoch seconds; undefined without a deadline. */
  readonly deadlineSeconds: number | undefined
}

/** A block and the nonce's use there; `isUsed` is undefined if unknown. */
export type NonceAt = SeenBlock & { readonly isUsed: boolean | undefined }

export type Found = {
  readonly txHash: Hex
  readonly blockNumber: bigint
  readonly success: boolean
  /** `proof`: it executed the order. `mention`: it contains the signed data. `cancel`: the owner used the nonce. */
  readonly shows: 'proof' | 'mention' | 'cancel' | 'nothing'
}

/** The chain's evidence of whether it executed or still may. `why` is a clause. */
export type ExecutionOutcome =
  | { readonly tag: 'used'; readonly isFinal: boolean }
  /** It can never execute. */
  | { readonly tag: 'over'; readonly why: string }
  | { readonly tag: 'live'; readonly why: string }
  /** Without a nonce, the chain proves neither execution nor its absence. */
  | { readonly tag: 'unguarded'; readonly why: string }
  /** The use of its nonce can no longer be determined. `isOver`: the deadline has passed. */
  | { readonly tag: 'indeterminate'; readonly why: string; readonly isOver: boolean }
  /** The chain does not show it now; a later read may. */
  | { readonly tag: 'unknown'; readonly why: string }

export type Findings = {
  readonly signed: Signed
  /** The newest block and the newest final one; undefined if unavailable. */
  readonly head: NonceAt | undefined
  readonly final: NonceAt | undefined
  /** True if the deadline has passed at that final block and by the machine's clock; undefined without a final block. */
  readonly isPast: boolean | undefined
  readonly outcome: ExecutionOutcome
  /** Transactions found by search or named to us. */
  readonly found: readonly Found[]
  /** Why a search failed; undefined if it was complete or not needed. */
  readonly searchFault: string | undefined
  /** The operator's transaction; undefined if none was named or it could not be read. */
  readonly named: Found | 'absent' | undefined
}

export type Inspection = {
  readonly findings: Findings
  /** Journals the execution if it is proven by the ordinary rules. */
  prove(): Promise<boolean>
}

/** An authorization about which the chain gave no answer. */
export function unseen(signed: Signed, outcome: ExecutionOutcome): Inspection {
  const nothing = { head: undefined, final: undefined, isPast: undefined, named: undefined }
  return {
    findings: { ...nothing, signed, outcome, found: [], searchFault: undefined },
    prove: () => Promise.resolve(false),
  }
}

/** The outcome of a nonce that is unused at a final block. */
export function unusedOutcome(
  deadlineSeconds: number,
  isPast: boolean | undefined,
): ExecutionOutcome {
  const until = formatInstant(deadlineSeconds)
  return isPast === true
    ? { tag: 'over', why: `its nonce is unused at a final block past its deadline, ${until}` }
    : {
        tag: 'live',
        why: `its signature may execute until that is past at a final block: ${until}`,
      }
}

export const NO_FINAL_BLOCK = 'no final block can be read, or nodes disagree on it'
