import type { TransactionRecord } from '../domain/book/journal.ts'
import { openTransaction } from '../domain/book/orders.ts'
import type { OpenTransaction } from '../domain/book/state.ts'
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
  tries.broadcastFault = await broadcast(sending, id, sent)
}

/**
 * A dearer one, or one that clears the nonce of what the signer does not sign again; neither under a halt, nor where it may
 * not do better. By a quarter, or up to what the chain asks for by now.
 */
async function newVersion(
  sending: Sending,
  open: OpenTransaction,
  { tries, signed }: { readonly tries: Tries; readonly signed: Signature<unknown> },
): Promise<TransactionRecord | undefined> {
  if (!mayDoBetter(tries) || (!signed.ok && signed.reason === 'halted')) return undefined
  const { record, hashes, cancelling: cancels } = open
  const version = signed.ok ? record : cancelling(record)
  const asked = await feesNow(sending)
  const isBehind = asked !== undefined && asked.maxFeePerGas > record.maxFeePerGas
  const versions = signed.ok ? hashes.length : cancels.length
  if (versions > REPLACEMENTS_MAX && !isBehind) return undefined
  const { maxFeePerGas, maxPriorityFeePerGas } = record
  return {
    ...version,
    hash: undefined,
    // Of the most that may be paid only the block's own fee is taken; the tip is paid in full, whatever a node says.
    maxFeePerGas: maxOf(dearer(maxFeePerGas), asked?.maxFeePerGas ?? 0n),
    maxPriorityFeePerGas: dearer(maxPriorityFeePerGas),
  }
}

/** Least that nodes take for another version under the same nonce, with room. */
function dearer(fee: bigint): bigint {
  return mulDivUp(fee, 5n, 4n)
}

/** What the chain asks for now; undefined where it does not say. */
async function feesNow({
  wallet,
}: Sending): Promise<Pick<TransactionDraft, 'maxFeePerGas'> | undefined> {
  const { address } = wallet.signer
  const draft = await wallet.chain.draft({ from: address, to: address, data: '0x', value: 0n })
  return draft.ok ? draft.value : undefined
}

/**
 * A transfer of nothing to the wallet itself, under the same nonce. What was signed once and may not be signed again, be it
 * mined or not, would else keep its nonce from all others, for good where no node knows it any more.
 */
function cancelling(record: TransactionRecord): TransactionRecord {
  return { ...record, to: record.from, data: '0x', value: 0n, isCancelling: true }
}

/** Whether a dearer version may do better: not one that the wallet cannot pay, nor while no node answers. */
function mayDoBetter({ lookFault, broadcastFault }: Tries): boolean {
  if (lookFault !== undefined) return false
  return broadcastFault !== 'insufficientFunds' && broadcastFault !== 'unavailable'
}

/** Gives what was wrong when the node did not take it. */
async function broadcast(
  sending: Sending,
  id: string,
  { raw, hash }: SignedTransaction,
): Promise<ChainFault['tag'] | undefined> {
  const reply = await sending.wallet.chain.broadcast(raw)
  const { observe } = sending.context.ports
  const { intentId, purpose } = openRecord(sending, id)
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
