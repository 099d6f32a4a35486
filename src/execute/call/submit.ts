import type { OpenCall } from '../../domain/book/state.ts'
import type { CallRecord, TrustlessCall } from '../../domain/call.ts'
import type { Hex } from '../../domain/units.ts'
import type { AggregatorFault } from '../../ports.ts'
import type { SubmitReply } from '../authorization.ts'
import type { AggregatorContext, OrderContext } from '../context.ts'
import { type TransactionOutcome, transactOnce } from '../transaction.ts'
import { encodeOnCall, encodeSignedCall } from './data.ts'

/** Calldata that makes the account execute the call: the same bytes on both routes. */
export function proposerCalldata(aggregator: AggregatorContext, call: CallRecord): Hex {
  if (call.trust === 'trusted') return encodeOnCall(call.target, call.calldata, call.value)
  return encodeSignedCall(call, signatureOf(aggregator, call))
}

/** The owner's signature over a recorded call: the same bytes each time. */
export function signatureOf(aggregator: AggregatorContext, call: TrustlessCall): Hex {
  return aggregator.wallet.signer.signDigest(call.digest)
}

/** The signed transaction that goes to the service. Signing is deterministic: the same record gives the same bytes. */
export function envelopeOf(
  aggregator: AggregatorContext,
  call: CallRecord,
): { readonly raw: Hex; readonly hash: Hex } {
  const trustless = call.trust === 'trustless'
  return aggregator.wallet.signer.signTransaction({
    ...call.envelope,
    chainId: call.chainId,
    from: call.account,
    data: trustless ? proposerCalldata(aggregator, call) : call.calldata,
  })
}

/** Calls that this process has recorded and sent to nobody yet. */
const unsent = new WeakSet<CallRecord>()

/**
 * Sends a recorded call to the service, when its turn comes; undefined when it was not sent. One that is new, and was never
 * sent because its turn came too late, is still the first when it is sent later.
 */
export async function submitCall(
  aggregator: AggregatorContext,
  call: CallRecord,
  {
    end,
    mayBegin,
    isNew = false,
  }: {
    /** A turn that has not come when this is aborted never does. */
    readonly end: AbortSignal
    /** Asked when its turn has come: it may have waited for minutes. */
    readonly mayBegin: () => boolean
    /** Recorded just now, and sent by nobody yet. */
    readonly isNew?: boolean
  },
): Promise<SubmitReply | undefined> {
  let isFirst = false
  if (isNew) unsent.add(call)
  const reply = await aggregator.service.onTurn(end, 'sendRawTransaction', async (service) => {
    if (!mayBegin()) return undefined
    isFirst = unsent.delete(call)
    return service.sendRawTransaction(envelopeOf(aggregator, call).raw)
  })
  if (reply === undefined) return undefined
  if (reply.ok) return { tag: 'accepted', orderId: reply.value }
  const { tag, message } = reply.fault
  return { tag: isFirst && isRefusal(call, tag) ? 'rejected' : 'unknown', message }
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
export function sendDirectly(
  context: OrderContext,
  aggregator: AggregatorContext,
  open: OpenCall,
  call: CallRecord,
): Promise<TransactionOutcome> {
  const trustless = call.trust === 'trustless'
  return transactOnce(context, aggregator.wallet, {
    id: directId(call),
    purpose: 'call',
    intentId: open.intent.id,
    to: trustless ? call.account : call.target,
    data: trustless ? proposerCalldata(aggregator, call) : call.calldata,
    value: trustless ? 0n : call.value,
  })
}

/** Names the direct transaction of an attempt, so that it is made once. */
export function directId(call: CallRecord): string {
  return `${call.clientOrderId}:call`
}
