import { unfitGas } from '../../domain/money/gas.ts'
import type { Address, Hex } from '../../domain/money/units.ts'
import type { IntentId } from '../../domain/order/intent.ts'
import { isPassing } from '../../domain/order/reason.ts'
import { transactionEnded, transactionRecorded } from '../../journal/events/state/transactions.ts'
import { nextNonceAtLeast } from '../../journal/projections/transactions.ts'
import type { TransactionPurpose } from '../../journal/records.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import type { ChainReply, TransactionDraft } from '../../ports.ts'
import { askChain } from '../chain-requests.ts'
import { blockedBy, type Closing, haltedNow } from '../close.ts'
import type { SendingContext, WalletContext } from '../context.ts'
import { unexplainedNonce } from '../evidence.ts'
import { openRecord, sendAgain, sign, withinLimits } from './broadcast.ts'
import {
  certainEnd,
  type End,
  minedEnd,
  newTries,
  readNewest,
  type Sending,
  type Tries,
  type Used,
} from './transaction-outcome.ts'

/** A transaction for our wallet to make. `id` is unique: one id never executes twice. */
type OwnTransaction = {
  /** If undefined, the nonce identifies it (approvals, which may be repeated). */
  readonly id: string | undefined
  readonly purpose: TransactionPurpose
  /** Undefined if it belongs to no order (deposits). */
  readonly intentId: IntentId | undefined
  readonly to: Address
  readonly data: Hex
  /** The data including the signature that its record omits, to estimate gas. */
  readonly signedData?: Hex
  readonly value: bigint
  /** For deposits; see `TransactionRecord`. */
  readonly availableBefore?: bigint
  readonly isAsked?: boolean
  /** It only revokes rights, so a halt does not block it. */
  readonly isRevoking?: true
  /** Ends its order before the record, because waiting for the turn or the node may take minutes. */
  readonly blocked?: () => Closing | undefined
  /** Called when the transaction is mined, before it is final. */
  readonly onInBlock?: () => void
}

export type TransactionOutcome =
  | { readonly tag: 'mined' }
  | { readonly tag: 'reverted' }
  /** Another transaction used its nonce. */
  | { readonly tag: 'lost' }
  /** The daemon drains, or everything is halted. A recorded transaction is resumed later. */
  | { readonly tag: 'stopped' }
  | {
      readonly tag: 'unsent'
      readonly why: 'insufficientFunds' | 'refused' | 'unavailable' | 'gasTooDear'
      readonly detail: string
    }
  /** The signer refuses, and no version was ever signed. */
  | { readonly tag: 'blocked'; readonly closing: Closing }

/** Interval between reads of a mined, not yet final transaction: about one block. */
const FINAL_READ_MS = 12_000

/** Its nonce is used at the newest block. It blocks no other transaction, but its outcome may not be certain. */
type InBlock = Used & { readonly tag: 'in-block'; readonly id: string; readonly tries: Tries }

/**
 * Makes a transaction once: records it before broadcasting, raises its fee while pending, and follows it to its certain
 * outcome. Other unfinished transactions of the wallet are mined first, so nonces never conflict.
 */
export async function transactOnce(
  context: SendingContext,
  wallet: WalletContext,
  wanted: OwnTransaction,
): Promise<TransactionOutcome> {
  const sending = { context, wallet }
  const begun = await wallet.turn(async () => {
    const { state } = context.ports.journal
    const ended = wanted.id === undefined ? undefined : state.endedTransactions.get(wanted.id)
    // A lost transaction can never be mined. Without another one, ETH bought or to be returned would stay WETH.
    const mayBeMadeAgain = wanted.purpose === 'unwrap' && ended === 'lost'
    if (ended !== undefined && !mayBeMadeAgain) return { tag: ended }
    const own = (await followOpen(sending, wanted.id)) ?? (await send(sending, wanted))
    if (own.tag !== 'in-block') return own
    const end = minedEnd(sending, own.id, own)
    return end === undefined ? own : conclude(sending, own.id, end)
  })
  if (begun.tag !== 'in-block') return begun
  wanted.onInBlock?.()
  return settle(sending, begun)
}

async function conclude({ context }: Sending, id: string, end: End): Promise<TransactionOutcome> {
  await context.ports.journal.append(transactionEnded({ id, ...end }))
  return { tag: end.status }
}

