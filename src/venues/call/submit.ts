import type { Hex } from '../../domain/money/units.ts'
import type { CallRecord } from '../../domain/order/call.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import { callSigned } from '../../journal/events/order/authorizations.ts'
import type { OpenCall } from '../../journal/state/daemon-state.ts'
import type { Aggregator, AggregatorFault, AggregatorReply } from '../../ports.ts'
import { payloadOf } from '../../signing/wallet-transactions.ts'
import { type SubmitReply, withdraw } from '../authorization.ts'
import { askChainOnce } from '../chain-requests.ts'
import { blockedBy, type Refusal } from '../close.ts'
import type { AggregatorContext, CallContext } from '../context.ts'
import { type TransactionOutcome, transactOnce } from '../wallet/transaction.ts'
import { withLimitAdvice } from './call-gas.ts'

/** Calls recorded by this process and never sent. */
const unsent = new WeakSet<CallRecord>()

/**
 * Submits a recorded call at its turn; undefined if it was not sent. The signature is journaled before the service gets it.
 * A new call that missed its turn still counts as a first submission later.
 */
export async function submitCall(
  context: CallContext,
  open: OpenCall,
  how: {
    /** Abort to give up the turn. */
    readonly end: AbortSignal
    /** Checked at its turn and again after signing, because it may have waited for minutes. */
    readonly mayBegin: () => boolean
    readonly onRefused: (why: Refusal) => void
    readonly isNew?: boolean
  },
): Promise<SubmitReply | undefined> {
  const { end, mayBegin, onRefused, isNew = false } = how
  const { aggregator, ports } = context
  const { call, intent } = open
  if (call === undefined) return undefined
  let isFirst = false
  if (isNew) unsent.add(call)
  const route = submitRoute(aggregator)
  const reply = await aggregator.service.onTurn(end, route, async (service, turn) => {
    const send = await readSender(context, call, { service, onRefused })
    if (send === undefined || !mayBegin()) return turn.giveBack()
    const signed = aggregator.wallet.signer.envelope(intent.id)
    if (!signed.ok) {
      onRefused(signed)
      // A trusted call has only its transaction's signature, and no deadline to end its record.
      if (call.trust === 'trusted' && open.envelopeHash === undefined && unsent.has(call))
        await withdraw(context, open, { attempt: call.attempt, reason: signed.reason })
      return turn.giveBack()
    }
    const { raw, hash } = signed.value
    if (open.envelopeHash !== hash) {
      const { attempt } = call
      await ports.journal.append(callSigned({ intentId: intent.id, attempt, hash }))
      if (!mayBegin()) return turn.giveBack()
    }
    isFirst = unsent.delete(call)
    return send(raw)
  })
  if (reply === undefined) return undefined
  if (reply.ok) return { tag: 'accepted', orderId: reply.value }
  const { tag } = reply.fault
  const message = withLimitAdvice(reply.fault.message, call)
  return { tag: isFirst && isRefusal(call, tag) ? 'rejected' : 'unknown', message }
}

/** The route of submissions, by the operator's choice. */
export function submitRoute({ settings }: AggregatorContext) {
  return settings.submit === 'bundle' ? 'sendBundle' : 'sendRawTransaction'
}

/** Blocks from the newest to a bundle's, so that its block is still to come when the service reads it. */
const BLOCKS_AHEAD = 2n

/** Submits as the operator chose. A bundle names a block; undefined if that could not be read. */
async function readSender(
  context: CallContext,
  { account }: CallRecord,
  how: {
    readonly service: Aggregator
    readonly onRefused: (why: Refusal) => void
  },
): Promise<((raw: Hex) => Promise<AggregatorReply<Hex>>) | undefined> {
  const { service } = how
  const { chain, settings } = context.aggregator
  if (settings.submit === 'transaction') return (raw) => service.sendRawTransaction(raw)
  const { gasTank } = settings.contracts
  const seen = await askChainOnce(context, 'reading the block for a bundle', () =>
    chain.account({ account, gasTank }),
  )
  if (seen.ok) return (raw) => service.sendBundle(raw, seen.value.blockNumber + BLOCKS_AHEAD)
  how.onRefused({ ok: false, reason: 'chain-unavailable', detail: seen.fault.message })
  return undefined
}

/**
 * True if a fault of the first submission proves that the call was not accepted; later faults prove nothing (rule G7). A
 * misread refusal could execute a trusted call twice, so only refusals that the interface defines count (rule A2).
 */
function isRefusal({ trust }: CallRecord, tag: AggregatorFault['tag']): boolean {
  return trust === 'trusted' ? NAMED_REFUSALS.has(tag) : !INCONCLUSIVE.has(tag)
}

const NAMED_REFUSALS: ReadonlySet<AggregatorFault['tag']> = new Set([
  'accountNotFound',
  'insufficientBalance',
])
const INCONCLUSIVE: ReadonlySet<AggregatorFault['tag']> = new Set([
  'unavailable',
  'rateLimited',
  'transactionNotFound',
])

/**
 * Sends the call directly. A trustless call competes with the service for one nonce, so at most one executes (rule A1). A
 * trusted call is the very transaction that the service refused (rule A2).
 */
export async function sendDirectly(
  context: CallContext,
  intentId: IntentId,
  call: CallRecord,
  onInBlock: () => void,
): Promise<TransactionOutcome> {
  const { wallet } = context.aggregator
  const signed = wallet.signer.onCall(intentId, 'direct')
  if (!signed.ok) return { tag: 'blocked', closing: blockedBy(signed) }
  const payload = payloadOf({ type: 'call', call })
  return transactOnce(context, wallet, {
    id: directId(call),
    purpose: 'call',
    intentId,
    ...payload,
    signedData: call.trust === 'trustless' ? signed.value : payload.data,
    onInBlock,
  })
}

/** Id of an attempt's direct transaction, which is made at most once. */
export function directId(call: CallRecord): string {
  return `${call.clientOrderId}:call`
}
