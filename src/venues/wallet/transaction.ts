import type { TransactionPurpose } from '../domain/book/journal.ts'
import type { DaemonState } from '../domain/book/state.ts'
import { nextNonceAtLeast } from '../domain/book/transactions.ts'
import { unfitGas } from '../domain/gas.ts'
import type { IntentId } from '../domain/intent.ts'
import { isPassing } from '../domain/reason.ts'
import type { Address, Hex } from '../domain/units.ts'
import type { ChainReply, TransactionDraft } from '../ports.ts'
import { askChain } from './ask.ts'
import { openRecord, sendAgain, sign, withinLimits } from './broadcast.ts'
import { barredBy, type Closing, haltedNow } from './close.ts'
import type { SendingContext, WalletContext } from './context.ts'
import { doubtfulNonce } from './evidence.ts'
import {
  certainEnd,
  type End,
  type Fate,
  look,
  minedEnd,
  newTries,
  type Sending,
  type Tries,
  type Used,
} from './fate.ts'

/** A transaction that our own wallet is to make. `id` names it for good: one id never executes twice. */
export type OwnTransaction = {
  /** Undefined lets the nonce name it (approvals, which may be made again). */
  readonly id: string | undefined
  readonly purpose: TransactionPurpose
  /** Undefined for what belongs to no order (deposits). */
  readonly intentId: IntentId | undefined
  readonly to: Address
  readonly data: Hex
  /** The data with the signature that its record does not hold, to find out what it takes. */
  readonly signedData?: Hex
  readonly value: bigint
  /** Of a deposit; see `TransactionRecord`. */
  readonly availableBefore?: bigint
  readonly isAsked?: boolean
  /** It takes a right away and gives none: a halt does not bar it. */
  readonly isRevoking?: true
  /** What ends its order before it is recorded: the wallet's turn, and an answer of the node, may have taken minutes. */
  readonly barred?: () => Closing | undefined
  /** Told when a block has it, of which nothing is certain yet. */
  readonly onInBlock?: () => void
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
      readonly why: 'insufficientFunds' | 'refused' | 'unavailable' | 'gasTooDear'
      readonly detail: string
    }
  /** Nothing of it was ever signed, and nothing is: the signer does not let it. */
  | { readonly tag: 'barred'; readonly closing: Closing }

/** Between two looks at what a block has and is not final: about a block. */
const FINAL_LOOK_MS = 12_000

/** Its nonce is used at the newest block: it holds up no other, and what became of it may not be certain yet. */
type InBlock = Used & { readonly tag: 'in-block'; readonly id: string; readonly tries: Tries }

/**
 * Makes a transaction happen once: recorded before it is broadcast, its fee raised while it stays unmined, and followed to
 * what becomes of it for certain. Other unfinished transactions of the wallet are brought into a block first, so that nonces
 * are never contested.
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
    if (ended !== undefined && !mayBeMadeAgain(wanted, ended)) return { tag: ended }
    const own = (await followOpen(sending, wanted.id)) ?? (await send(sending, wanted))
    return own.tag === 'in-block' ? endIfMined(sending, own) : own
  })
  if (begun.tag !== 'in-block') return begun
  wanted.onInBlock?.()
  return settle(sending, begun)
}

/** What is mined needs no following, and the wallet's next transaction no look at it. */
async function endIfMined(sending: Sending, found: InBlock): Promise<InBlock | TransactionOutcome> {
  const end = minedEnd(sending, found.id, found)
  return end === undefined ? found : conclude(sending, found.id, end)
}

async function conclude({ context }: Sending, id: string, end: End): Promise<TransactionOutcome> {
  await context.ports.journal.append({ type: 'transaction-ended', id, ...end })
  return { tag: end.status }
}

/** What is lost can never be mined any more; what was bought as ETH, or was to be given back, would stay WETH for good. */
function mayBeMadeAgain({ purpose }: OwnTransaction, ended: Fate): boolean {
  return purpose === 'unwrap' && ended === 'lost'
}

/**
 * Follows what an earlier process recorded: an approval that nobody waits for any more still costs gas and holds a
 * nonce.
 */
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

/** What the wallet has on record and is not certain of, oldest first. */
function openIds({ context, wallet }: Sending): readonly string[] {
  return [...context.ports.journal.state.transactions.values()]
    .filter(({ record: { from, chainId } }) => {
      return from === wallet.signer.address && chainId === wallet.chainId
    })
    .map(({ record }) => record.id)
}

/**
 * Follows every recorded transaction of the wallet into a block: what it comes to there is found by whoever waits for it.
 * Gives what became of `id` if it was among them.
 */
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
    const from = signer.address
    return unlessUseless(
      sending,
      await chain.draft({ from, to, data: wanted.signedData ?? data, value, limits: wallet.gas }),
    )
  })
  // While draining only what finishes a filled order is still worth a transaction.
  const end = purpose === 'unwrap' ? context.stop : context.closing
  if (end.aborted) return { tag: 'stopped' }
  const doubt = draft.ok ? await doubtfulNonce(context, wallet, draft.value.nonce) : undefined
  if (isHalted(sending, wanted)) return notWhileHalted(purpose)
  const closing = wanted.barred?.()
  if (closing !== undefined) return { tag: 'barred', closing }
  if (!draft.ok) return { tag: 'unsent', why: draft.fault.tag, detail: draft.fault.message }
  if (doubt !== undefined) return { tag: 'unsent', why: 'unavailable', detail: doubt }
  const id = wanted.id ?? `${purpose}:${to}:${draft.value.nonce}`
  // While the node was asked, a reorganisation may have brought back what was made before.
  if (context.ports.journal.state.transactions.has(id)) return intoBlock(sending, id, newTries())
  const allowed = withinLimits(sending, draft.value)
  if (!allowed.ok) return { tag: 'unsent', why: 'gasTooDear', detail: allowed.why }
  const { baseFeePerGas: _asked, raisedFeePerGas: _raised, ...drafted } = draft.value
  const draftAs = { ...drafted, ...allowed.offer, data, id, purpose, intentId }
  const transaction = { ...draftAs, availableBefore, isAsked }
  await context.ports.journal.append({ type: 'transaction-recorded', transaction })
  return intoBlock(sending, id, newTries())
}