/** Follows transactions of an earlier process: even an unneeded approval costs gas and holds a nonce. */
export function followRecorded(context: SendingContext, wallet: WalletContext): Promise<unknown> {
  const sending = { context, wallet }
  const ids = openIds(sending)
  return Promise.all(
    ids.map(async (id) => {
      const found = await wallet.turn(() => intoBlock(sending, id, newTries()))
      return found.tag === 'in-block' ? settle(sending, found) : found
    }),
  )
}

/** The wallet's recorded transactions without a certain outcome, oldest first. */
function openIds({ context, wallet }: Sending): readonly string[] {
  return [...context.ports.journal.state.transactions.values()]
    .map(({ record }) => record)
    .filter(({ from, chainId }) => from === wallet.signer.address && chainId === wallet.chainId)
    .map(({ id }) => id)
}

/** Follows each recorded transaction until it is mined. Returns the outcome of `id` if it is among them. */
async function followOpen(
  sending: Sending,
  id: string | undefined,
): Promise<TransactionOutcome | InBlock | undefined> {
  let own: TransactionOutcome | InBlock | undefined
  for (const each of openIds(sending)) {
    const outcome = await intoBlock(sending, each, newTries())
    if (outcome.tag === 'stopped') return outcome
    if (each === id) own = outcome
  }
  return own
}

async function send(
  sending: Sending,
  wanted: OwnTransaction,
): Promise<TransactionOutcome | InBlock> {
  const { context, wallet } = sending
  const { chain, signer } = wallet
  const { purpose, intentId, to, data, value, availableBefore, isAsked } = wanted
  const question = { route: 'draft', doing: `drafting a transaction (${purpose})` } as const
  const draft = await askChain(context, question, async () => {
    const query = { from: signer.address, to, data: wanted.signedData ?? data, value }
    return unlessUseless(sending, await chain.draft({ ...query, limits: wallet.gas }))
  })
  // While draining, only transactions that finish a filled order are sent.
  const end = purpose === 'unwrap' ? context.stop : context.closing
  if (end.aborted) return { tag: 'stopped' }
  const conflict = draft.ok ? await unexplainedNonce(context, wallet, draft.value.nonce) : undefined
  if (isHalted(sending, wanted)) return notWhileHalted(purpose)
  const closing = wanted.blocked?.()
  if (closing !== undefined) return { tag: 'blocked', closing }
  if (!draft.ok) return { tag: 'unsent', why: draft.fault.tag, detail: draft.fault.message }
  if (conflict !== undefined) return { tag: 'unsent', why: 'unavailable', detail: conflict }
  const id = wanted.id ?? `${purpose}:${to}:${draft.value.nonce}`
  // A reorg may have reopened an earlier transaction during the read.
  if (context.ports.journal.state.transactions.has(id)) return intoBlock(sending, id, newTries())
  const allowed = withinLimits(sending, draft.value)
  if (!allowed.ok) return { tag: 'unsent', why: 'gasTooDear', detail: allowed.why }
  const { baseFeePerGas: _asked, raisedFeePerGas: _raised, ...drafted } = draft.value
  const draftAs = { ...drafted, ...allowed.offer, data, id, purpose, intentId }
  const transaction = { ...draftAs, availableBefore, isAsked }
  await context.ports.journal.append(transactionRecorded({ transaction }))
  return intoBlock(sending, id, newTries())
}

/**
 * Rejects implausible drafts. A node that reports a nonce we already used lags: a transaction recorded with it would be lost
 * for good. With implausible gas, no block would include it.
 */
function unlessUseless<Draft extends TransactionDraft>(
  { context, wallet }: Sending,
  draft: ChainReply<Draft>,
): ChainReply<Draft> {
  if (!draft.ok) return draft
  const { journal, clock } = context.ports
  const account = { chainId: wallet.chainId, from: wallet.signer.address }
  const least = nextNonceAtLeast(journal.state, account, clock.now())
  const { nonce, data, gas } = draft.value
  const message =
    nonce < least
      ? `the node says nonce ${nonce}, which is used: ${least} is next`
      : unfitGas(data, gas)
  return message === undefined ? draft : { ok: false, fault: { tag: 'unavailable', message } }
}

/** Nothing was signed. A direct call is retried while its order is open; others restart after the halt. */
function notWhileHalted(purpose: TransactionPurpose): TransactionOutcome {
  return purpose === 'call'
    ? { tag: 'unsent', why: 'unavailable', detail: 'everything is halted' }
    : { tag: 'stopped' }
}

