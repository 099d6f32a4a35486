import type { CallRecord } from '../call.ts'
import { hasLiveAuthorization } from '../order.ts'
import { type Address, maxOf } from '../units.ts'
import { firstFreeNonce, openCalls } from './calls.ts'
import { forgetClaims } from './claims.ts'
import type { EventOf } from './journal.ts'
import type { DaemonState, WalletSight } from './state.ts'

/** What a wallet was last seen to have done on its chain, and what the journal has had it do since (rule T4). */

export type WalletPlace = { readonly chainId: number; readonly wallet: Address }

/** The wallet that a call acts for. */
export function walletOf({ chainId, account }: CallRecord): WalletPlace {
  return { chainId, wallet: account }
}

/** Undefined until the wallet was compared with its chain for the first time. */
export function sightOf(state: DaemonState, place: WalletPlace): WalletSight | undefined {
  return state.sights.get(keyOf(place))
}

/**
 * The lowest transaction nonce that neither the last comparison nor a transaction of ours explains; undefined before the first
 * comparison.
 */
export function explainedTransactions(state: DaemonState, place: WalletPlace): number | undefined {
  const seen = sightOf(state, place)?.transactionCount
  if (seen === undefined) return undefined
  return Math.max(seen, ...openNonces(state, place).map((nonce) => nonce + 1))
}

/**
 * The lowest `nestedNonce` that neither the last comparison nor a call of ours explains; undefined where none was seen at that
 * comparison, or the account's code was changed since.
 */
export function explainedNestedNonce(state: DaemonState, place: WalletPlace): bigint | undefined {
  const seen = sightOf(state, place)?.nestedNonce
  if (seen === undefined) return undefined
  const { chainId, wallet: account } = place
  let explained = maxOf(seen, firstFreeNonce(state, { chainId, account }))
  for (const { call, state: at } of openCalls(state)) {
    if (call?.trust !== 'trustless' || call.account !== account) continue
    if (hasLiveAuthorization(at)) explained = maxOf(explained, call.nonce + 1n)
  }
  return explained
}

export function noteComparison(state: DaemonState, event: EventOf<'wallet-compared'>): void {
  const { sinceBlock, blockNumber, transactionCount } = event
  const before = sightOf(state, event)
  const { nestedNonce = before?.nestedNonce } = event
  state.sights.set(keyOf(event), { sinceBlock, blockNumber, transactionCount, nestedNonce })
  // What a node that is behind does not know of yet, or what is signed and in no block, is accounted for all the same.
  if (before !== undefined) noteNonce(state, event, before.transactionCount - 1)
  if (before?.nestedNonce !== undefined) noteNestedNonce(state, event, before.nestedNonce - 1n)
  for (const nonce of openNonces(state, event)) noteNonce(state, event, nonce)
  if (event.wallet === state.bound?.owner && event.chainId === state.bound.chainId)
    forgetClaims(state)
}

/** Of transactions whose fate is unknown, those that carry calls included. */
function openNonces(state: DaemonState, { chainId, wallet }: WalletPlace): readonly number[] {
  const own = [...state.transactions.values()].flatMap(({ record }) =>
    record.chainId === chainId && record.from === wallet ? [record.nonce] : [],
  )
  const carriers = openCalls(state).flatMap(({ call, envelopeHash }) =>
    call?.chainId === chainId && call.account === wallet && envelopeHash !== undefined
      ? [call.envelope.nonce]
      : [],
  )
  return [...own, ...carriers]
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
  const { account, chainId, delegate, draft } = event
  state.delegation = draft && { account, chainId, delegate, ...draft }
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