/**
 * What a node says is held against what can be. A nonce that a transaction of ours has used is the word of a node that is behind:
 * recorded, it would be lost for good, and what it was to move would stay where it is. With useless gas no block would take it.
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

/**
 * Nothing was signed. A direct call is asked for again while its order is open; whatever else wanted a transaction begins
 * again where the halt bars it.
 */
function notWhileHalted(purpose: TransactionPurpose): TransactionOutcome {
  return purpose === 'call'
    ? { tag: 'unsent', why: 'unavailable', detail: 'everything is halted' }
    : { tag: 'stopped' }
}

/** Has it signed and sent, again and dearer where that is due, until its nonce is used. In the wallet's turn. */
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
    const barred = open.hashes.length > 0 ? undefined : await begin(sending, id)
    if (barred !== undefined) return barred
    const seen = await look(sending, id, tries)
    if (seen !== 'pending') return { tag: 'in-block', id, tries, ...seen }
    if (context.stop.aborted) return { tag: 'stopped' }
    await sendAgain(sending, id, tries)
    if (tries.waitsForOthers === true) await followEarlier(sending, id)
    await clock.sleep(pollMs(context), context.stop)
  }
}

/** What has an earlier nonce of the wallet goes first: who waits behind it has the turn, so that nobody else follows it. */
async function followEarlier(sending: Sending, id: string): Promise<void> {
  const { transactions } = sending.context.ports.journal.state
  const nonceOf = (each: string): number => transactions.get(each)?.record.nonce ?? 0
  const own = nonceOf(id)
  const earlier = openIds(sending).filter((each) => nonceOf(each) < own)
  for (const each of earlier.toSorted((a, b) => nonceOf(a) - nonceOf(b)))
    await intoBlock(sending, each, newTries())
}

/**
 * Follows what a block has until what became of it is certain, and journals that; beside the wallet's other transactions,
 * for its nonce is used.
 */
async function settle(sending: Sending, first: InBlock): Promise<TransactionOutcome> {
  const { context } = sending
  const { clock, journal } = context.ports
  const { id } = first
  for (let found = first; ; ) {
    const end = await certainEnd(sending, id, found)
    if (!journal.state.transactions.has(id)) return endOf(journal.state, id)
    if (end !== undefined) return conclude(sending, id, end)
    if (context.stop.aborted) return { tag: 'stopped' }
    const pauseMs = found.receipt === undefined ? pollMs(context) : FINAL_LOOK_MS
    await clock.sleep(pauseMs, context.stop)
    const next = await lookAgain(sending, found)
    if (next.tag !== 'in-block') return next
    found = next
  }
}

/** What a reorganisation has taken out of its block is brought into another one. */
async function lookAgain(sending: Sending, found: InBlock): Promise<InBlock | TransactionOutcome> {
  const { id, tries } = found
  const seen = await look(sending, id, tries)
  if (seen !== 'pending') return { ...found, ...seen }
  if (tries.lookFault !== undefined) return found
  // It is sent again as it is before anything else is tried.
  tries.triedAtMs = undefined
  return sending.wallet.turn(() => intoBlock(sending, id, tries))
}

/** Of what was journaled meanwhile, by another that waits for the same: nobody asks for what is not kept. */
function endOf({ endedTransactions }: DaemonState, id: string): TransactionOutcome {
  return { tag: endedTransactions.get(id) ?? 'stopped' }
}

function pollMs({ policy }: SendingContext): number {
  return Math.min(1_000, policy.pollMsMin)
}

/**
 * The first signature of what is on record. Where the signer does not make it, the record is taken back: nobody can have
 * sent what was never signed, and it would keep its nonce from others.
 */
async function begin(sending: Sending, id: string): Promise<TransactionOutcome | undefined> {
  const { journal } = sending.context.ports
  const { purpose } = openRecord(sending, id)
  const signed = await sign(sending, id)
  if (signed.ok) return undefined
  await journal.append({ type: 'transaction-ended', id, ...NEVER_SIGNED })
  if (signed.reason === 'halted') return notWhileHalted(purpose)
  if (isPassing(signed.reason)) return { tag: 'unsent', why: 'unavailable', detail: signed.detail }
  return { tag: 'barred', closing: barredBy(signed) }
}

const NEVER_SIGNED = { status: 'withdrawn', hash: undefined, blockNumber: undefined } as const

/** Whether the kill switch bars a signature. An unwrapping finishes an order, as it does while draining. */
function isHalted({ context }: Sending, { purpose, isRevoking }: OwnTransaction): boolean {
  return purpose !== 'unwrap' && isRevoking !== true && haltedNow(context) !== undefined
}
