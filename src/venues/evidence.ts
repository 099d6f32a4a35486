import { type Address, maxOf } from '../domain/money/units.ts'
import { hasLiveAuthorization } from '../domain/order/order.ts'
import { latestBlockSeconds } from '../domain/policy.ts'
import { walletCompared } from '../journal/events/state/wallets.ts'
import { type TradingHalted, tradingHalted } from '../journal/events/strategy/stops.ts'
import { minedNonceOf, openNonces } from '../journal/projections/transactions.ts'
import { snapshotOf, type WalletPlace } from '../journal/projections/wallet-snapshots.ts'
import type { DaemonState } from '../journal/state/daemon-state.ts'
import type { AgreedReply, CallChain, FinalChain, FinalCount, Ports } from '../ports.ts'
import { firstFreeNonce, openCalls } from './call/call-projection.ts'
import type { SendingContext, WalletContext } from './context.ts'
import { askFinal } from './finality.ts'

/** Evidence of a rolled-back state, or of another user of our wallet (rule T4). It halts everything until resumed. */

export async function haltOnEvidence(context: SendingContext, what: string): Promise<void> {
  const { journal } = context.ports
  if (journal.state.halted?.cause === 'evidence') return
  await journal.append(evidenceHalt(journal.state, [what]))
}

/** Replaces an earlier halt: an operator who lifts that one has not seen this evidence. */
export function evidenceHalt({ halted }: DaemonState, evidence: readonly string[]): TradingHalted {
  const earlier = halted === undefined ? '' : `. Halted before that: ${halted.detail}`
  const detail = `${evidence.join('; ')}: the state is not what it was, or somebody else uses this wallet. Find out which before \`tranched resume\`${earlier}`
  return tradingHalted({ cause: 'evidence', detail })
}

export type SeenNonces = {
  readonly transactionCount: number
  readonly nestedNonce: bigint | undefined
}

/** Nonces that neither the last comparison nor later signatures explain. */
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

/** The lowest transaction nonce that neither the last comparison nor a transaction of ours explains. */
export function explainedTransactions(state: DaemonState, place: WalletPlace): number | undefined {
  const seen = snapshotOf(state, place)?.transactionCount
  if (seen === undefined) return undefined
  return Math.max(seen, ...openNonces(state, place).map((nonce) => nonce + 1))
}

/** The same for `nestedNonce`. Also undefined if the account's code did not report it, or has changed since. */
export function explainedNestedNonce(state: DaemonState, place: WalletPlace): bigint | undefined {
  const seen = snapshotOf(state, place)?.nestedNonce
  if (seen === undefined) return undefined
  const { chainId, wallet: account } = place
  let explained = maxOf(seen, firstFreeNonce(state, { chainId, account }))
  for (const { call, state: at } of openCalls(state)) {
    if (call?.trust !== 'trustless' || call.account !== account) continue
    if (hasLiveAuthorization(at)) explained = maxOf(explained, call.nonce + 1n)
  }
  return explained
}

const REQUEST = 'asking a final block for the nonces of a wallet'

/** Reads a wallet's nonces at a final block: of its transactions and, if supported, of its calls. */
export type NonceChain = Pick<FinalChain, 'finalCount'> & Partial<Pick<CallChain, 'finalAccount'>>

/** A wallet's nonces at a final block, by quorum (rule T6). */
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
 * Checks nonces reported by one node before they are recorded: nothing is signed on top of unexplained nonces. Once a final
 * block confirms them, everything halts, once. Returns why nothing may be recorded now.
 */
export async function unexplainedNonces(
  context: SendingContext,
  chain: NonceChain,
  place: WalletPlace,
  seen: SeenNonces,
): Promise<string | undefined> {
  const { journal } = context.ports
  const before = snapshotOf(journal.state, place)
  const named = strangeNonces(journal.state, place, seen)
  if (before === undefined || named.length === 0) return undefined
  const final = await askFinal(context, REQUEST, () =>
    finalNonces(context.ports, chain, place.wallet),
  )
  const evidence = final === undefined ? [] : strangeNonces(journal.state, place, final)
  if (final === undefined || evidence.length === 0)
    return `${named.join('; ')}, which no final block shows yet`
  // A comparison may have advanced meanwhile.
  const known = snapshotOf(journal.state, place) ?? before
  const { transactionCount, nestedNonce = known.nestedNonce } = final
  await journal.append(
    evidenceHalt(journal.state, evidence),
    walletCompared({ ...place, ...known, transactionCount, nestedNonce }),
  )
  return evidence.join('; ')
}

/** The same for a transaction nonce. Without an earlier comparison, a second answer must match. */
export async function unexplainedNonce(
  context: SendingContext,
  { chain, chainId, signer }: WalletContext,
  transactionCount: number,
): Promise<string | undefined> {
  const place = { chainId, wallet: signer.address }
  const seen = { transactionCount, nestedNonce: undefined }
  const used = await usedNonce(context, chain, { place, nonce: transactionCount })
  if (used !== undefined) return used
  if (snapshotOf(context.ports.journal.state, place) !== undefined)
    return unexplainedNonces(context, { finalCount: chain.finalCount }, place, seen)
  const again = await chain.transaction({ from: signer.address, hashes: [] })
  if (!again.ok) return again.fault.message
  const { latestNonce } = again.value
  return latestNonce === transactionCount
    ? undefined
    : `the nodes say nonce ${transactionCount}, and then ${latestNonce}`
}

/** A used nonce is free again only if a final block shows it: the same bytes signed again would pass for the mined ones. */
async function usedNonce(
  context: SendingContext,
  chain: NonceChain,
  { place, nonce }: { readonly place: WalletPlace; readonly nonce: number },
): Promise<string | undefined> {
  const { chainId, wallet: from } = place
  const mined = minedNonceOf(context.ports.journal.state, { chainId, from })
  if (mined === undefined || nonce > mined) return undefined
  const final = await askFinal(context, REQUEST, () =>
    finalNonces(context.ports, { finalCount: chain.finalCount }, from),
  )
  const isFree = final !== undefined && final.transactionCount <= nonce
  return isFree ? undefined : `the node says nonce ${nonce}, and ${mined} was used already`
}
