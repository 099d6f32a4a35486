import { PRIORITY_FEE_LEAST, unfitGas, withinGasLimits } from '../../domain/money/gas.ts'
import { maxOf, mulDivUp } from '../../domain/money/units.ts'
import { isPassing } from '../../domain/order/reason.ts'
import { transactionRecorded, transactionSigned } from '../../journal/events/state/transactions.ts'
import { openTransaction } from '../../journal/projections/order-reducer.ts'
import { gasInDay } from '../../journal/projections/transactions.ts'
import type { TransactionRecord } from '../../journal/records.ts'
import type { OpenTransaction } from '../../journal/state/daemon-state.ts'
import type { ChainFault, Signature, SignedTransaction, TransactionDraft } from '../../ports.ts'
import { reportRetry, type Sending, type Tries } from './transaction-outcome.ts'

/** Versions of one wallet transaction: signed, broadcast, and replaced if that helps. */

/** Maximum replacements, each 25 % dearer unless the chain demands more: about nine times the first fee. */
const REPLACEMENTS_MAX = 10

/**
 * Broadcasts an unsent version, rebroadcasts a rejected one, and after the policy's wait sends a dearer version, or the
 * same one if a dearer would not help. Each signature passes the signer (rule T1).
 */
export async function sendAgain(sending: Sending, id: string, tries: Tries): Promise<void> {
  const { ports, policy } = sending.context
  const open = ports.journal.state.transactions.get(id)
  if (open === undefined) return
  const { triedAtMs } = tries
  // Absolute distance: a clock that was set back must not block a fee raise.
  const isOverdue =
    triedAtMs !== undefined && Math.abs(ports.clock.now() - triedAtMs) > policy.transactionRetryMs
  const isOut = triedAtMs !== undefined && tries.broadcastFault === undefined
  if (isOut && !isOverdue) return
  let signed = await sign(sending, id)
  const version = isOverdue ? await newVersion(sending, open, { tries, signed }) : undefined
  // Another follower may have seen the transaction's end meanwhile.
  if (!ports.journal.state.transactions.has(id)) return
  if (version !== undefined) {
    await ports.journal.append(transactionRecorded({ transaction: version }))
    Object.assign(tries, { triedAtMs: undefined, broadcastFault: undefined })
    signed = await sign(sending, id)
  }
  // A version already sent needs no new signature.
  const sent = signed.ok ? signed.value : tries.out
  if (tries.triedAtMs === undefined || isOverdue) tries.triedAtMs = ports.clock.now()
  if (sent === undefined) return
  reportRetry(sending, 'broadcast', tries.broadcastFault)
  tries.out = sent
  tries.broadcastFault = await broadcast(sending, open.record, sent)
}

/**
 * Returns a dearer version, or a cancellation if the signer refuses for good. Returns neither for a temporary refusal, or if
 * it would not help. Raises fees by 25 %, or to the level that the chain demands, within the gas limits. Estimates gas
 * again: with too little, no block includes the transaction at any fee.
 */
async function newVersion(
  sending: Sending,
  open: OpenTransaction,
  { tries, signed }: { readonly tries: Tries; readonly signed: Signature<unknown> },
): Promise<TransactionRecord | undefined> {
  const mayBeSignedAgain = !signed.ok && (signed.reason === 'halted' || isPassing(signed.reason))
  if (!mayDoBetter(tries) || mayBeSignedAgain) return undefined
  const { record, hashes, cancelling: cancels } = open
  const version = signed.ok ? record : cancelling(record)
  const offer = await currentOffer(sending, version)
  const gas = maxOf(version.gas, offer?.gas ?? 0n)
  if (unfitGas(version.data, gas) !== undefined) return undefined
  const isBehind =
    offer !== undefined && (offer.maxFeePerGas > record.maxFeePerGas || gas > record.gas)
  const versions = signed.ok ? hashes.length : cancels.length
  if (versions > REPLACEMENTS_MAX && !isBehind) return undefined
  // A block charges only the base fee out of the fee cap, but the whole tip, so a node must not set the tip.
  const fees = {
    maxFeePerGas: maxOf(dearer(record.maxFeePerGas), offer?.maxFeePerGas ?? 0n),
    maxPriorityFeePerGas: maxOf(dearer(record.maxPriorityFeePerGas), PRIORITY_FEE_LEAST),
  }
  const least = dearer(record.maxFeePerGas)
  const allowed = withinLimits(sending, { ...version, gas, ...fees, baseFeePerGas: least - 1n })
  if (!allowed.ok) {
    const doing = `raising the fee of ${record.id}`
    sending.context.ports.observe({ type: 'chain-trouble', doing, message: allowed.why })
    return undefined
  }
  return { ...version, ...allowed.offer, hash: undefined }
}

