import { assertNever } from '../../domain/errors.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { Verdict } from '../../domain/order/manual-resolution.ts'
import type { ExecutionOutcome, Findings } from './findings.ts'

/** Why a manual resolution is rejected. A closed set, for programs. */
export type SettleRefusal =
  /** The intent is closed or unknown. */
  | 'not-open'
  /** Nothing is signed for it now, or its outcome is proven. */
  | 'nothing-signed'
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
 * Why current evidence rejects a manual resolution; undefined if accepted. "Not executed" is accepted only if the chain
 * shows that it never can. "Executed" is booked in full, so a used nonce or an existing transaction suffices, unless the
 * chain contradicts it.
 */
export function refusalOf(findings: Findings, verdict: Verdict): Refused | undefined {
  if (verdict.as === 'dead') return notDead(findings.outcome)
  const { txHash } = verdict
  return (
    notExecuted(findings, { isNamed: txHash !== undefined }) ??
    (txHash === undefined ? undefined : notThere(findings, txHash))
  )
}

function notDead(outcome: ExecutionOutcome): Refused | undefined {
  switch (outcome.tag) {
    case 'over':
      return undefined
    case 'used':
      return refused('nonce-used', 'its nonce is used: it executed, or it was cancelled')
    case 'live':
    case 'unguarded':
      return refused('still-live', outcome.why)
    case 'indeterminate':
    case 'unknown':
      return refused('chain-unknown', outcome.why)
    default:
      return assertNever(outcome)
  }
}

/** Why it cannot have executed, in a named or an unknown transaction; undefined if it can. */
export function notExecuted(
  { outcome, signed }: Findings,
  { isNamed }: { readonly isNamed: boolean },
): Refused | undefined {
  switch (outcome.tag) {
    case 'used':
      return isNamed || outcome.isFinal ? undefined : refused('not-final', NOT_FINAL)
    case 'live':
    case 'over':
      return signed.nonce === undefined ? undefined : refused('nonce-unused', UNUSED)
    case 'unguarded':
      return undefined
    case 'indeterminate':
      return outcome.isOver
        ? undefined
        : refused('still-live', `${outcome.why}; its time is not over`)
    case 'unknown':
      return refused('chain-unknown', outcome.why)
    default:
      return assertNever(outcome)
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
