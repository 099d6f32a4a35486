import { InvariantError } from '../../../domain/errors.ts'
import { ETHER, type Token } from '../../../domain/money/token.ts'
import type { Hex } from '../../../domain/money/units.ts'
import type { IntentId } from '../../../domain/order/intent.ts'
import type { Exchanged, Posting } from '../../ledger/entry.ts'
import {
  endDeposit,
  isSameDepositor,
  minedDeposit,
  recordDeposit,
  reopenDeposit,
} from '../../projections/deposits.ts'
import { openTransaction } from '../../projections/order-reducer.ts'
import {
  attemptOf,
  chargeGas,
  isOutcomeAwaited,
  nonceKey,
  noteMinedNonce,
  unfinalTransaction,
} from '../../projections/transactions.ts'
import { noteNonce } from '../../projections/wallet-snapshots.ts'
import type { TransactionPurpose, TransactionRecord } from '../../records.ts'
import type { DaemonState } from '../../state/daemon-state.ts'
import { defineEvent } from '../event.ts'

/** Transactions of our own wallets, and deposits that the service has seen. */

/** One step of a transaction: the form in which all of its events are reported. */
export type TransactionStep = {
  readonly intentId: IntentId | undefined
  readonly purpose: TransactionPurpose
  readonly status: 'recorded' | 'replaced' | 'signed' | TransactionEnded['status'] | 'reopened'
  /** Undefined as long as nothing is signed. */
  readonly hash: Hex | undefined
  /** Fee in wei; undefined before it is in a block, and if no node reported it. */
  readonly fee?: bigint | undefined
  readonly exchanged?: Exchanged | undefined
}

type TransactionRecorded = {
  readonly type: 'transaction-recorded'
  readonly transaction: TransactionRecord
}

export const transactionRecorded = defineEvent<TransactionRecorded, TransactionStep>({
  type: 'transaction-recorded',
  reduce(state, { transaction: record }, atMs) {
    const known = state.transactions.get(record.id)
    if (known !== undefined && known.record.nonce !== record.nonce)
      throw new InvariantError(`transaction ${record.id} is open with another nonce`)
    const isDeposit = record.purpose === 'deposit' && record.isCancelling !== true
    if (isDeposit) recordDeposit(state, record, atMs)
    const { hashes = [], cancelling = [], isReopened } = known ?? {}
    state.transactions.set(record.id, { record, hashes, cancelling, isReopened })
    chargeGas(state, record, { atMs, fee: undefined })
    const { id, hash } = record
    if (hash !== undefined) sign(state, { id, hash })
  },
  context(state, { transaction }) {
    const status = state.transactions.has(transaction.id) ? 'replaced' : 'recorded'
    return stepOf(transaction, { status, hash: transaction.hash })
  },
  about: ({ transaction }) => ({ intentIds: [transaction.intentId] }),
  posting: stepPosting,
  signable: ({ transaction }) => transaction.id,
  anchors: ({ transaction }) => [transaction.from],
})

/** It is signed, and may have been sent from here on. */
export type TransactionSigned = {
  readonly type: 'transaction-signed'
  readonly id: string
  readonly hash: Hex
}

export const transactionSigned = defineEvent<TransactionSigned, TransactionStep>({
  type: 'transaction-signed',
  reduce: sign,
  context: (state, { id, hash }) =>
    stepOf(openTransaction(state, id).record, { status: 'signed', hash }),
  about: stepAbout,
  posting: stepPosting,
  // Without it the record looks as if it had never been signed.
  anchors: (_, { trader, operator }) => [trader, operator],
})

function sign(state: DaemonState, { id, hash }: { readonly id: string; readonly hash: Hex }): void {
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
  if (!isOutcomeAwaited(state, record)) return
  const attempt = attemptOf(id)
  state.directCalls.set(attempt, [...(state.directCalls.get(attempt) ?? []), hash])
}

export type TransactionEnded = {
  readonly type: 'transaction-ended'
  readonly id: string
  /** `withdrawn`: it was recorded and never signed. */
  readonly status: 'mined' | 'reverted' | 'lost' | 'withdrawn'
  readonly hash: Hex | undefined
  readonly blockNumber: bigint | undefined
  /** Of its block, where a reorganisation may still take it away; what ended at a final block has none. */
  readonly blockHash?: Hex | undefined
  /** Wei that the chain took for it, where the node said. */
  readonly fee?: bigint | undefined
}

export const transactionEnded = defineEvent<TransactionEnded, TransactionStep>({
  type: 'transaction-ended',
  reduce(state, event, atMs) {
    const open = openTransaction(state, event.id)
    const { record, hashes } = open
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
    if (record.purpose === 'deposit') endDeposit(state, event, atMs)
    // It may be made another time.
    if (status === 'withdrawn') return
    noteMinedNonce(state, record, atMs)
    if (record.purpose !== 'approve' && isOutcomeAwaited(state, record))
      state.endedTransactions.set(event.id, status)
  },
  context(state, { id, status, hash, fee }) {
    const { record } = openTransaction(state, id)
    const exchanged = status === 'mined' ? exchangedBy(record) : undefined
    return stepOf(record, { status, hash, fee, exchanged })
  },
  about: stepAbout,
  posting: stepPosting,
})

