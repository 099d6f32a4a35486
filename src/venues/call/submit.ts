import type { OpenCall } from '../../domain/book/state.ts'
import type { CallRecord } from '../../domain/call.ts'
import type { AggregatorFault } from '../../ports.ts'
import { payloadOf } from '../authority/deeds.ts'
import { type SubmitReply, withdraw } from '../authorization.ts'
import { barredBy, type Refusal } from '../close.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'
import { type TransactionOutcome, transactOnce } from '../transaction.ts'

/** Calls that this process has recorded and sent to nobody yet. */
const unsent = new WeakSet<CallRecord>()

/**
 * Sends a recorded call to the service, when its turn comes; undefined when it was not sent. That it is signed is on disk before
 * the service can have it. One that is new, and was never sent because its turn came too late, is still the first when it is
 * sent later.
 */
export async function submitCall(
  context: OrderContext,
  open: OpenCall,
  {
    end,
    mayBegin,
    onBarred,
    isNew = false,
  }: {
    /** A turn that has not come when this is aborted never does. */
    readonly end: AbortSignal
    /** Asked when its turn has come, and again once it is signed: it may have waited for minutes. */
    readonly mayBegin: () => boolean
    /** Told why the signer makes no signature. */
    readonly onBarred: (why: Refusal) => void
    /** Recorded just now, and sent by nobody yet. */
    readonly isNew?: boolean
  },
): Promise<SubmitReply | undefined> {
  const { aggregator, ports } = context
  const { call, intent } = open
  if (aggregator === undefined || call === undefined) return undefined
  let isFirst = false
  if (isNew) unsent.add(call)
  const route = 'sendRawTransaction'
  const reply = await aggregator.service.onTurn(end, route, async (service, turn) => {
    if (!mayBegin()) return turn.giveBack()
    const signed = aggregator.wallet.signer.envelope(intent.id)
    if (!signed.ok) {
      onBarred(signed)
      if (isUnsigned(open, call))
        await withdraw(context, open, { attempt: call.attempt, reason: signed.reason })
      return turn.giveBack()
    }
    const { raw, hash } = signed.value
    if (open.envelopeHash !== hash) {
      const { attempt } = call
      await ports.journal.append({ type: 'call-signed', intentId: intent.id, attempt, hash })
      if (!mayBegin()) return turn.giveBack()
    }
    isFirst = unsent.delete(call)
    return service.sendRawTransaction(raw)
  })
  if (reply === undefined) return undefined
  if (reply.ok) return { tag: 'accepted', orderId: reply.value }
  const { tag, message } = reply.fault
  return { tag: isFirst && isRefusal(call, tag) ? 'rejected' : 'unknown', message }
}

/** Of a trusted call the transaction is all that is signed, and no deadline would ever end its record. */
function isUnsigned({ envelopeHash }: OpenCall, call: CallRecord): boolean {
  return call.trust === 'trusted' && envelopeHash === undefined && unsent.has(call)
}

/**
 * Whether a fault of the very first submission says that the call was not taken; of a later one it proves nothing, because
 * the first may have been taken (rule G7). A trusted call could be executed twice behind a word that was misread, so that
 * only the refusals which the interface names count (rule A2).
 */
function isRefusal({ trust }: CallRecord, tag: AggregatorFault['tag']): boolean {
  return trust === 'trusted' ? NAMED_REFUSALS.has(tag) : !INCONCLUSIVE.has(tag)
}

const NAMED_REFUSALS: ReadonlySet<AggregatorFault['tag']> = new Set([
  'accountNotFound',
  'insufficientBalance',
])
/** Faults that leave open whether a submission was taken. */
const INCONCLUSIVE: ReadonlySet<AggregatorFault['tag']> = new Set([
  'unavailable',
  'rateLimited',
  'transactionNotFound',
])

/**
 * Sends the same call directly. A trustless call competes with the service for one nonce, so at most one of them
 * executes (rule A1). A trusted call is the very transaction that the service refused (rule A2).
 */
export async function sendDirectly(
  context: OrderContext,
  aggregator: AggregatorContext,
  { intent, call }: { readonly intent: OpenCall['intent']; readonly call: CallRecord },
  onInBlock: () => void,
): Promise<TransactionOutcome> {
  const { signer } = aggregator.wallet
  const { id: intentId } = intent
  const signed = signer.onCall(intentId, 'direct')
  if (!signed.ok) return { tag: 'barred', closing: barredBy(signed) }
  const payload = payloadOf({ type: 'call', call })
  return transactOnce(context, aggregator.wallet, {
    id: directId(call),
    purpose: 'call',
    intentId,
    ...payload,
    signedData: call.trust === 'trustless' ? signed.value : payload.data,
    onInBlock,
  })
}

/** Names the direct transaction of an attempt, so that it is made once. */
export function directId(call: CallRecord): string {
  return `${call.clientOrderId}:call`
}
