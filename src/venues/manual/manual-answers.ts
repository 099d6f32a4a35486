import { assertNever } from '../../domain/errors.ts'
import type { Hex } from '../../domain/units.ts'
import type { Word } from '../../domain/word.ts'
import type { Fate, Findings } from './findings.ts'

/** Why an operator's word is not taken. Closed: programs go by it. */
export type SettleRefusal =
  /** The intent is closed, or was never opened. */
  | 'not-open'
  /** Nothing is signed for it now, or what was signed is proven. */
  | 'nothing-signed'
  /** It moved on while it was looked at. */
  | 'moved-on'
  | 'chain-unknown'
  | 'nonce-used'
  | 'nonce-unused'
  | 'still-live'
  | 'not-final'
  | 'no-such-transaction'

export type Refused = {
  readonly ok: false
  readonly reason: SettleRefusal
  readonly detail: string
}

export function refused(reason: SettleRefusal, detail: string): Refused {
  return { ok: false, reason, detail }
}

/**
 * Why a word is not taken by what is known now; undefined where it is. That it is dead is taken only where the chain shows that
 * it can never execute. That it executed is booked in full, so that it takes less: a used nonce, and a transaction that
 * is there. Nothing is taken that the chain contradicts.
 */
export function refusalOf(findings: Findings, word: Word): Refused | undefined {
  if (word.as === 'dead') return notDead(findings.fate)
  const { txHash } = word
  return (
    notExecuted(findings, { isNamed: txHash !== undefined }) ??
    (txHash === undefined ? undefined : notThere(findings, txHash))
  )
}

function notDead(fate: Fate): Refused | undefined {
  switch (fate.tag) {
    case 'over':
      return undefined
    case 'used':
      return refused('nonce-used', 'its nonce is used: it executed, or it was cancelled')
    case 'live':
    case 'unguarded':
      return refused('still-live', fate.why)
    case 'untold':
    case 'unknown':
      return refused('chain-unknown', fate.why)
    default:
      return assertNever(fate)
  }
}

/** Whether it can have executed at all, in a transaction that is named or in one that nobody knows. */
export function notExecuted(
  { fate, signed }: Findings,
  { isNamed }: { readonly isNamed: boolean },
): Refused | undefined {
  switch (fate.tag) {
    case 'used':
      return isNamed || fate.isFinal ? undefined : refused('not-final', NOT_FINAL)
    case 'live':
    case 'over':
      return signed.nonce === undefined ? undefined : refused('nonce-unused', UNUSED)
    case 'unguarded':
      return undefined
    case 'untold':
      return fate.isOver ? undefined : refused('still-live', `${fate.why}; its time is not over`)
    case 'unknown':
      return refused('chain-unknown', fate.why)
    default:
      return assertNever(fate)
  }
}

const NOT_FINAL = 'no final block shows its nonce used yet: wait, or name the transaction'
const UNUSED = 'its nonce is not used: nothing has executed it'

function notThere({ named }: Findings, txHash: Hex): Refused | undefined {
  if (named === 'absent')
    return refused('no-such-transaction', `the chain shows no mined transaction ${txHash}`)
  return named === undefined
    ? refused('chain-unknown', `transaction ${txHash} could not be read`)
    : undefined
}
