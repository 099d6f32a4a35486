import { approvalOf, UNLIMITED } from '../../domain/book/approvals.ts'
import { depositedInDay } from '../../domain/book/deposits.ts'
import type { TransactionRecord } from '../../domain/book/journal.ts'
import type { OpenIntent } from '../../domain/book/state.ts'
import type { Deed } from '../../domain/deed.ts'
import { assertNever } from '../../domain/errors.ts'
import { deedOf } from './deeds.ts'
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
} from './judge.ts'

/** What the signer judges transactions of our own by. */

/** A transaction of our own that is on record. */
export type RecordedDeed = {
  readonly record: TransactionRecord
  readonly deed: Deed
  /** No version of it is signed yet. */
  readonly isFirst: boolean
  /** A block held it before a reorganisation: everybody has its bytes, and they do what was done. */
  readonly isReopened: boolean
}

export function recordedDeed(parts: SignerParts, id: string): RecordedDeed {
  const { state } = parts.journal
  const { record, hashes, isReopened = false } = state.transactions.get(id) ?? {}
  const isOnDisk = record !== undefined && parts.journal.isOnDisk(id)
  check(isOnDisk, 'not-on-record', `no transaction ${id} is on record and on disk`)
  const open = record.intentId === undefined ? undefined : state.intents.get(record.intentId)
  const deed = deedOf(record, open?.venue === 'aggregated' ? open.call : undefined)
  check(deed !== undefined, 'not-on-record', `transaction ${id} is no ${record.purpose}`)
  check(record.from === parts.key.address, 'owner-mismatch', `it is from ${record.from}`)
  return { record, deed, isFirst: hashes?.length === 0, isReopened }
}

/**
 * As `checkTerms`, of a transaction that an order wants, before any version of it is signed. An unwrapping only finishes an order, and
 * a call that is out already goes by either route.
 */
export function checkDeedTerms(parts: SignerParts, { record, deed, isFirst }: RecordedDeed): void {
  const { intents } = parts.journal.state
  const open = record.intentId === undefined ? undefined : intents.get(record.intentId)
  if (open === undefined || !isFirst || deed.type === 'unwrap') return
  const isSent =
    open.venue === 'aggregated' && deed.type === 'call' && isOut(parts, open, deed.call)
  if (!isSent) checkTerms(parts, open)
}

/** A transaction of our own: that it does what its order, or the config, lets it do. */
export function checkDeed(parts: SignerParts, recorded: RecordedDeed): void {
  const { record, deed } = recorded
  checkGas(parts, record, record)
  switch (deed.type) {
    case 'approve':
      checkApproval(parts, recorded, deed)
      return
    case 'wrap':
    case 'unwrap':
      checkWrapping(parts, recorded, deed)
      return
    case 'cancel':
      checkHalt(parts)
      return
    case 'deposit':
      checkDeposit(parts, recorded, deed)
      return
    case 'call': {
      checkFallback(parts)
      const open = orderOf(parts, record)
      check(open?.venue === 'aggregated', 'not-on-record', 'its order is not open')
      const { call } = recordedCall(parts, open.intent.id)
      checkCall(parts, open, call)
      check(record.chainId === call.chainId, 'owner-mismatch', `it is on chain ${record.chainId}`)
      return
    }
    default:
      assertNever(deed)
  }
}

type DeedOf<Type extends Deed['type']> = Extract<Deed, { type: Type }>

function orderOf(
  { journal }: SignerParts,
  { intentId }: TransactionRecord,
): OpenIntent | undefined {
  return intentId === undefined ? undefined : journal.state.intents.get(intentId)
}

function checkApproval(
  parts: SignerParts,
  { record, isFirst, isReopened }: RecordedDeed,
  { token, spender, amount }: DeedOf<'approve'>,
): void {
  const { files, journal, clock } = parts
  check(record.chainId === files.chainId, 'owner-mismatch', `it is on chain ${record.chainId}`)
  const { permit2, approval } = files.gasless
  check(spender === permit2, 'permit2-mismatch', `it lets ${spender} spend`)
  // A right is taken away whatever the files trade, and under a halt as well.
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
  // Orders settle meanwhile, and less is needed by then: what was right at first is not taken back for that.
  const most = isFirst || amount === UNLIMITED ? approvalOf(journal.state, query) : amount
  check(amount <= most, 'amount-above-limit', `gasless.approval: ${approval} allows ${most}`)
}

function checkWrapping(
  parts: SignerParts,
  { record, isReopened }: RecordedDeed,
  deed: DeedOf<'wrap' | 'unwrap'>,
): void {
  const { chainId } = parts.files
  check(record.chainId === chainId, 'owner-mismatch', `it is on chain ${record.chainId}`)
  // An unwrapping only finishes an order, and moves what the wallet holds into another form of the same.
  if (deed.type === 'wrap') {
    checkHalt(parts)
    checkCode(parts, chainId, [deed.token])
  }
  if (isReopened) return
  const open = orderOf(parts, record)
  check(open?.venue === 'gasless', 'not-on-record', 'its order is not open')
  const { sell, buy, maxSell } = open.intent
  const asset = [sell, buy].find(({ native }) => native)
  check(asset?.token.address === deed.token, 'sell-token-mismatch', `of ${deed.token}`)
  if (deed.type === 'unwrap') return
  checkMoment(parts, open)
  check(sell.native && deed.amount <= maxSell, 'amount-above-limit', `it wraps ${deed.amount}`)
}

function checkDeposit(
  parts: SignerParts,
  { record, isReopened }: RecordedDeed,
  { gasTank, account, amount }: DeedOf<'deposit'>,
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
