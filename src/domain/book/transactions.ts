import { InvariantError } from '../errors.ts'
import type { IntentId } from '../intent.ts'
import type { Address } from '../units.ts'
import { endDeposit, recordDeposit } from './deposits.ts'
import type { EventOf, TransactionRecord } from './journal.ts'
import { openTransaction } from './orders.ts'
import { noteNonce } from './sights.ts'
import type { DaemonState } from './state.ts'

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
  const { hashes = [], cancelling = [] } = known ?? {}
  state.transactions.set(record.id, { record, hashes, cancelling })
  const { id, hash } = record
  if (hash !== undefined) signTransaction(state, { id, hash })
}

export function signTransaction(
  state: DaemonState,
  { id, hash }: Pick<EventOf<'transaction-signed'>, 'id' | 'hash'>,
): void {
  const { record, hashes, cancelling = [] } = openTransaction(state, id)
  // What is signed after a restart is what was signed before.
  if (hashes.includes(hash)) return
  noteNonce(state, { chainId: record.chainId, wallet: record.from }, record.nonce)
  const isCancelling = record.isCancelling === true
  state.transactions.set(id, {
    record,
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
  const { record, hashes } = openTransaction(state, event.id)
  const { purpose, intentId } = record
  const { status } = event
  if (status === 'withdrawn' && hashes.length > 0)
    throw new InvariantError(`transaction ${event.id} was signed, and may have been sent`)
  state.transactions.delete(event.id)
  if (status !== 'withdrawn')
    noteNonce(state, { chainId: record.chainId, wallet: record.from }, record.nonce)
  if (purpose === 'deposit') endDeposit(state, event, atMs)
  // It may be made another time.
  if (status === 'withdrawn') return
  noteMinedNonce(state, record, atMs)
  const isAwaited = intentId !== undefined && mayBeAsked(state, intentId, event.id)
  if (purpose !== 'approve' && isAwaited) state.endedTransactions.set(event.id, status)
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

function accountKey({ chainId, from }: Account): string {
  return `${chainId}:${from}`
}
