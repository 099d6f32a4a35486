import type { TransactionPurpose, TransactionRecord } from '../domain/book/journal.ts'
import type { OpenTransaction } from '../domain/book/state.ts'
import type { IntentId } from '../domain/intent.ts'
import { type Address, type Hex, mulDivUp } from '../domain/units.ts'
import type { ChainFault } from '../ports.ts'
import { askChain } from './ask.ts'
import { haltedNow } from './close.ts'
import type { SendingContext, WalletContext } from './context.ts'

/** A transaction that our own wallet is to make. `id` names it for good: one id never executes twice. */
export type OwnTransaction = {
  /** Undefined lets the nonce name it (approvals, which may be made again). */
  readonly id: string | undefined
  readonly purpose: TransactionPurpose
  /** Undefined for what belongs to no order (deposits). */
  readonly intentId: IntentId | undefined
  readonly to: Address
  readonly data: Hex
  readonly value: bigint
  /** Of a deposit; see `TransactionRecord`. */
  readonly availableBefore?: bigint
}

export type TransactionOutcome =
  | { readonly tag: 'mined' }
  | { readonly tag: 'reverted' }
  /** Its nonce was used by something else. */
  | { readonly tag: 'lost' }
  /** The daemon drains, or everything is halted. What is on record comes up again; where nothing is, nothing was signed. */
  | { readonly tag: 'stopped' }
  | {
      readonly tag: 'unsent'
      readonly why: 'insufficientFunds' | 'refused' | 'unavailable'
      readonly detail: string
    }

/** Replacements of one transaction, each a quarter dearer: about nine times the first fee at the end. */
const REPLACEMENTS_MAX = 10
/**
 * Polls in a row that must see the nonce used without any receipt of ours before a transaction counts as lost. About
 * two minutes: nodes know receipts later than nonces, and a mined wrapping taken for lost is never unwrapped.
 */
const LOST_POLLS = 120

/** Where a wallet's transactions are sent from. */
type Sending = { readonly context: SendingContext; readonly wallet: WalletContext }

/**
 * Makes a transaction happen once: recorded before it is broadcast, followed to its receipt, its fee raised while
 * it stays unmined. Other unfinished transactions of the wallet are followed first, so nonces are never contested.
 */
export function transactOnce(
  context: SendingContext,
  wallet: WalletContext,
  wanted: OwnTransaction,
): Promise<TransactionOutcome> {
  const sending = { context, wallet }
  return wallet.turn(async () => {
    const { state } = context.ports.journal
    const ended = wanted.id === undefined ? undefined : state.endedTransactions.get(wanted.id)
    if (ended !== undefined) return { tag: ended }
    const resumed = await followOpen(sending, wanted.id)
    return resumed ?? send(sending, wanted)
  })
}

/**
 * Follows what an earlier process recorded: an approval that nobody waits for any more still costs gas and holds a
 * nonce.
 */
export function followRecorded(context: SendingContext, wallet: WalletContext): Promise<unknown> {
  return wallet.turn(() => followOpen({ context, wallet }, undefined))
}

/** Follows every recorded transaction of the wallet to its end. Gives the outcome of `id` if it was among them. */
async function followOpen(
  sending: Sending,
  id: string | undefined,
): Promise<TransactionOutcome | undefined> {
  const { context, wallet } = sending
  let own: TransactionOutcome | undefined
  for (const { record } of [...context.ports.journal.state.transactions.values()]) {
    if (record.from !== wallet.signer.address || record.chainId !== wallet.chainId) continue
    const outcome = await follow(sending, record.id)
    if (outcome.tag === 'stopped') return outcome
    if (record.id === id) own = outcome
  }
  return own
}

async function send(sending: Sending, wanted: OwnTransaction): Promise<TransactionOutcome> {
  const { context, wallet } = sending
  const { chain, signer } = wallet
  const { purpose, intentId, to, data, value, availableBefore } = wanted
  const question = { route: 'draft', doing: `drafting a transaction (${purpose})` } as const
  const draft = await askChain(context, question, () =>
    chain.draft({ from: signer.address, to, data, value }),
  )
  // While draining only what finishes a filled order is still worth a transaction.
  const end = purpose === 'unwrap' ? context.stop : context.closing
  if (end.aborted) return { tag: 'stopped' }
  if (isHalted(sending, purpose)) return notWhileHalted(purpose)
  if (!draft.ok) return { tag: 'unsent', why: draft.fault.tag, detail: draft.fault.message }
  const id = wanted.id ?? `${purpose}:${to}:${draft.value.nonce}`
  const { hash } = signer.signTransaction(draft.value)
  const record = { ...draft.value, id, purpose, intentId, hash, availableBefore }
  await context.ports.journal.append({ type: 'transaction-recorded', transaction: record })
  return follow(sending, id)
}

/**
 * Nothing was signed. A direct call is asked for again while its order is open; whatever else wanted a transaction begins
 * again where the halt bars it.
 */
function notWhileHalted(purpose: TransactionPurpose): TransactionOutcome {
  return purpose === 'call'
    ? { tag: 'unsent', why: 'unavailable', detail: 'everything is halted' }
    : { tag: 'stopped' }
}

async function follow(sending: Sending, id: string): Promise<TransactionOutcome> {
  const { context } = sending
  const { clock } = context.ports
  const tries: Tries = { seenUsed: 0 }
  for (;;) {
    const seen = await look(sending, id, tries)
    if (isFate(seen)) return { tag: seen }
    if (context.stop.aborted) return { tag: 'stopped' }
    tries.seenUsed = seen === 'nonce-used' ? tries.seenUsed + 1 : 0
    if (tries.seenUsed === 0) await sendAgain(sending, id, tries)
    await clock.sleep(Math.min(1_000, context.policy.pollMsMin), context.stop)
  }
}

