import { contractKey } from '../contract.ts'
import { InvariantError } from '../errors.ts'
import { clientOrderId } from '../intent.ts'
import { againstFeedBps } from '../price.ts'
import { isFailureReason, isRefusalReason } from '../reason.ts'
import { ETHER, type Token } from '../token.ts'
import { baseUnits } from '../units.ts'
import { wordIn } from '../word.ts'
import { openCall } from './calls.ts'
import { minedDeposit } from './deposits.ts'
import type { Fact, OrderFact } from './fact.ts'
import { emptyState } from './fields.ts'
import { applyEvent } from './fold.ts'
import type {
  EventOf,
  JournalEvent,
  JournalRecord,
  PauseCause,
  TransactionRecord,
} from './journal.ts'
import { type Moved, openIntent, openTransaction, unfinalFill } from './orders.ts'
import { NOT_SCHEDULED } from './slots.ts'
import type { DaemonState, OpenIntent } from './state.ts'
import { openSwap } from './swaps.ts'
import { unfinalTransaction } from './transactions.ts'
import { bookOf, heldBy } from './venues.ts'

/** When a record was made, and what was true before it. */
type Before = { readonly state: DaemonState; readonly atMs: number }

/** The one telling: what each kind of record says, looked up with the state before it. */
const TELLINGS: {
  readonly [Type in JournalEvent['type']]: (event: EventOf<Type>, before: Before) => Fact
} = {
  bound: ({ type, mode, chainId, owner }) => ({ type, mode, chainId, owner }),
  'state-named': ({ type, stateId }) => ({ type, stateId }),
  anchored: ({ type, wallet, chainId }) => ({ type, wallet, chainId }),
  'wallet-compared': ({ type, wallet, chainId, blockNumber }) => ({
    type,
    wallet,
    chainId,
    blockNumber,
  }),
  'delegation-signed': ({ type, account, delegate }) => ({ type, account, delegate }),
  'delegation-charged': ({ type, account, charged }) => ({ type, account, charged }),
  'begun-anew': ({ type, detail }) => ({ type, detail }),
  'loss-accepted': ({ type, detail }) => ({ type, detail }),
  'strategy-scheduled': ({ type, strategy, fromSeconds }) => ({ type, strategy, fromSeconds }),
  'slot-opened': ({ type, strategy, slotSeconds, intents }, { atMs }) => ({
    type,
    strategy,
    slotSeconds,
    latenessMs: atMs - slotSeconds * 1000,
    intents: intents.length,
  }),
  'slot-closed': ({ type, strategy, slotSeconds, outcome, reason, detail }) => ({
    type,
    strategy,
    slotSeconds,
    lastSeconds: slotSeconds,
    outcome,
    reason,
    detail,
    count: 1,
  }),
  'slots-missed': ({ strategy, firstSeconds, lastSeconds, count }) => ({
    type: 'slot-closed',
    strategy,
    slotSeconds: firstSeconds,
    lastSeconds,
    outcome: 'missed',
    reason: 'missed',
    count,
  }),
  'program-ended': ({ type, strategy, slotSeconds, token, total, unsold, rule }) => ({
    type,
    strategy,
    slotSeconds,
    token,
    total,
    unsold,
    rule,
  }),
  'strategy-paused': ({ strategy, cause, detail }) => paused(strategy, cause, detail),
  'strategy-resumed': ({ strategy, detail }) => resumed(strategy, detail),
  'strategy-held': ({ strategy, detail }) => ({ type: 'hold', strategy, held: true, detail }),
  'hold-lifted': ({ strategy, detail }) => ({ type: 'hold', strategy, held: false, detail }),
  halted: ({ cause, detail }) => paused(undefined, cause, detail),
  'halt-lifted': ({ detail }) => resumed(undefined, detail),
  'permit-recorded': ({ intentId, permit: { attempt, deadlineSeconds } }, { state }) => ({
    ...subject(openIntent(state, intentId)),
    type: 'authorization-recorded',
    attempt,
    deadlineSeconds,
  }),
  'call-recorded': ({ intentId, call }, { state }) => ({
    ...subject(openIntent(state, intentId)),
    type: 'authorization-recorded',
    attempt: call.attempt,
    deadlineSeconds: call.trust === 'trustless' ? call.deadlineSeconds : undefined,
  }),
  'authorization-withdrawn': ({ type, intentId, attempt, reason }, { state }) => ({
    ...subject(openIntent(state, intentId)),
    type,
    attempt,
    reason,
  }),
  'authorization-dead': ({ type, intentId, attempt, how }, { state }) => {
    const open = openIntent(state, intentId)
    const lost = how === 'cancelled' ? heldBy(open) : undefined
    return { ...subject(open), type, attempt, how, ...(lost === undefined ? {} : { lost }) }
  },
  'order-settled': (event, { state }) => {
    const { type, intentId, attempt, evidence } = event
    const open = openIntent(state, intentId)
    const { token, amount } = heldBy(open)
    const booked = event.as === 'executed' ? amount : 0n
    const word = wordIn(event)
    return { ...subject(open), type, attempt, word, evidence, token, booked }
  },
  'call-signed': ({ type, intentId, attempt, hash }, { state }) => ({
    ...subject(openIntent(state, intentId)),
    type,
    attempt,
    hash,
  }),
  'order-accepted': ({ type, intentId, attempt, orderId }, { state }) => ({
    ...subject(openIntent(state, intentId)),
    type,
    attempt,
    orderId,
  }),
  'order-ended': ({ type, intentId, attempt, status, message }, { state }) => ({
    ...subject(openIntent(state, intentId)),
    type,
    attempt,
    status,
    message,
  }),
  'fill-proven': ({ intentId, fill: { paid, received, txHash, blockHash } }, { state, atMs }) => {
    const open = openSwap(state, intentId)
    const { sell, buy } = open.intent
    const amounts = { sell: sell.token, buy: buy.token, paid, received }
    const vsFeedBps = againstFeedBps({ paid, received, feed: open.permit?.feed })
    const durationMs = atMs - open.openedAtMs
    return {
      ...{ ...subject(open), type: 'filled', venue: 'gasless' },
      ...{ ...amounts, vsFeedBps, fee: open.permit?.fee, txHash, durationMs },
      ...(blockHash === undefined ? { isFinal: true } : {}),
    }
  },
  'call-proven': ({ intentId, execution: { txHash, via, costs } }, { state, atMs }) => {
    const open = openCall(state, intentId)
    const durationMs = atMs - open.openedAtMs
    const { label, value } = open.intent
    const what = { venue: via, label, value, txHash, costs, durationMs } as const
    return { ...subject(open), type: 'executed', ...what }
  },
  'paper-filled': (event, { state, atMs }) => {
    const open = openIntent(state, event.intentId)
    const moved = bookOf(open).movedOf(open.intent, event)
    const durationMs = atMs - open.openedAtMs
    const { type } = event
    const value = open.venue === 'aggregated' ? event.paid : undefined
    return {
      ...{ ...subject(open), type, venue: open.venue },
      ...{ moved, value, swap: paperSwapOf(event, open), durationMs },
    }
  },
  'fills-final': ({ type, orders, blockNumber }, { state }) => ({
    type,
    orders: orders.map((key) => subject(unfinalFill(state, key).open)),
    blockNumber,
  }),
  'fill-reopened': ({ type, intentId, attempt, blockNumber }, { state }) => {
    const { open } = unfinalFill(state, clientOrderId(intentId, attempt))
    return { ...subject(open), type, attempt, venue: open.venue, blockNumber, moved: movedBy(open) }
  },
  'intent-closed': (event, { state }) => endOf(event, openIntent(state, event.intentId)),
  'transaction-recorded': ({ transaction: { id, intentId, purpose, hash } }, { state }) => {
    const status = state.transactions.has(id) ? 'replaced' : 'recorded'
    return { type: 'transaction', intentId, purpose, status, hash }
  },
  'transaction-signed': ({ id, hash }, { state }) => {
    const { intentId, purpose } = openTransaction(state, id).record
    return { type: 'transaction', intentId, purpose, status: 'signed', hash }
  },
  'transaction-ended': ({ id, status, hash, fee }, { state }) => {
    const { record } = openTransaction(state, id)
    const { intentId, purpose } = record
    const exchanged = status === 'mined' ? exchangedBy(record) : undefined
    const own = { type: 'transaction', intentId, purpose, status, hash, fee } as const
    return exchanged === undefined ? own : { ...own, exchanged }
  },
  'transaction-reopened': ({ id }, { state }) => {
    const { open, hash } = unfinalTransaction(state, id)
    const { intentId, purpose } = open.record
    return { type: 'transaction', intentId, purpose, status: 'reopened', hash }
  },
  'transactions-final': ({ type, blockNumber }) => ({ type, blockNumber }),
  'deposit-indexed': ({ type, id }, { state }) => ({
    type,
    amount: minedDeposit(state, id).amount,
  }),
  'contract-code': (event, { state }) => ({
    ...event,
    before: state.contracts.get(contractKey(event))?.code,
  }),
}

