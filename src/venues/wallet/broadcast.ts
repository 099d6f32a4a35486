import type { TransactionRecord } from '../domain/book/journal.ts'
import { openTransaction } from '../domain/book/orders.ts'
import type { OpenTransaction } from '../domain/book/state.ts'
import { gasInDay } from '../domain/book/transactions.ts'
import { PRIORITY_FEE_LEAST, unfitGas, withinGasLimits } from '../domain/gas.ts'
import { isPassing } from '../domain/reason.ts'
import { maxOf, mulDivUp } from '../domain/units.ts'
import type { ChainFault, Signature, SignedTransaction, TransactionDraft } from '../ports.ts'
import { type Sending, type Tries, tellRetry } from './fate.ts'

/** The versions of one transaction of our own: signed, given to a node, and made again where that helps. */

/** Replacements of one transaction, each a quarter dearer, while the chain asks for no more: about nine times the first fee. */
const REPLACEMENTS_MAX = 10

/**
 * Broadcasts what this process has not sent yet, again at the next look what the node did not take, and after the
 * policy's patience a dearer version, or the same where that would help nothing. Each time the signer is asked (rule T1).
 */
export async function sendAgain(sending: Sending, id: string, tries: Tries): Promise<void> {
  const { ports, policy } = sending.context
  const open = ports.journal.state.transactions.get(id)
  if (open === undefined) return
  const { triedAtMs } = tries
  // The distance and not the difference: a clock that was set back must not keep a fee from being raised.
  const isOverdue =
    triedAtMs !== undefined &&
    Math.abs(ports.clock.now() - triedAtMs) > policy.transactionPatienceMs
  const isOut = triedAtMs !== undefined && tries.broadcastFault === undefined
  if (isOut && !isOverdue) return
  let signed = await sign(sending, id)
  const version = isOverdue ? await newVersion(sending, open, { tries, signed }) : undefined
  // Somebody else who follows it may have seen its end meanwhile.
  if (!ports.journal.state.transactions.has(id)) return
  if (version !== undefined) {
    await ports.journal.append({ type: 'transaction-recorded', transaction: version })
    Object.assign(tries, { triedAtMs: undefined, broadcastFault: undefined })
    signed = await sign(sending, id)
  }
  // What is out already may be sent again as it is: that takes no signature.
  const sent = signed.ok ? signed.value : tries.out
  if (tries.triedAtMs === undefined || isOverdue) tries.triedAtMs = ports.clock.now()
  if (sent === undefined) return
  tellRetry(sending, 'broadcast', tries.broadcastFault)
  tries.out = sent
  tries.broadcastFault = await broadcast(sending, open.record, sent)
}

/**
 * A dearer one, or one that clears the nonce of what the signer does not sign again; neither for what passes, nor where it may
 * not do better. By a quarter, or up to what the chain asks for by now, as far as the limits on gas allow. Its gas is estimated anew:
 * with too little no block takes it at any fee.
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
  const asked = await askedNow(sending, version)
  const gas = maxOf(version.gas, asked?.gas ?? 0n)
  if (unfitGas(version.data, gas) !== undefined) return undefined
  const isBehind =
    asked !== undefined && (asked.maxFeePerGas > record.maxFeePerGas || gas > record.gas)
  const versions = signed.ok ? hashes.length : cancels.length
  if (versions > REPLACEMENTS_MAX && !isBehind) return undefined
  // Of the most that may be paid only the block's own fee is taken; the tip is paid in full, whatever a node says.
  const fees = {
    maxFeePerGas: maxOf(dearer(record.maxFeePerGas), asked?.maxFeePerGas ?? 0n),
    maxPriorityFeePerGas: maxOf(dearer(record.maxPriorityFeePerGas), PRIORITY_FEE_LEAST),
  }
  const least = dearer(record.maxFeePerGas)
  const allowed = withinLimits(sending, { ...version, gas, ...fees, baseFeePerGas: least - 1n })
  if (!allowed.ok) {
    const { observe } = sending.context.ports
    observe({
      type: 'chain-trouble',
      doing: `raising the fee of ${record.id}`,
      message: allowed.why,
    })
    return undefined
  }
  return { ...version, ...allowed.offer, hash: undefined }
}

/** Holds the fees of a transaction to the limits of its chain, beside what others of the day cost. */
export function withinLimits(
  { context: { ports }, wallet }: Sending,
  asked: Pick<
    TransactionRecord,
    'from' | 'nonce' | 'gas' | 'maxFeePerGas' | 'maxPriorityFeePerGas'
  > & { readonly baseFeePerGas: bigint },
): ReturnType<typeof withinGasLimits> {
  const { chainId, gas: limits } = wallet
  const { from, nonce } = asked
  const nowMs = ports.clock.now()
  const query = { chainId, nowMs, beside: { chainId, from, nonce } }
  return withinGasLimits(limits, asked, gasInDay(ports.journal.state, query))
}

