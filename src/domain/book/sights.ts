import { hasLiveAuthorization } from '../order.ts'
import type { Address } from '../units.ts'
import { firstFreeNonce, openCalls } from './calls.ts'
import type { EventOf } from './journal.ts'
import type { DaemonState, WalletSight } from './state.ts'

/** What a wallet was last seen to have done on its chain, and what the journal has had it do since (rule T4). */

export type WalletPlace = { readonly chainId: number; readonly wallet: Address }

/** Undefined until the wallet was compared with its chain for the first time. */
export function sightOf(state: DaemonState, place: WalletPlace): WalletSight | undefined {
  return state.sights.get(keyOf(place))
}

/**
 * The lowest `nestedNonce` that neither the last comparison nor a call of ours explains; undefined where none was seen at that
 * comparison, or the account's code was changed since.
 */
export function explainedNestedNonce(state: DaemonState, place: WalletPlace): bigint | undefined {
  const seen = sightOf(state, place)?.nestedNonce
  if (seen === undefined) return undefined
  const { chainId, wallet: account } = place
  let explained = seen
  const free = firstFreeNonce(state, { chainId, account })
  if (free > explained) explained = free
  for (const { call, state: at } of openCalls(state)) {
    if (call?.trust !== 'trustless' || call.account !== account) continue
    if (hasLiveAuthorization(at) && call.nonce >= explained) explained = call.nonce + 1n
  }
  return explained
}

export function noteComparison(state: DaemonState, event: EventOf<'wallet-compared'>): void {
  const { sinceBlock, blockNumber, transactionCount, nestedNonce } = event
  const seen = { sinceBlock, blockNumber, transactionCount, nestedNonce }
  const before = sightOf(state, event)
  state.sights.set(keyOf(event), seen)
  // What was signed before and comes into a block only now is accounted for all the same.
  if (before !== undefined && before.transactionCount > 0)
    noteNonce(state, event, before.transactionCount - 1)
}

/** The wallet was looked at in a block: what it paid up to there is in the books. */
export function noteBlock(state: DaemonState, place: WalletPlace, blockNumber: bigint): void {
  change(state, place, (seen) =>
    blockNumber > seen.blockNumber ? { ...seen, blockNumber } : undefined,
  )
}

/** Something of the wallet's is signed that may use its transaction nonces up to this one. */
export function noteNonce(state: DaemonState, place: WalletPlace, nonce: number): void {
  change(state, place, (seen) =>
    nonce >= seen.transactionCount ? { ...seen, transactionCount: nonce + 1 } : undefined,
  )
}

/** A call's nonce is used, for whatever that was. */
export function noteNestedNonce(state: DaemonState, place: WalletPlace, nonce: bigint): void {
  change(state, place, (seen) =>
    seen.nestedNonce !== undefined && nonce >= seen.nestedNonce
      ? { ...seen, nestedNonce: nonce + 1n }
      : undefined,
  )
}

/** Other code may count from anywhere. */
export function noteDelegation(state: DaemonState, event: EventOf<'delegation-signed'>): void {
  const place = { chainId: event.chainId, wallet: event.account }
  noteNonce(state, place, event.lastNonce)
  change(state, place, (seen) => ({ ...seen, nestedNonce: undefined }))
}

function change(
  { sights }: DaemonState,
  place: WalletPlace,
  to: (seen: WalletSight) => WalletSight | undefined,
): void {
  const key = keyOf(place)
  const seen = sights.get(key)
  const changed = seen && to(seen)
  if (changed !== undefined) sights.set(key, changed)
}

function keyOf({ chainId, wallet }: WalletPlace): string {
  return `${chainId}:${wallet}`
}
