import type { IntentId } from '../domain/intent.ts'
import type { TransactionPurpose, TransactionRecord } from '../domain/journal.ts'
import { type Address, type Hex, mulDivUp } from '../domain/units.ts'
import { askChain, type OrderContext } from './context.ts'

/** A contract call that our own wallet is to make. `id` names it for good: one id never executes twice. */
export type WalletCall = {
  /** Undefined lets the nonce name it (approvals, which may be made again). */
  readonly id: string | undefined
  readonly purpose: TransactionPurpose
  readonly intentId: IntentId
  readonly strategy: string
  readonly to: Address
  readonly data: Hex
  readonly value: bigint
}

export type CallOutcome =
  | { readonly tag: 'mined' }
  | { readonly tag: 'reverted' }
  /** Its nonce was used by something else. */
  | { readonly tag: 'lost' }
  /** The daemon drains; the record in the journal brings it up again. */
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

/**
 * Makes a wallet call happen once: recorded before it is broadcast, followed to its receipt, its fee raised while
 * it stays unmined. Other unfinished transactions of the wallet are followed first, so nonces are never contested.
 */
export function callOnce(context: OrderContext, call: WalletCall): Promise<CallOutcome> {
  return context.walletTurn(async () => {
    const { state } = context.ports.journal
    const ended = call.id === undefined ? undefined : state.endedTransactions.get(call.id)
    if (ended !== undefined) return { tag: ended }
    const resumed = await followOpen(context, call)
    return resumed ?? send(context, call)
  })
}

/** Follows what an earlier process recorded: an approval that nobody waits for any more still costs gas and holds a nonce. */
export function followRecorded(context: OrderContext): Promise<unknown> {
  return context.walletTurn(() => followOpen(context, undefined))
}

/** Follows every recorded transaction to its end. Gives the outcome of `call` if it was among them. */
async function followOpen(
  context: OrderContext,
  call: WalletCall | undefined,
): Promise<CallOutcome | undefined> {
  let own: CallOutcome | undefined
  for (const open of [...context.ports.journal.state.transactions.values()]) {
    const outcome = await follow(context, open.record.id, call?.strategy ?? strategyOf(open.record))
    if (outcome.tag === 'stopped') return outcome
    if (call !== undefined && open.record.id === call.id) own = outcome
  }
  return own
}

/** The strategy whose intent a recorded transaction was made for. */
function strategyOf(record: TransactionRecord): string {
  return record.intentId.split(':')[0] ?? ''
}

async function send(context: OrderContext, call: WalletCall): Promise<CallOutcome> {
  const { chain, signer } = context.ports
  const draft = await askChain(context, `drafting a transaction (${call.purpose})`, () =>
    chain.draft({ from: signer.address, to: call.to, data: call.data, value: call.value }),
  )
  if (!draft.ok) return { tag: 'unsent', why: draft.fault.tag, detail: draft.fault.message }
  // While draining only what finishes a filled order is still worth a transaction.
  const end = call.purpose === 'unwrap' ? context.stop : context.closing
  if (end.aborted) return { tag: 'stopped' }
  const id = call.id ?? `${call.purpose}:${call.to}:${draft.value.nonce}`
  const { hash } = signer.signTransaction(draft.value)
  const record = { ...draft.value, id, purpose: call.purpose, intentId: call.intentId, hash }
  await context.ports.journal.append({ type: 'transaction-recorded', transaction: record })
  return follow(context, id, call.strategy)
}

async function follow(context: OrderContext, id: string, strategy: string): Promise<CallOutcome> {
  const { clock } = context.ports
  let sentAtMs: number | undefined
  let seenUsed = 0
  for (;;) {
    const seen = await look(context, id, strategy, seenUsed)
    if (isFate(seen)) return { tag: seen }
    if (context.stop.aborted) return { tag: 'stopped' }
    seenUsed = seen === 'nonce-used' ? seenUsed + 1 : 0
    if (seenUsed === 0 && (await sendAgain(context, id, strategy, sentAtMs))) sentAtMs = clock.now()
    await clock.sleep(Math.min(1_000, context.policy.pollMsMin), context.stop)
  }
}