/** Least that nodes take for another version under the same nonce, with room. */
function dearer(fee: bigint): bigint {
  return mulDivUp(fee, 5n, 4n)
}

/**
 * What the chain asks for the version now, in fees and gas; undefined where it does not say. The record of a call holds no
 * signature, so that only its fees can be asked for.
 */
async function askedNow(
  { wallet }: Sending,
  { purpose, isCancelling, to, data, value }: TransactionRecord,
): Promise<Pick<TransactionDraft, 'maxFeePerGas' | 'gas'> | undefined> {
  const { address: from } = wallet.signer
  if (purpose !== 'call' || isCancelling === true) {
    const draft = await wallet.chain.draft({ from, to, data, value })
    if (draft.ok && unfitGas(data, draft.value.gas) === undefined) return asReplacement(draft.value)
  }
  const fees = await wallet.chain.draft({ from, to: from, data: '0x', value: 0n })
  return fees.ok ? { ...asReplacement(fees.value), gas: 0n } : undefined
}

/**
 * What a replacement offers: enough for the highest base fee that any node names, because the first offer did not come through. A
 * block takes no more of it than its own base fee and the tip.
 */
function asReplacement({
  gas,
  maxFeePerGas,
  raisedFeePerGas = maxFeePerGas,
}: TransactionDraft & { readonly raisedFeePerGas?: bigint }): Pick<
  TransactionDraft,
  'maxFeePerGas' | 'gas'
> {
  return { gas, maxFeePerGas: raisedFeePerGas }
}

/**
 * A transfer of nothing to the wallet itself, under the same nonce. What was signed once and may not be signed again, be it
 * mined or not, would else keep its nonce from all others, for good where no node knows it any more.
 */
function cancelling(record: TransactionRecord): TransactionRecord {
  return { ...record, to: record.from, data: '0x', value: 0n, isCancelling: true }
}

/** Whether a dearer version may do better: not one that the wallet cannot pay, nor behind an unused nonce, nor while no node answers. */
function mayDoBetter({ lookFault, broadcastFault, waitsForOthers }: Tries): boolean {
  if (lookFault !== undefined || waitsForOthers === true) return false
  return broadcastFault !== 'insufficientFunds' && broadcastFault !== 'unavailable'
}

/** Gives what was wrong when the node did not take it. */
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

/** Signs what is on record; that it is signed is on disk before anybody can have it. */
export async function sign(sending: Sending, id: string): Promise<Signature<SignedTransaction>> {
  const { journal } = sending.context.ports
  const signed = sending.wallet.signer.transaction(id)
  if (!signed.ok) return signed
  const { hash } = signed.value
  const { hashes } = openTransaction(journal.state, id)
  if (!hashes.includes(hash)) await journal.append({ type: 'transaction-signed', id, hash })
  return signed
}

export function openRecord(sending: Sending, id: string): TransactionRecord {
  return openTransaction(sending.context.ports.journal.state, id).record
}
