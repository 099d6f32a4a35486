import { InvariantError } from '../errors.ts'
import { type GasOffer, gasCost } from '../gas.ts'
import type { IntentId } from '../intent.ts'
import { type Address, maxOf } from '../units.ts'
import { endDeposit, recordDeposit, reopenDeposit } from './deposits.ts'
import type { EventOf, TransactionRecord } from './journal.ts'
import { DAY_MS } from './limits.ts'
import { openIntent, openTransaction } from './orders.ts'
import { noteNonce } from './sights.ts'
import type { DaemonState, UnfinalTransaction } from './state.ts'

/** Transactions of our own, and the nonces that they use. */

/**
 * How long a node that names a lower nonce than the journal is taken for one that is behind. Longer than that, a
 * reorganisation has taken our transaction away, and its nonce is free again.
 */
const BEHIND_MS_MAX = 3_600_000

type Account = { readonly chainId: number; readonly from: Address }

export function recordTransaction(
  state: DaemonState,
  record: TransactionRecord,
  atMs: number,
): void {
  const known = state.transactions.get(record.id)
  if (known !== undefined && known.record.nonce !== record.nonce)
    throw new InvariantError(`transaction ${record.id} is open with another nonce`)
  const isDeposit = record.purpose === 'deposit' && record.isCancelling !== true
  if (isDeposit) recordDeposit(state, record, atMs)
  const { hashes = [], cancelling = [], isReopened } = known ?? {}
  state.transactions.set(record.id, { record, hashes, cancelling, isReopened })
  chargeGas(state, record, { atMs, fee: undefined })
  const { id, hash } = record
  if (hash !== undefined) signTransaction(state, { id, hash })
}

export function signTransaction(
  state: DaemonState,
  { id, hash }: Pick<EventOf<'transaction-signed'>, 'id' | 'hash'>,
): void {
  const open = openTransaction(state, id)
  const { record, hashes, cancelling = [] } = open
  // What is signed after a restart is what was signed before.
  if (hashes.includes(hash)) return
  noteNonce(state, { chainId: record.chainId, wallet: record.from }, record.nonce)
  const isCancelling = record.isCancelling === true
  state.transactions.set(id, {
    ...open,
    hashes: [...hashes, hash],
    cancelling: isCancelling ? [...cancelling, hash] : cancelling,
  })
  if (record.purpose !== 'call' || isCancelling) return
  const { intentId } = record
  if (intentId === undefined || !mayBeAsked(state, intentId, id)) return
  const attempt = attemptOf(id)
  state.directCalls.set(attempt, [...(state.directCalls.get(attempt) ?? []), hash])
}

export function endTransaction(
  state: DaemonState,
  event: EventOf<'transaction-ended'>,
  atMs: number,
): void {
  const open = openTransaction(state, event.id)
  const { record, hashes } = open
  const { purpose, intentId } = record
  const { status, hash, blockNumber, blockHash, fee } = event
  if (status === 'withdrawn' && hashes.length > 0)
    throw new InvariantError(`transaction ${event.id} was signed, and may have been sent`)
  state.transactions.delete(event.id)
  if (status === 'withdrawn') state.gasCharges.delete(nonceKey(record))
  else chargeGas(state, record, { atMs, fee, isEnded: true })
  if (hash !== undefined && blockNumber !== undefined && blockHash !== undefined)
    state.unfinalTransactions.set(event.id, { open, hash, blockNumber, blockHash })
  if (status !== 'withdrawn')
    noteNonce(state, { chainId: record.chainId, wallet: record.from }, record.nonce)
  if (purpose === 'deposit') endDeposit(state, event, atMs)
  // It may be made another time.
  if (status === 'withdrawn') return
  noteMinedNonce(state, record, atMs)
  const isAwaited = intentId !== undefined && mayBeAsked(state, intentId, event.id)
  if (purpose !== 'approve' && isAwaited) state.endedTransactions.set(event.id, status)
}

/**
 * A reorganisation took a mined transaction away: it is open again, and whoever goes on with it waits once more. Throws
 * InvariantError for one that is not mined, or is final.
 */