/** A reorganisation took a mined transaction out of its block: it is open again, with every hash that it had. */
type TransactionReopened = {
  readonly type: 'transaction-reopened'
  readonly id: string
  readonly blockNumber: bigint
  /** Of the block that stands there now; undefined where there is none. */
  readonly blockHash: Hex | undefined
}

export const transactionReopened = defineEvent<TransactionReopened, TransactionStep>({
  type: 'transaction-reopened',
  reduce(state, { id }, atMs) {
    const { open } = unfinalTransaction(state, id)
    if (state.transactions.has(id)) throw new InvariantError(`transaction ${id} is open already`)
    state.unfinalTransactions.delete(id)
    state.endedTransactions.delete(id)
    state.transactions.set(id, { ...open, isReopened: true })
    chargeGas(state, open.record, { atMs, fee: undefined })
    if (open.record.purpose === 'deposit') reopenDeposit(state, id)
  },
  context(state, { id }) {
    const { open, hash } = unfinalTransaction(state, id)
    return stepOf(open.record, { status: 'reopened', hash })
  },
  about: stepAbout,
  posting: stepPosting,
})

/** No reorganisation takes these mined transactions away any more. */
type TransactionsFinal = {
  readonly type: 'transactions-final'
  readonly ids: readonly string[]
  readonly blockNumber: bigint
}

export const transactionsFinal = defineEvent<TransactionsFinal>({
  type: 'transactions-final',
  reduce(state, { ids }) {
    for (const id of ids) unfinalTransaction(state, id)
    for (const id of ids) state.unfinalTransactions.delete(id)
  },
})

/** The service showed a deposit in its own figure, and with it whatever the account deposited before. */
type DepositIndexed = {
  readonly type: 'deposit-indexed'
  /** Of its transaction. */
  readonly id: string
}

type DepositIndexedContext = {
  /** Wei. */
  readonly amount: bigint
}

export const depositIndexed = defineEvent<DepositIndexed, DepositIndexedContext>({
  type: 'deposit-indexed',
  reduce(state, { id }) {
    const indexed = minedDeposit(state, id)
    for (const [each, deposit] of state.deposits) {
      if (isSameDepositor(deposit, indexed))
        state.deposits.set(each, { ...deposit, isIndexed: true })
      if (each === id) return
    }
  },
  context: (state, { id }) => ({ amount: minedDeposit(state, id).amount }),
})

/** What a recorded event did with a transaction; undefined for other events. */
export function transactionStepOf({
  event,
  context,
}: {
  readonly event: { readonly type: string }
  readonly context: object
}): TransactionStep | undefined {
  const steps = [transactionRecorded, transactionSigned, transactionEnded, transactionReopened]
  return steps.some((each) => each.is(event)) ? (context as TransactionStep) : undefined
}

function stepOf(
  { intentId, purpose }: TransactionRecord,
  step: Omit<TransactionStep, 'intentId' | 'purpose'>,
): TransactionStep {
  return { intentId, purpose, ...step }
}

function stepAbout(_: object, step: TransactionStep | undefined) {
  return { intentIds: [step?.intentId] }
}

function stepPosting(_: object, step: TransactionStep, atMs: number): Posting {
  const { intentId, purpose, fee, exchanged, hash: txHash, status } = step
  if (status === 'reopened' && txHash !== undefined) return { tag: 'unmined', txHash }
  if (fee === undefined && exchanged === undefined) return undefined
  const strategy = intentId?.split(':')[0]
  return {
    tag: 'entry',
    entry: { type: 'gas', atMs, intentId, strategy, purpose, fee, txHash, exchanged },
  }
}

/** `withdraw(uint256)` with its amount. */
const WITHDRAWAL = /^0x[0-9a-f]{8}([0-9a-f]{64})$/i

/** The ether that a wrap turned into its token, or an unwrap back; undefined for anything else. */
function exchangedBy(record: TransactionRecord): Exchanged | undefined {
  const { purpose, to: address, chainId, value, data, isCancelling } = record
  if (isCancelling === true) return undefined
  const wrapped: Token = { ...ETHER, symbol: 'WETH', chainId, address }
  if (purpose === 'wrap') return { sell: ETHER, buy: wrapped, amount: value }
  const amount = purpose === 'unwrap' ? WITHDRAWAL.exec(data)?.[1] : undefined
  return amount === undefined
    ? undefined
    : { sell: wrapped, buy: ETHER, amount: BigInt(`0x${amount}`) }
}

export const TRANSACTION_EVENTS = [
  transactionRecorded,
  transactionSigned,
  transactionEnded,
  transactionReopened,
  transactionsFinal,
  depositIndexed,
] as const