type Fate = 'mined' | 'reverted' | 'lost'

function isFate(seen: Fate | 'nonce-used' | 'pending'): seen is Fate {
  return seen !== 'nonce-used' && seen !== 'pending'
}

/** Broadcasts what this process has not sent yet, or a dearer replacement of what stays unmined. */
async function sendAgain(
  context: OrderContext,
  id: string,
  strategy: string,
  sentAtMs: number | undefined,
): Promise<boolean> {
  const open = context.ports.journal.state.transactions.get(id)
  const overdue =
    sentAtMs !== undefined &&
    context.ports.clock.now() - sentAtMs > context.policy.transactionPatienceMs
  if (open === undefined || (sentAtMs !== undefined && !overdue)) return false
  if (overdue && open.hashes.length <= REPLACEMENTS_MAX)
    await replace(context, open.record, strategy)
  return broadcast(context, id, strategy)
}

/** One look at the chain; a fate that is certain is journaled and returned. */
async function look(
  context: OrderContext,
  id: string,
  strategy: string,
  seenUsed: number,
): Promise<Fate | 'nonce-used' | 'pending'> {
  const { chain, journal, observe } = context.ports
  const open = journal.state.transactions.get(id)
  if (open === undefined) return 'pending'
  const { record, hashes } = open
  const reply = await chain.transaction({ from: record.from, hashes })
  if (!reply.ok) {
    observe({ type: 'chain-trouble', doing: `following ${id}`, message: reply.fault.message })
    return 'pending'
  }
  const { receipt, latestNonce } = reply.value
  const used = latestNonce > record.nonce
  if (receipt === undefined && !used) return 'pending'
  if (receipt === undefined && seenUsed + 1 < LOST_POLLS) return 'nonce-used'
  const status = statusOf(receipt)
  const hash = receipt?.hash ?? record.hash
  await journal.append({
    type: 'transaction-ended',
    id,
    status,
    hash,
    blockNumber: receipt?.blockNumber,
  })
  observe({
    type: 'transaction',
    strategy,
    intentId: record.intentId,
    purpose: record.purpose,
    status,
    hash,
  })
  return status
}

function statusOf(receipt: { success: boolean } | undefined): Fate {
  if (receipt === undefined) return 'lost'
  return receipt.success ? 'mined' : 'reverted'
}

async function broadcast(context: OrderContext, id: string, strategy: string): Promise<boolean> {
  const { chain, journal, observe, signer } = context.ports
  const record = journal.state.transactions.get(id)?.record
  if (record === undefined) return false
  const { raw, hash } = signer.signTransaction(record)
  const reply = await chain.broadcast(raw)
  if (!reply.ok) {
    observe({ type: 'chain-trouble', doing: `sending ${id}`, message: reply.fault.message })
    return false
  }
  observe({
    type: 'transaction',
    strategy,
    intentId: record.intentId,
    purpose: record.purpose,
    status: 'sent',
    hash,
  })
  return true
}

/** The same call under the same nonce for a quarter more, recorded before it is sent. */
async function replace(
  context: OrderContext,
  record: TransactionRecord,
  strategy: string,
): Promise<void> {
  const { journal, observe, signer } = context.ports
  const dearer = {
    ...record,
    maxFeePerGas: mulDivUp(record.maxFeePerGas, 5n, 4n),
    maxPriorityFeePerGas: mulDivUp(record.maxPriorityFeePerGas, 5n, 4n),
  }
  const { hash } = signer.signTransaction(dearer)
  await journal.append({ type: 'transaction-recorded', transaction: { ...dearer, hash } })
  observe({
    type: 'transaction',
    strategy,
    intentId: record.intentId,
    purpose: record.purpose,
    status: 'replaced',
    hash,
  })
}