/** What following one transaction has come to in this process. */
type Tries = {
  /** When its present version was first given to a node, whatever the answer was: patience counts from then. */
  triedAtMs?: number | undefined
  /** Looks in a row that saw the nonce used without a receipt. */
  seenUsed: number
  /** Why the last look, and the last broadcast, have to be made again. */
  lookFault?: ChainFault['tag'] | undefined
  broadcastFault?: ChainFault['tag'] | undefined
}

function tellRetry(
  { context }: Sending,
  route: 'transaction' | 'broadcast',
  cause: ChainFault['tag'] | undefined,
): void {
  if (cause !== undefined) context.ports.observe({ type: 'retry', service: 'rpc', route, cause })
}

type Fate = 'mined' | 'reverted' | 'lost'

function isFate(seen: Fate | 'nonce-used' | 'pending'): seen is Fate {
  return seen !== 'nonce-used' && seen !== 'pending'
}

/**
 * Broadcasts what this process has not sent yet, again at the next look what the node did not take, and after the
 * policy's patience a dearer version, or the same where that would help nothing. Under a halt (rule T9) only what is out
 * already, unchanged.
 */
async function sendAgain(sending: Sending, id: string, tries: Tries): Promise<void> {
  const { ports, policy } = sending.context
  const open = ports.journal.state.transactions.get(id)
  if (open === undefined) return
  const { triedAtMs, broadcastFault: cause } = tries
  const isOverdue =
    triedAtMs !== undefined && ports.clock.now() - triedAtMs > policy.transactionPatienceMs
  let version = open.record
  if (isOverdue && !isHalted(sending, version.purpose) && mayRaise(open, tries)) {
    version = await replace(sending, version)
    Object.assign(tries, { triedAtMs: undefined, broadcastFault: undefined })
  }
  const isOut = tries.triedAtMs !== undefined && tries.broadcastFault === undefined
  if (isOut ? !isOverdue : isHalted(sending, version.purpose)) return
  if (tries.triedAtMs === undefined || isOverdue) tries.triedAtMs = ports.clock.now()
  tellRetry(sending, 'broadcast', cause)
  tries.broadcastFault = await broadcast(sending, version)
}

/** Whether the kill switch bars a signature. An unwrapping finishes an order, as it does while draining. */
function isHalted({ context }: Sending, purpose: TransactionPurpose): boolean {
  return purpose !== 'unwrap' && haltedNow(context) !== undefined
}

/** Whether a dearer version may do better: not one that the wallet cannot pay, nor while no node answers. */
function mayRaise({ hashes }: OpenTransaction, { lookFault, broadcastFault }: Tries): boolean {
  if (lookFault !== undefined) return false
  if (broadcastFault === 'insufficientFunds' || broadcastFault === 'unavailable') return false
  return hashes.length <= REPLACEMENTS_MAX
}

/** One look at the chain; a fate that is certain is journaled and returned. */
async function look(
  sending: Sending,
  id: string,
  tries: Tries,
): Promise<Fate | 'nonce-used' | 'pending'> {
  const { journal, observe } = sending.context.ports
  const open = journal.state.transactions.get(id)
  if (open === undefined) return 'pending'
  const { record, hashes } = open
  tellRetry(sending, 'transaction', tries.lookFault)
  const reply = await sending.wallet.chain.transaction({ from: record.from, hashes })
  tries.lookFault = reply.ok ? undefined : reply.fault.tag
  if (!reply.ok) {
    observe({ type: 'chain-trouble', doing: `following ${id}`, message: reply.fault.message })
    return 'pending'
  }
  const { receipt, latestNonce } = reply.value
  const used = latestNonce > record.nonce
  if (receipt === undefined && !used) return 'pending'
  if (receipt === undefined && tries.seenUsed + 1 < LOST_POLLS) return 'nonce-used'
  const status = statusOf(receipt)
  const hash = receipt?.hash ?? record.hash
  const { blockNumber } = receipt ?? { blockNumber: undefined }
  await journal.append({ type: 'transaction-ended', id, status, hash, blockNumber })
  return status
}

function statusOf(receipt: { success: boolean } | undefined): Fate {
  if (receipt === undefined) return 'lost'
  return receipt.success ? 'mined' : 'reverted'
}

/** Gives what was wrong when the node did not take it. */
async function broadcast(
  sending: Sending,
  record: TransactionRecord,
): Promise<ChainFault['tag'] | undefined> {
  const { chain, signer } = sending.wallet
  const { raw, hash } = signer.signTransaction(record)
  const reply = await chain.broadcast(raw)
  const { observe } = sending.context.ports
  const { id, intentId, purpose } = record
  if (reply.ok) observe({ type: 'transaction-sent', intentId, purpose, hash })
  else observe({ type: 'chain-trouble', doing: `sending ${id}`, message: reply.fault.message })
  return reply.ok ? undefined : reply.fault.tag
}

/** The same under the same nonce for a quarter more, recorded before it is sent. */
async function replace(sending: Sending, record: TransactionRecord): Promise<TransactionRecord> {
  const dearer = {
    ...record,
    maxFeePerGas: mulDivUp(record.maxFeePerGas, 5n, 4n),
    maxPriorityFeePerGas: mulDivUp(record.maxPriorityFeePerGas, 5n, 4n),
  }
  const { hash } = sending.wallet.signer.signTransaction(dearer)
  const transaction = { ...dearer, hash }
  await sending.context.ports.journal.append({ type: 'transaction-recorded', transaction })
  return transaction
}
