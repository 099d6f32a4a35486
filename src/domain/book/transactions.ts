import type { Address } from '../units.ts'
import type { TransactionRecord } from './journal.ts'
import type { DaemonState } from './state.ts'

/**
 * How long a node that names a lower nonce than the journal is taken for one that is behind. Longer than that, a
 * reorganisation has taken our transaction away, and its nonce is free again.
 */
const BEHIND_MS_MAX = 3_600_000

type Account = { readonly chainId: number; readonly from: Address }

/** A transaction of our own has ended, and with it its nonce: it was used by that one, or by another. */
export function noteMinedNonce(
  state: DaemonState,
  { chainId, from, nonce }: TransactionRecord,
  atMs: number,
): void {
  const key = accountKey({ chainId, from })
  const known = state.minedNonces.get(key)
  if (known === undefined || known.nonce <= nonce) state.minedNonces.set(key, { nonce, atMs })
}

/**
 * The lowest nonce that a new transaction of an account may have, as far as its own transactions tell, those that are not
 * final yet among them; a node that names a lower one is behind, and what is signed for that would never be mined.
 */
export function nextNonceAtLeast(state: DaemonState, account: Account, nowMs: number): number {
  const mined = state.minedNonces.get(accountKey(account))
  // The distance and not the difference: a clock that was set back must not keep a wallet from sending for longer.
  const isRecent = mined !== undefined && Math.abs(nowMs - mined.atMs) <= BEHIND_MS_MAX
  const open = [...state.transactions.values()].flatMap(({ record }) =>
    accountKey(record) === accountKey(account) ? record.nonce + 1 : [],
  )
  return Math.max(isRecent ? mined.nonce + 1 : 0, ...open)
}

function accountKey({ chainId, from }: Account): string {
  return `${chainId}:${from}`
}