/** `withdraw(uint256)` with its amount. */
const WITHDRAWAL = /^0x[0-9a-f]{8}([0-9a-f]{64})$/i

/** The ether that a wrap turned into its token, or an unwrap back; undefined for anything else. */
function exchangedBy({
  purpose,
  to: address,
  chainId,
  value,
  data,
  isCancelling,
}: TransactionRecord) {
  if (isCancelling === true) return undefined
  const wrapped: Token = { ...ETHER, symbol: 'WETH', chainId, address }
  if (purpose === 'wrap') return { sell: ETHER, buy: wrapped, amount: value }
  const amount = purpose === 'unwrap' ? WITHDRAWAL.exec(data)?.[1] : undefined
  return amount === undefined
    ? undefined
    : { sell: wrapped, buy: ETHER, amount: BigInt(`0x${amount}`) }
}

function paperSwapOf({ paid, received, feed, fee }: EventOf<'paper-filled'>, open: OpenIntent) {
  if (open.venue !== 'gasless') return undefined
  const { sell, buy } = open.intent
  const vsFeedBps = againstFeedBps({ paid, received, feed })
  return { sell: sell.token, buy: buy.token, paid, received, vsFeedBps, fee }
}

function subject({ intent }: OpenIntent): OrderFact {
  return { strategy: intent.strategy, intentId: intent.id }
}

