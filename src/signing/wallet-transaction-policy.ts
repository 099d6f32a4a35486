import { assertNever } from '../domain/errors.ts'
import type { WalletTransaction } from '../domain/order/wallet-transaction.ts'
import { depositedInDay } from '../journal/projections/deposits.ts'
import { approvalOf, UNLIMITED } from '../journal/projections/limits.ts'
import type { TransactionRecord } from '../journal/records.ts'
import type { OpenIntent } from '../journal/state/daemon-state.ts'
import { callOf } from '../venues/call/call-projection.ts'
import { swapOf } from '../venues/swap/swap-projection.ts'
import {
  aggregatorOf,
  assetsOfIntent,
  check,
  checkCall,
  checkCode,
  checkFallback,
  checkGas,
  checkHalt,
  checkMoment,
  checkTerms,
  isOut,
  recordedCall,
  type SignerParts,
} from './policy.ts'
import { walletTransactionOf } from './wallet-transactions.ts'

type RecordedTransaction = {
  readonly record: TransactionRecord
  readonly transaction: WalletTransaction
  readonly isFirst: boolean
  /** A reorg reopened it: its bytes are public, and only repeat what was already done. */
  readonly isReopened: boolean
}

export function recordedTransaction(parts: SignerParts, id: string): RecordedTransaction {
  const { state } = parts.journal
  const { record, hashes, isReopened = false } = state.transactions.get(id) ?? {}
  const isOnDisk = record !== undefined && parts.journal.isOnDisk(id)
  check(isOnDisk, 'not-on-record', `no transaction ${id} is on record and on disk`)
  const open = record.intentId === undefined ? undefined : state.intents.get(record.intentId)
  const transaction = walletTransactionOf(record, callOf(open)?.call)
  check(transaction !== undefined, 'not-on-record', `transaction ${id} is no ${record.purpose}`)
  check(record.from === parts.key.address, 'owner-mismatch', `it is from ${record.from}`)
  return { record, transaction, isFirst: hashes?.length === 0, isReopened }
}

/** Like `checkTerms`, before a first signature. Exempts unwrapping, and calls that are already signed. */
export function checkTransactionTerms(
  parts: SignerParts,
  { record, transaction, isFirst }: RecordedTransaction,
): void {
  const { intents } = parts.journal.state
  const open = record.intentId === undefined ? undefined : intents.get(record.intentId)
  if (open === undefined || !isFirst || transaction.type === 'unwrap') return
  const call = callOf(open)
  const isSent =
    call !== undefined && transaction.type === 'call' && isOut(parts, call, transaction.call)
  if (!isSent) checkTerms(parts, open)
}

/** Requires a wallet transaction to do only what its order or the config allows. */
export function checkTransaction(parts: SignerParts, recorded: RecordedTransaction): void {
  const { record, transaction } = recorded
  checkGas(parts, record, record)
  switch (transaction.type) {
    case 'approve':
      checkApproval(parts, recorded, transaction)
      return
    case 'wrap':
    case 'unwrap':
      checkWrapping(parts, recorded, transaction)
      return
    case 'cancel':
      checkHalt(parts)
      return
    case 'deposit':
      checkDeposit(parts, recorded, transaction)
      return
    case 'call': {
      checkFallback(parts)
      const open = callOf(orderOf(parts, record))
      check(open !== undefined, 'not-on-record', 'its order is not open')
      const { call } = recordedCall(parts, open.intent.id)
      checkCall(parts, open, call)
      check(record.chainId === call.chainId, 'owner-mismatch', `it is on chain ${record.chainId}`)
      return
    }
    default:
      assertNever(transaction)
  }
}

type WalletTransactionOf<Type extends WalletTransaction['type']> = Extract<
  WalletTransaction,
  { type: Type }
>

function orderOf(
  { journal }: SignerParts,
  { intentId }: TransactionRecord,
): OpenIntent | undefined {
  return intentId === undefined ? undefined : journal.state.intents.get(intentId)
}

function checkApproval(
  parts: SignerParts,
  { record, isFirst, isReopened }: RecordedTransaction,
  { token, spender, amount }: WalletTransactionOf<'approve'>,
): void {
  const { files, journal, clock } = parts
  check(record.chainId === files.chainId, 'owner-mismatch', `it is on chain ${record.chainId}`)
  const { permit2, approval } = files.gasless
  check(spender === permit2, 'permit2-mismatch', `it lets ${spender} spend`)
  // Revoking a right is always allowed, even under a halt.
  if (amount === 0n) return
  checkHalt(parts)
  checkCode(parts, record.chainId, [permit2, token])
  if (isReopened) return
  const isTraded = [...files.strategies.keys()].some((name) =>
    assetsOfIntent(files, name).has(token),
  )
  check(isTraded, 'sell-token-mismatch', `no strategy trades ${token}`)
  const open = orderOf(parts, record)
  const own = open && files.strategies.get(open.intent.strategy)?.limits
  const { account } = files
  const query = { approval, token: { address: token }, nowMs: clock.now(), account, own }
  // Ended orders lower the required amount, but an approval that was right when first signed stays valid.
  const most = isFirst || amount === UNLIMITED ? approvalOf(journal.state, query) : amount
  check(amount <= most, 'amount-above-limit', `gasless.approval: ${approval} allows ${most}`)
}

function checkWrapping(
  parts: SignerParts,
  { record, isReopened }: RecordedTransaction,
  transaction: WalletTransactionOf<'wrap' | 'unwrap'>,
): void {
  const { chainId } = parts.files
  check(record.chainId === chainId, 'owner-mismatch', `it is on chain ${record.chainId}`)
  // Unwrapping finishes an order and only converts the wallet's own holdings.
  if (transaction.type === 'wrap') {
    checkHalt(parts)
    checkCode(parts, chainId, [transaction.token])
  }
  if (isReopened) return
  const open = swapOf(orderOf(parts, record))
  check(open !== undefined, 'not-on-record', 'its order is not open')
  const { sell, buy, maxSell } = open.intent
  const asset = [sell, buy].find(({ native }) => native)
  check(
    asset?.token.address === transaction.token,
    'sell-token-mismatch',
    `of ${transaction.token}`,
  )
  if (transaction.type === 'unwrap') return
  checkMoment(parts, open)
  check(
    sell.native && transaction.amount <= maxSell,
    'amount-above-limit',
    `it wraps ${transaction.amount}`,
  )
}

function checkDeposit(
  parts: SignerParts,
  { record, isReopened }: RecordedTransaction,
  { gasTank, account, amount }: WalletTransactionOf<'deposit'>,
): void {
  checkHalt(parts)
  const { settings, chainId } = aggregatorOf(parts)
  const isTank = gasTank === settings.contracts.gasTank && record.chainId === chainId
  check(isTank, 'target-not-allowed', `${gasTank} is not the GasTank`)
  check(account === parts.key.address, 'owner-mismatch', `it is for ${account}`)
  checkCode(parts, chainId, [gasTank])
  if (record.isAsked !== false || isReopened) return
  const { topUp } = settings.gasTank
  const { state } = parts.journal
  const isAllowed =
    topUp !== undefined &&
    amount <= topUp.amountWei &&
    depositedInDay(state, parts.clock.now()) <= topUp.maxPerDayWei
  check(isAllowed, 'amount-above-limit', `aggregator.gasTank.topUp does not allow ${amount}`)
}