export function reopenTransaction(
  state: DaemonState,
  { id }: EventOf<'transaction-reopened'>,
  atMs: number,
): void {
  const { open } = unfinalTransaction(state, id)
  if (state.transactions.has(id)) throw new InvariantError(`transaction ${id} is open already`)
  state.unfinalTransactions.delete(id)
  state.endedTransactions.delete(id)
  state.transactions.set(id, { ...open, isReopened: true })
  chargeGas(state, open.record, { atMs, fee: undefined })
  if (open.record.purpose === 'deposit') reopenDeposit(state, id)
}

/** No reorganisation takes them away any more. */
export function finishTransactions(
  state: DaemonState,
  { ids }: EventOf<'transactions-final'>,
): void {
  for (const id of ids) unfinalTransaction(state, id)
  for (const id of ids) state.unfinalTransactions.delete(id)
}

export function unfinalTransaction(state: DaemonState, id: string): UnfinalTransaction {
  const unfinal = state.unfinalTransactions.get(id)
  if (unfinal === undefined) throw new InvariantError(`transaction ${id} is not mined, or is final`)
  return unfinal
}

/**
 * Counts a transaction's gas against the day: at most what any version of it may cost as long as it is open, and where nobody
 * says what it cost in the end (rule T7). Whatever a receipt says, no less than its gas at its tip, which is paid in full: the
 * node that suggests a tip must not also say that it cost nothing.
 */
function chargeGas(
  { gasCharges }: Pick<DaemonState, 'gasCharges'>,
  record: GasOffer & Account & { readonly nonce: number },
  seen: { readonly atMs: number; readonly fee: bigint | undefined; readonly isEnded?: boolean },
): void {
  const { atMs, fee, isEnded = false } = seen
  const key = nonceKey(record)
  const before = gasCharges.get(key)
  const most = maxOf(before?.wei ?? 0n, gasCost(record))
  gasCharges.delete(key)
  const { chainId } = record
  const least = record.gas * record.maxPriorityFeePerGas
  const wei = fee === undefined ? most : maxOf(fee, least)
  // A clock that was set back meanwhile must not make it old.
  const latestMs = Math.max(atMs, before?.atMs ?? atMs)
  gasCharges.set(key, { chainId, atMs: latestMs, wei, isOpen: !isEnded })
  for (const [old, charge] of gasCharges)
    if (!charge.isOpen && atMs - charge.atMs >= DAY_MS) gasCharges.delete(old)
}

/** What was given to the service is good for the chain itself, where the wallet pays for it. */
export function chargeEnvelope(
  state: DaemonState,
  { intentId, execution: { txHash, costs } }: EventOf<'call-proven'>,
  atMs: number,
): void {
  const open = openIntent(state, intentId)
  if (open.venue !== 'aggregated' || open.call === undefined) return
  if (txHash !== open.envelopeHash) return
  const { chainId, account: from, envelope } = open.call
  chargeGas(state, { ...envelope, chainId, from }, { atMs, fee: costs.charged, isEnded: true })
}

/** Nobody says what it cost: it counts in full from its signature. */
export function chargeDelegation(
  state: DaemonState,
  { chainId, account: from, draft }: EventOf<'delegation-signed'>,
  atMs: number,
): void {
  if (draft === undefined) return
  chargeGas(state, { ...draft, chainId, from }, { atMs, fee: undefined, isEnded: true })
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

/** What became of a transaction is nobody's any more once its intent is closed, but of a call that may be open again. */
function mayBeAsked({ intents, unfinal }: DaemonState, intentId: IntentId, id: string): boolean {
  return intents.has(intentId) || unfinal.has(attemptOf(id))
}

/** The attempt whose direct transaction has this id. */
function attemptOf(id: string): string {
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
function noteMinedNonce(
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

/** The highest nonce of an account that a transaction of ours is known to have used up. */
export function minedNonceOf(state: DaemonState, account: Account): number | undefined {
  return state.minedNonces.get(accountKey(account))?.nonce
}

function nonceKey(of: Account & { readonly nonce: number }): string {
  return `${accountKey(of)}:${of.nonce}`
}

function accountKey({ chainId, from }: Account): string {
  return `${chainId}:${from}`
}