function movedBy(open: OpenIntent): Moved {
  if (open.venue === 'aggregated') return { call: open.intent.label }
  const nothing = { paid: baseUnits(0n), received: baseUnits(0n) }
  return bookOf(open).movedOf(open.intent, open.fill ?? nothing)
}

function paused(strategy: string | undefined, cause: PauseCause, detail: string): Fact {
  return { type: 'pause', strategy, paused: true, cause, detail }
}

function resumed(strategy: string | undefined, detail = 'resumed'): Fact {
  return { type: 'pause', strategy, paused: false, cause: 'operator', detail }
}

function endOf({ outcome, reason, detail = '' }: EventOf<'intent-closed'>, open: OpenIntent): Fact {
  const { venue } = open
  if (outcome === 'refused' && isRefusalReason(reason))
    return { ...subject(open), type: 'refused', reason, detail }
  if ((outcome === 'failed' || outcome === 'expired') && isFailureReason(reason))
    return { ...subject(open), type: 'failed', venue, reason, detail }
  return { ...subject(open), type: 'intent-closed', outcome }
}

/** What a record says, told with the state before it. Throws InvariantError for one that does not fit that state. */
export function tell(record: Pick<JournalRecord, 'event' | 'atMs'>, state: DaemonState): Fact {
  const { event, atMs } = record
  const telling = TELLINGS[event.type] as (event: JournalEvent, before: Before) => Fact
  return telling(event, { state, atMs })
}

/** Applies one event in place, as `applyEvent` does, and tells it. */
export function applyAndTell(state: DaemonState, event: JournalEvent, atMs: number): Fact {
  const fact = tell({ event, atMs }, state)
  applyEvent(state, event, atMs)
  return fact
}

/** A record with what it says; undefined where it takes a record that is missing to tell. */
export type Told = { readonly record: JournalRecord; readonly fact: Fact | undefined }

/**
 * Tells a journal, oldest record first. Where records are missing, what is left is told as far as it goes: `now` is the
 * state that the whole of them leads to.
 */
export async function* tellAll(
  records: AsyncIterable<JournalRecord>,
  now: DaemonState,
): AsyncGenerator<Told> {
  const state = emptyState()
  let isWhole = true
  let seq = 0
  for await (const record of records) {
    seq += 1
    if (record.seq !== seq) {
      isWhole = false
      introduce(state, now)
      seq = record.seq
    }
    const { event, atMs } = record
    const fact = isWhole ? applyAndTell(state, event, atMs) : tellInPart(state, record)
    yield { record, fact }
  }
}

/**
 * Tells some records of one strategy, oldest first, as far as they go by themselves: for whoever has not all that come before
 * and between them. Of a slot or an intent all of its own records are enough.
 */
export function tellApart(records: readonly JournalRecord[], strategy: string): readonly Told[] {
  const state = emptyState()
  enter(state, strategy)
  return records.map((record) => ({ record, fact: tellInPart(state, record) }))
}

function enter(state: DaemonState, strategy: string): void {
  const scheduled = { scheduleKey: NOT_SCHEDULED, fromSeconds: 0 }
  applyEvent(state, { type: 'strategy-scheduled', strategy, ...scheduled }, 0)
}

/** What the missing records may have introduced, and later ones take for granted. */
function introduce(state: DaemonState, { bound, strategies }: DaemonState): void {
  state.bound ??= bound
  for (const strategy of strategies.keys()) {
    if (!state.strategies.has(strategy)) enter(state, strategy)
  }
}

function tellInPart(state: DaemonState, record: JournalRecord): Fact | undefined {
  const fact = unlessUnknown(() => tell(record, state))
  unlessUnknown(() => applyEvent(state, record.event, record.atMs))
  return fact
}

/** What the state does not allow here follows from what is missing: the daemon's own fold has allowed it. */
function unlessUnknown<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof InvariantError) return undefined
    throw error
  }
}

/** Whether a fact, or a record, is about a slot: the slot itself, one of its intents, or a transaction made for one. */
export function isAbout(
  fact: Fact | JournalEvent,
  { strategy, slotSeconds }: { readonly strategy: string; readonly slotSeconds: number },
): boolean {
  const own = `${strategy}:${slotSeconds}:`
  if (fact.type === 'fills-final')
    return fact.orders.some((order) =>
      (typeof order === 'string' ? order : order.intentId).startsWith(own),
    )
  if ('intentId' in fact) return fact.intentId?.startsWith(own) ?? false
  if (!('slotSeconds' in fact) || fact.strategy !== strategy) return false
  const lastSeconds = 'lastSeconds' in fact ? fact.lastSeconds : fact.slotSeconds
  return fact.slotSeconds <= slotSeconds && slotSeconds <= lastSeconds
}