/** Signs and sends, and replaces with dearer versions when due, until the nonce is used. Runs in the wallet's turn. */
async function intoBlock(
  sending: Sending,
  id: string,
  tries: Tries,
): Promise<TransactionOutcome | InBlock> {
  const { context } = sending
  const { clock, journal } = context.ports
  for (;;) {
    const open = journal.state.transactions.get(id)
    if (open === undefined) return endOf(journal.state, id)
    const blocked = open.hashes.length > 0 ? undefined : await begin(sending, id)
    if (blocked !== undefined) return blocked
    const seen = await readNewest(sending, id, tries)
    if (seen !== 'pending') return { tag: 'in-block', id, tries, ...seen }
    if (context.stop.aborted) return { tag: 'stopped' }
    await sendAgain(sending, id, tries)
    if (tries.waitsForOthers === true) await followEarlier(sending, id)
    await clock.sleep(pollMs(context), context.stop)
  }
}

/** Earlier nonces go first. The caller holds the wallet's turn, so no other task follows them. */
async function followEarlier(sending: Sending, id: string): Promise<void> {
  const { transactions } = sending.context.ports.journal.state
  const nonceOf = (each: string): number => transactions.get(each)?.record.nonce ?? 0
  const own = nonceOf(id)
  const earlier = openIds(sending).filter((each) => nonceOf(each) < own)
  for (const each of earlier.toSorted((a, b) => nonceOf(a) - nonceOf(b)))
    await intoBlock(sending, each, newTries())
}

/** Runs beside the wallet's other transactions, because its nonce is used. */
async function settle(sending: Sending, first: InBlock): Promise<TransactionOutcome> {
  const { context } = sending
  const { clock, journal } = context.ports
  const { id } = first
  for (let found = first; ; ) {
    const end = await certainEnd(sending, id, found)
    if (!journal.state.transactions.has(id)) return endOf(journal.state, id)
    if (end !== undefined) return conclude(sending, id, end)
    if (context.stop.aborted) return { tag: 'stopped' }
    const pauseMs = found.receipt === undefined ? pollMs(context) : FINAL_READ_MS
    await clock.sleep(pauseMs, context.stop)
    const next = await readAgain(sending, found)
    if (next.tag !== 'in-block') return next
    found = next
  }
}

/** Resends a transaction that a reorg removed, until it is mined again. */
async function readAgain(sending: Sending, found: InBlock): Promise<InBlock | TransactionOutcome> {
  const { id, tries } = found
  const seen = await readNewest(sending, id, tries)
  if (seen !== 'pending') return { ...found, ...seen }
  if (tries.readFault !== undefined) return found
  // The first resend is unmodified.
  tries.triedAtMs = undefined
  return sending.wallet.turn(() => intoBlock(sending, id, tries))
}

/** An end that another follower journaled meanwhile. Ends that the state drops are never requested. */
function endOf({ endedTransactions }: DaemonState, id: string): TransactionOutcome {
  return { tag: endedTransactions.get(id) ?? 'stopped' }
}

function pollMs({ policy }: SendingContext): number {
  return Math.min(1_000, policy.pollMsMin)
}

/** If the signer refuses, withdraws the record: it was never signed or sent, and would hold its nonce. */
async function begin(sending: Sending, id: string): Promise<TransactionOutcome | undefined> {
  const { journal } = sending.context.ports
  const { purpose } = openRecord(sending, id)
  const signed = await sign(sending, id)
  if (signed.ok) return undefined
  await journal.append(transactionEnded({ id, ...NEVER_SIGNED }))
  if (signed.reason === 'halted') return notWhileHalted(purpose)
  if (isPassing(signed.reason)) return { tag: 'unsent', why: 'unavailable', detail: signed.detail }
  return { tag: 'blocked', closing: blockedBy(signed) }
}

const NEVER_SIGNED = { status: 'withdrawn', hash: undefined, blockNumber: undefined } as const

/** True if the kill switch blocks a signature. Unwrapping finishes an order, so it is allowed, as while draining. */
function isHalted({ context }: Sending, { purpose, isRevoking }: OwnTransaction): boolean {
  return purpose !== 'unwrap' && isRevoking !== true && haltedNow(context) !== undefined
}
