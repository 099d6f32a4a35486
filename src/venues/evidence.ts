import type { EventOf } from '../domain/book/journal.ts'
import {
  explainedNestedNonce,
  explainedTransactions,
  sightOf,
  type WalletPlace,
} from '../domain/book/sights.ts'
import type { DaemonState } from '../domain/book/state.ts'
import { minedNonceOf } from '../domain/book/transactions.ts'
import { latestBlockSeconds } from '../domain/policy.ts'
import type { Address } from '../domain/units.ts'
import type { AgreedReply, CallChain, FinalChain, FinalCount, Ports } from '../ports.ts'
import type { SendingContext, WalletContext } from './context.ts'
import { askFinal } from './finality.ts'

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

const ASKING = 'asking a final block for the nonces of a wallet'

/** What shows a wallet's nonces at a final block: those of its transactions, and of its calls where it makes any. */
export type NonceChain = Pick<FinalChain, 'finalCount'> & Partial<Pick<CallChain, 'finalAccount'>>

/** Nonces of a wallet at a final block, as many nodes say them as have to agree (rule T6). */
export async function finalNonces(
  { clock }: Pick<Ports, 'clock'>,
  chain: NonceChain,
  account: Address,
): Promise<AgreedReply<SeenNonces & FinalCount>> {
  const query = { account, latestSeconds: latestBlockSeconds(clock.now()) }
  const [count, view] = await Promise.all([chain.finalCount(query), chain.finalAccount?.(query)])
  if (!count.ok) return count
  if (view?.ok === false) return view
  return { ok: true, value: { ...count.value, nestedNonce: view?.value.nestedNonce } }
}

/**
 * Right before something is recorded for nonces that one node named: nothing is signed behind nonces which nothing explains. Once a
 * final block shows them they halt everything, which is told once: what was seen is known from then on. Gives why nothing may be
 * recorded now.
 */
export async function doubtfulNonces(
  context: SendingContext,
  chain: NonceChain,
  place: WalletPlace,
  seen: SeenNonces,
): Promise<string | undefined> {
  const { journal } = context.ports
  const before = sightOf(journal.state, place)
  const named = strangeNonces(journal.state, place, seen)
  if (before === undefined || named.length === 0) return undefined
  const final = await askFinal(context, ASKING, () =>
    finalNonces(context.ports, chain, place.wallet),
  )
  const evidence = final === undefined ? [] : strangeNonces(journal.state, place, final)
  if (final === undefined || evidence.length === 0)
    return `${named.join('; ')}, which no final block shows yet`
  // A comparison may have come further meanwhile.
  const known = sightOf(journal.state, place) ?? before
  const { transactionCount, nestedNonce = known.nestedNonce } = final
  await journal.append(evidenceHalt(journal.state, evidence), {
    ...{ type: 'wallet-compared', ...place, ...known, transactionCount, nestedNonce },
  })
  return evidence.join('; ')
}

/** The same of the nonce of a transaction. Where the wallet was never compared with its chain, a second answer has to say the same. */
export async function doubtfulNonce(
  context: SendingContext,
  { chain, chainId, signer }: WalletContext,
  transactionCount: number,
): Promise<string | undefined> {
  const place = { chainId, wallet: signer.address }
  const seen = { transactionCount, nestedNonce: undefined }
  const used = await usedNonce(context, chain, { place, nonce: transactionCount })
  if (used !== undefined) return used
  if (sightOf(context.ports.journal.state, place) !== undefined)
    return doubtfulNonces(context, { finalCount: (query) => chain.finalCount(query) }, place, seen)
  const again = await chain.transaction({ from: signer.address, hashes: [] })
  if (!again.ok) return again.fault.message
  const { latestNonce } = again.value
  return latestNonce === transactionCount
    ? undefined
    : `the nodes say nonce ${transactionCount}, and then ${latestNonce}`
}

/**
 * A nonce that a transaction of ours has used, be it long ago, is free again only where a final block says so: signed for it once
 * more, the same bytes would pass for what was mined then.
 */
async function usedNonce(
  context: SendingContext,
  chain: NonceChain,
  { place, nonce }: { readonly place: WalletPlace; readonly nonce: number },
): Promise<string | undefined> {
  const { chainId, wallet: from } = place
  const mined = minedNonceOf(context.ports.journal.state, { chainId, from })
  if (mined === undefined || nonce > mined) return undefined
  const final = await askFinal(context, ASKING, () =>
    finalNonces(context.ports, { finalCount: chain.finalCount }, from),
  )
  const isFree = final !== undefined && final.transactionCount <= nonce
  return isFree ? undefined : `the node says nonce ${nonce}, and ${mined} was used already`
}
