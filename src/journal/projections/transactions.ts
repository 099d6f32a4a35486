import { DAY_MS } from '../../domain/cap-windows.ts'
import { InvariantError } from '../../domain/errors.ts'
import { type GasOffer, gasCost } from '../../domain/money/gas.ts'
import { type Address, maxOf } from '../../domain/money/units.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import { openCalls } from '../../venues/call/call-projection.ts'
import type { TransactionRecord } from '../records.ts'
import type { DaemonState, UnfinalTransaction } from '../state/daemon-state.ts'
import type { WalletPlace } from './wallet-snapshots.ts'

/** Transactions of our own, and the nonces that they use. */

/**
 * How long a node that names a lower nonce than the journal counts as lagging. After that, a reorganisation has taken our
 * transaction away, and its nonce is free again.
 */
const BEHIND_MS_MAX = 3_600_000

type Account = { readonly chainId: number; readonly from: Address }

export function unfinalTransaction(state: DaemonState, id: string): UnfinalTransaction {
  const unfinal = state.unfinalTransactions.get(id)
  if (unfinal === undefined) throw new InvariantError(`transaction ${id} is not mined, or is final`)
  return unfinal
}

/** Nonces of transactions without an outcome, those that carry calls included. */
export function openNonces(
  state: DaemonState,
  { chainId, wallet }: WalletPlace,
): readonly number[] {
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

/**
 * Counts a transaction's gas against the day: the most that any version of it may cost while it is open, or if nobody reports
 * the cost in the end (rule T7). Whatever a receipt says, no less than its gas at its tip, which is paid in full: the node that
 * suggests the tip could also report a cost of nothing.
 */
export function chargeGas(
  { gasCharges }: Pick<DaemonState, 'gasCharges'>,
  record: GasOffer & Account & { readonly nonce: number },
  seen: { readonly atMs: number; readonly fee: bigint | undefined; readonly isEnded?: boolean },
): void {
  const { atMs, fee, isEnded = false } = seen
  const { chainId, gas, maxPriorityFeePerGas } = record
  const key = nonceKey(record)
  const before = gasCharges.get(key)
  const most = maxOf(before?.wei ?? 0n, gasCost(record))
  gasCharges.delete(key)
  const wei = fee === undefined ? most : maxOf(fee, gas * maxPriorityFeePerGas)
  // A clock that was set back meanwhile must not make it old.
  const latestMs = Math.max(atMs, before?.atMs ?? atMs)
  gasCharges.set(key, { chainId, atMs: latestMs, wei, isOpen: !isEnded })
  for (const [old, charge] of gasCharges)
    if (!charge.isOpen && atMs - charge.atMs >= DAY_MS) gasCharges.delete(old)
}

/**
 * Wei that count against a chain's day of gas: what is open in full, and what a clock that was set back has put into the future.
 * `beside`: what else than the nonce of this account.
 */
export function gasInDay(
  { gasCharges }: DaemonState,
  query: {
    readonly chainId: number
    readonly nowMs: number
    readonly beside?: Account & { readonly nonce: number }
  },
): bigint {
  const { chainId, nowMs, beside } = query
  const except = beside === undefined ? undefined : nonceKey(beside)
  let sum = 0n
  for (const [key, charge] of gasCharges) {
    const counts = charge.isOpen || nowMs - charge.atMs < DAY_MS
    if (counts && charge.chainId === chainId && key !== except) sum += charge.wei
  }
  return sum
}

/** Nothing depends on a transaction's outcome once its intent is closed, unless a call may be open again. */
export function isOutcomeAwaited(
  { intents, unfinal }: DaemonState,
  { id, intentId }: Pick<TransactionRecord, 'id' | 'intentId'>,
): boolean {
  return intentId !== undefined && (intents.has(intentId) || unfinal.has(attemptOf(id)))
}

/** The attempt whose direct transaction has this id. */
export function attemptOf(id: string): string {
  return id.slice(0, id.lastIndexOf(':'))
}

export function forgetTransactions(state: DaemonState, id: IntentId): void {
  state.endedTransactions.delete(`${id}:wrap`)
  state.endedTransactions.delete(`${id}:unwrap`)
  for (const attempt of state.directCalls.keys())
    if (attempt.startsWith(`${id}:`) && !state.unfinal.has(attempt)) forgetDirect(state, attempt)
}

export function forgetDirect(state: DaemonState, attempt: string): void {
  state.directCalls.delete(attempt)
  state.endedTransactions.delete(`${attempt}:call`)
}

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
 * The lowest nonce that a new transaction of an account may have, as far as its own transactions show, those that are not
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

/** The highest nonce of an account that a transaction of ours is known to have used up. */
export function minedNonceOf(state: DaemonState, account: Account): number | undefined {
  return state.minedNonces.get(accountKey(account))?.nonce
}

export function nonceKey(of: Account & { readonly nonce: number }): string {
  return `${accountKey(of)}:${of.nonce}`
}

function accountKey({ chainId, from }: Account): string {
  return `${chainId}:${from}`
}
