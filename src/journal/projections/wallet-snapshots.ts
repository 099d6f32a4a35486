import type { Address } from '../../domain/money/units.ts'
import type { CallRecord } from '../../domain/order/call.ts'
import type { DaemonState, WalletSnapshot } from '../state/daemon-state.ts'

/** A wallet's last known activity on its chain, plus what the journal has made it do since (rule T4). */

export type WalletPlace = { readonly chainId: number; readonly wallet: Address }

/** The wallet of a call. */
export function walletOf({ chainId, account }: CallRecord): WalletPlace {
  return { chainId, wallet: account }
}

/** Undefined before the wallet's first comparison with its chain. */
export function snapshotOf(state: DaemonState, place: WalletPlace): WalletSnapshot | undefined {
  return state.sights.get(walletKey(place))
}

/** A signature may use the wallet's transaction nonces up to this one. */
export function noteNonce(state: DaemonState, place: WalletPlace, nonce: number): void {
  change(state, place, (seen) =>
    nonce >= seen.transactionCount ? { ...seen, transactionCount: nonce + 1 } : undefined,
  )
}

/** A call's nonce was used, for any purpose. */
export function noteNestedNonce(state: DaemonState, place: WalletPlace, nonce: bigint): void {
  change(state, place, (seen) =>
    seen.nestedNonce !== undefined && nonce >= seen.nestedNonce
      ? { ...seen, nestedNonce: nonce + 1n }
      : undefined,
  )
}

/** The account's code changed, so its next nonce is unknown. */
export function forgetNestedNonce(state: DaemonState, place: WalletPlace): void {
  change(state, place, (seen) => ({ ...seen, nestedNonce: undefined }))
}

function change(
  { sights }: DaemonState,
  place: WalletPlace,
  to: (seen: WalletSnapshot) => WalletSnapshot | undefined,
): void {
  const key = walletKey(place)
  const seen = sights.get(key)
  const changed = seen && to(seen)
  if (changed !== undefined) sights.set(key, changed)
}

export function walletKey({ chainId, wallet }: WalletPlace): string {
  return `${chainId}:${wallet}`
}