/** Applies the chain's gas limits to the fees, together with the day's other costs. */
export function withinLimits(
  { context: { ports }, wallet }: Sending,
  offer: Pick<
    TransactionRecord,
    'from' | 'nonce' | 'gas' | 'maxFeePerGas' | 'maxPriorityFeePerGas'
  > & { readonly baseFeePerGas: bigint },
): ReturnType<typeof withinGasLimits> {
  const { chainId, gas: limits } = wallet
  const { from, nonce } = offer
  const nowMs = ports.clock.now()
  const query = { chainId, nowMs, beside: { chainId, from, nonce } }
  return withinGasLimits(limits, offer, gasInDay(ports.journal.state, query))
}

/** Minimum raise that nodes accept for a replacement, with margin. */
function dearer(fee: bigint): bigint {
  return mulDivUp(fee, 5n, 4n)
}

/** Current fees and gas; undefined if unavailable. A call's record holds no signature, so only its fees can be read. */
async function currentOffer(
  { wallet }: Sending,
  { purpose, isCancelling, to, data, value }: TransactionRecord,
): Promise<Pick<TransactionDraft, 'maxFeePerGas' | 'gas'> | undefined> {
  const { address: from } = wallet.signer
  if (purpose !== 'call' || isCancelling === true) {
    const draft = await wallet.chain.draft({ from, to, data, value })
    if (draft.ok && unfitGas(data, draft.value.gas) === undefined)
      return { gas: draft.value.gas, maxFeePerGas: replacementFee(draft.value) }
  }
  const fees = await wallet.chain.draft({ from, to: from, data: '0x', value: 0n })
  return fees.ok ? { gas: 0n, maxFeePerGas: replacementFee(fees.value) } : undefined
}

/** Covers the highest base fee that any node reports. A block charges only its own base fee and the tip. */
function replacementFee(draft: { maxFeePerGas: bigint; raisedFeePerGas?: bigint }): bigint {
  return draft.raisedFeePerGas ?? draft.maxFeePerGas
}

/** A zero transfer to the wallet under the same nonce, which a dropped transaction would otherwise hold forever. */
function cancelling(record: TransactionRecord): TransactionRecord {
  return { ...record, to: record.from, data: '0x', value: 0n, isCancelling: true }
}

/** A dearer version does not help if the wallet cannot pay, an earlier nonce is unused, or no node answers. */
function mayDoBetter({ readFault, broadcastFault, waitsForOthers }: Tries): boolean {
  if (readFault !== undefined || waitsForOthers === true) return false
  return broadcastFault !== 'insufficientFunds' && broadcastFault !== 'unavailable'
}

async function broadcast(
  sending: Sending,
  { id, intentId, purpose }: TransactionRecord,
  { raw, hash }: SignedTransaction,
): Promise<ChainFault['tag'] | undefined> {
  const reply = await sending.wallet.chain.broadcast(raw)
  const { observe } = sending.context.ports
  if (reply.ok) observe({ type: 'transaction-sent', intentId, purpose, hash })
  else observe({ type: 'chain-trouble', doing: `sending ${id}`, message: reply.fault.message })
  return reply.ok ? undefined : reply.fault.tag
}

/** Signs the record. The signature is journaled before it leaves the process. */
export async function sign(sending: Sending, id: string): Promise<Signature<SignedTransaction>> {
  const { journal } = sending.context.ports
  const signed = sending.wallet.signer.transaction(id)
  if (!signed.ok) return signed
  const { hash } = signed.value
  const { hashes } = openTransaction(journal.state, id)
  if (!hashes.includes(hash)) await journal.append(transactionSigned({ id, hash }))
  return signed
}

export function openRecord(sending: Sending, id: string): TransactionRecord {
  return openTransaction(sending.context.ports.journal.state, id).record
}
