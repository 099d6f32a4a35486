import type { EventOf } from '../domain/book/journal.ts'
import {
  explainedNestedNonce,
  explainedTransactions,
  sightOf,
  type WalletPlace,
} from '../domain/book/sights.ts'
import type { DaemonState } from '../domain/book/state.ts'
import type { SendingContext } from './context.ts'

/**
 * Evidence that the state is not what it was, or that somebody else uses a wallet of ours (rule T4). It halts everything, and
 * says why; an operator finds out which it is, and resumes.
 */

/** Halts on something that was seen; once, until it is resumed. */
export async function haltOnEvidence(context: SendingContext, what: string): Promise<void> {
  const { journal } = context.ports
  if (journal.state.halted?.cause === 'evidence') return
  await journal.append(evidenceHalt(journal.state, [what]))
}

/** Such a halt. It takes the place of another: who lifts that has not seen this. */
export function evidenceHalt(
  { halted }: DaemonState,
  evidence: readonly string[],
): EventOf<'halted'> {
  const earlier = halted === undefined ? '' : `. Halted before that: ${halted.detail}`
  const detail = `${evidence.join('; ')}: the state is not what it was, or somebody else uses this wallet. Find out which before \`tranched resume\`${earlier}`
  return { type: 'halted', cause: 'evidence', detail }
}

/** Nonces of a wallet as its chain has them now. */
export type SeenNonces = {
  readonly transactionCount: number
  readonly nestedNonce: bigint | undefined
}

/** What of a wallet's nonces neither the last comparison nor anything that was signed since explains. */
export function strangeNonces(
  state: DaemonState,
  place: WalletPlace,
  { transactionCount, nestedNonce }: SeenNonces,
): string[] {
  const { chainId, wallet } = place
  const known = explainedTransactions(state, place)
  const explained = explainedNestedNonce(state, place)
  const evidence: string[] = []
  if (known !== undefined && transactionCount > known)
    evidence.push(
      `wallet ${wallet} has sent ${transactionCount} transactions on chain ${chainId}, and the journal accounts for ${known}`,
    )
  if (explained !== undefined && nestedNonce !== undefined && nestedNonce > explained)
    evidence.push(
      `account ${wallet} has used its nestedNonce up to ${nestedNonce - 1n} on chain ${chainId}, and the journal's calls account for what is below ${explained}`,
    )
  return evidence
}

/**
 * Right before something is recorded for a nonce: one that lies behind nonces which nothing explains is not signed for, but
 * halts everything. Told once: what was seen is known from then on.
 */
export async function haltOnStrangeNonces(
  { ports: { journal } }: SendingContext,
  place: WalletPlace,
  seen: SeenNonces,
): Promise<void> {
  const { state } = journal
  const before = sightOf(state, place)
  const evidence = strangeNonces(state, place, seen)
  if (before === undefined || evidence.length === 0) return
  const { transactionCount, nestedNonce = before.nestedNonce } = seen
  await journal.append(evidenceHalt(state, evidence), {
    ...{ type: 'wallet-compared', ...place, ...before, transactionCount, nestedNonce },
  })
}
