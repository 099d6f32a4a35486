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

/** Our own wallet transactions, and deposits seen by the service. */

/** One step of a transaction; all its events are reported in this form. */
export type TransactionStep = {
  readonly intentId: IntentId | undefined
  readonly purpose: TransactionPurpose
  readonly status: 'recorded' | 'replaced' | 'signed' | TransactionEnded['status'] | 'reopened'
  /** Undefined until something is signed. */
  readonly hash: Hex | undefined
  /** Fee in wei; undefined until a block includes it, and if no node reported it. */
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

/** The transaction is signed. From this record on, it may have been sent. */
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
  // If this record were lost, the transaction would look unsigned.
  anchors: (_, { trader, operator }) => [trader, operator],
})

function sign(state: DaemonState, { id, hash }: { readonly id: string; readonly hash: Hex }): void {
  const open = openTransaction(state, id)
  const { record, hashes, cancelling = [] } = open
  // A restart signs the same bytes again.
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
  /** `withdrawn`: recorded and never signed. */
  readonly status: 'mined' | 'reverted' | 'lost' | 'withdrawn'
  readonly hash: Hex | undefined
  readonly blockNumber: bigint | undefined
  /** Hash of its block, if a reorganisation may still remove it; undefined for an end at a final block. */
  readonly blockHash?: Hex | undefined
  /** Fee taken by the chain, in wei; undefined if the node did not report it. */
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
    // A withdrawn transaction may be recorded again.
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

/** A reorganisation removed a mined transaction: it is open again, with all its hashes. */
type TransactionReopened = {
  readonly type: 'transaction-reopened'
  readonly id: string
  readonly blockNumber: bigint
  /** Hash of the block now at that height; undefined if there is none. */
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

/** These mined transactions are final: no reorganisation can remove them. */
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

/** The service's balance includes a deposit, and with it the account's earlier deposits. */
type DepositIndexed = {
  readonly type: 'deposit-indexed'
  /** Id of the deposit's transaction. */
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

/** The transaction step of a recorded event; undefined for other events. */
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

/** `withdraw(uint256)` calldata; captures the amount. */
const WITHDRAWAL = /^0x[0-9a-f]{8}([0-9a-f]{64})$/i

/** Ether exchanged by a wrap or unwrap; undefined for other transactions. */
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
