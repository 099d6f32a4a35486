import { DAY_MS } from '../../domain/cap-windows.ts'
import { InvariantError } from '../../domain/errors.ts'
import { type GasOffer, gasCost } from '../../domain/money/gas.ts'
import { type Address, maxOf } from '../../domain/money/units.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import { openCalls } from '../../venues/call/call-projection.ts'
import type { TransactionRecord } from '../records.ts'
import type { DaemonState, UnfinalTransaction } from '../state/daemon-state.ts'
import type { WalletPlace } from './wallet-snapshots.ts'

/** Our own transactions, and the nonces that they use. */

/**
 * How long a node that reports a lower nonce than the journal counts as lagging. After that, a reorganisation has removed
 * our transaction, and its nonce is free again.
 */
const BEHIND_MS_MAX = 3_600_000

type Account = { readonly chainId: number; readonly from: Address }

export function unfinalTransaction(state: DaemonState, id: string): UnfinalTransaction {
  const unfinal = state.unfinalTransactions.get(id)
  if (unfinal === undefined) throw new InvariantError(`transaction ${id} is not mined, or is final`)
  return unfinal
}

/** Nonces of transactions without an outcome, including transactions that carry calls. */
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
 * Counts a transaction's gas against the day: the highest cost of any version while open, or if no node reports the cost
 * (rule T7). A reported cost counts at least gas times tip, which is paid in full: the node that suggests the tip could also
 * report a cost of nothing.
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
  // A clock set back meanwhile must not age the charge.
  const latestMs = Math.max(atMs, before?.atMs ?? atMs)
  gasCharges.set(key, { chainId, atMs: latestMs, wei, isOpen: !isEnded })
  for (const [old, charge] of gasCharges)
    if (!charge.isOpen && atMs - charge.atMs >= DAY_MS) gasCharges.delete(old)
}

/**
 * Wei that count against a chain's daily gas: open charges in full, the last day's, and those dated in the future after the
 * clock was set back. `beside` names a nonce to leave out.
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

/** A transaction's outcome matters only while its intent is open, or while its call may be reopened. */
export function isOutcomeAwaited(
  { intents, unfinal }: DaemonState,
  { id, intentId }: Pick<TransactionRecord, 'id' | 'intentId'>,
): boolean {
  return intentId !== undefined && (intents.has(intentId) || unfinal.has(attemptOf(id)))
}

/** The attempt that a direct transaction's id names. */
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

/** Our own transaction ended, so its nonce is used, by it or by another. */
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
 * Lowest nonce for a new transaction of an account, from its open and recently mined transactions. A node that reports a
 * lower one lags: a transaction with that nonce would never be mined.
 */
export function nextNonceAtLeast(state: DaemonState, account: Account, nowMs: number): number {
  const mined = state.minedNonces.get(accountKey(account))
  // The absolute distance: a clock set back must not block the wallet for longer.
  const isRecent = mined !== undefined && Math.abs(nowMs - mined.atMs) <= BEHIND_MS_MAX
  const open = [...state.transactions.values()].flatMap(({ record }) =>
    accountKey(record) === accountKey(account) ? record.nonce + 1 : [],
  )
  return Math.max(isRecent ? mined.nonce + 1 : 0, ...open)
}

/** Highest nonce of an account known to be used up by our transactions. */
export function minedNonceOf(state: DaemonState, account: Account): number | undefined {
  return state.minedNonces.get(accountKey(account))?.nonce
}

export function nonceKey(of: Account & { readonly nonce: number }): string {
  return `${accountKey(of)}:${of.nonce}`
}

function accountKey({ chainId, from }: Account): string {
  return `${chainId}:${from}`
}
