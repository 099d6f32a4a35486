import { InvariantError } from '../errors.ts'
import { clientOrderId, type IntentId, type Outcome } from '../intent.ts'
import {
  type FailureReason,
  isFailureReason,
  isRefusalReason,
  type RefusalReason,
} from '../reason.ts'
import type { Mode } from '../settings.ts'
import type { Token } from '../token.ts'
import { type Address, type BaseUnits, baseUnits, type Hex } from '../units.ts'
import { type Word, wordIn } from '../word.ts'
import { openCall } from './calls.ts'
import { minedDeposit } from './deposits.ts'
import { emptyState } from './fields.ts'
import { applyEvent, NOT_SCHEDULED } from './fold.ts'
import type {
  CallCosts,
  CloseReason,
  EventOf,
  JournalEvent,
  JournalRecord,
  PauseCause,
  TransactionPurpose,
} from './journal.ts'
import { type Moved, openIntent, openTransaction, unfinalFill } from './orders.ts'
import type { DaemonState, OpenIntent } from './state.ts'
import { openSwap } from './swaps.ts'
import { bookOf, heldBy, type VenueName } from './venues.ts'

type OrderFact = { readonly strategy: string; readonly intentId: IntentId }

/** What a journal record says to people and programs. Log, metrics, webhooks, `history` and `why` are readings of these. */
export type Fact =
  | {
      readonly type: 'bound'
      readonly mode: Mode
      readonly chainId: number
      readonly owner: Address
    }
  | {
      readonly type: 'strategy-scheduled'
      readonly strategy: string
      readonly fromSeconds: number
    }
  | { readonly type: 'state-named'; readonly stateId: string }
  | { readonly type: 'anchored'; readonly wallet: Address; readonly chainId: number }
  | {
      readonly type: 'wallet-compared'
      readonly wallet: Address
      readonly chainId: number
      readonly blockNumber: bigint
    }
  | {
      readonly type: 'delegation-signed'
      readonly account: Address
      readonly delegate: Address
    }
  | {
      /** An operator's word about what is known. */
      readonly type: 'begun-anew' | 'loss-accepted'
      readonly detail: string
    }
  | {
      readonly type: 'slot-opened'
      readonly strategy: string
      readonly slotSeconds: number
      readonly latenessMs: number
      readonly intents: number
    }
  | {
      readonly type: 'slot-closed'
      readonly strategy: string
      readonly slotSeconds: number
      /** Of a run of missed slots the last one. */
      readonly lastSeconds: number
      readonly outcome: Outcome
      readonly reason: CloseReason
      readonly detail?: string | undefined
      /** More than one only for a run of missed slots; undefined for one that is too long to count. */
      readonly count: number | undefined
    }
  | {
      /** Of the total of a program of slices, base units; `rule` says what was to become of what slices did not sell. */
      readonly type: 'program-ended'
      readonly strategy: string
      readonly slotSeconds: number
      readonly token: Token
      readonly total: BaseUnits
      readonly unsold: bigint
      readonly rule: EventOf<'program-ended'>['rule']
    }
  | {
      /** Of one strategy, or of everything where none is named: a halt. */
      readonly type: 'pause'
      readonly strategy: string | undefined
      readonly paused: boolean
      readonly cause: PauseCause
      readonly detail: string
    }
  | (OrderFact & {
      /** From now on a signature may exist. */
      readonly type: 'authorization-recorded'
      readonly attempt: number
      readonly deadlineSeconds: number | undefined
    })
  | (OrderFact & {
      /** It was never signed. */
      readonly type: 'authorization-withdrawn'
      readonly attempt: number
      readonly reason: CloseReason
    })
  | (OrderFact & {
      readonly type: 'authorization-dead'
      readonly attempt: number
      readonly how: 'expired' | 'cancelled'
    })
  | (OrderFact & {
      /** An operator's word, and what is booked by it. */
      readonly type: 'order-settled'
      readonly attempt: number
      readonly word: Word
      readonly evidence: string
      readonly token: Token
      /** Counted as spent, in base units: all that was allowed, or nothing. */
      readonly booked: bigint
    })
  | (OrderFact & {
      readonly type: 'call-signed'
      readonly attempt: number
      /** Of the transaction that gives the call to the service. */
      readonly hash: Hex
    })
  | (OrderFact & {
      readonly type: 'order-accepted'
      readonly attempt: number
      readonly orderId: string
    })
  | (OrderFact & {
      readonly type: 'order-ended'
      readonly attempt: number
      readonly status: 'rejected' | 'failed' | 'expired'
      readonly message: string
    })
  | (OrderFact & {
      readonly type: 'filled'
      readonly venue: 'gasless'
      readonly sell: Token
      readonly buy: Token
      readonly paid: BaseUnits
      readonly received: BaseUnits
      readonly txHash: Hex
      readonly durationMs: number
    })
  | (OrderFact & {
      /** Dry-run: booked at its quote, nothing was signed. */
      readonly type: 'paper-filled'
      readonly venue: VenueName
      readonly moved: Moved
      readonly durationMs: number
    })
  | (OrderFact & {
      readonly type: 'executed'
      readonly venue: 'aggregated' | 'direct'
      readonly label: string
      readonly txHash: Hex
      readonly costs: CallCosts
      readonly durationMs: number
    })
  | {
      /** No reorganisation takes these orders back. */
      readonly type: 'fills-final'
      readonly orders: readonly OrderFact[]
      readonly blockNumber: bigint
    }
  | (OrderFact & {
      /** A reorganisation took away the block that proved it. */
      readonly type: 'fill-reopened'
      readonly attempt: number
      readonly venue: VenueName
      readonly blockNumber: bigint
      readonly moved: Moved
    })
  | (OrderFact & {
      /** The firewall would not sign. */
      readonly type: 'refused'
      readonly reason: RefusalReason
      readonly detail: string
    })
  | (OrderFact & {
      readonly type: 'failed'
      readonly venue: VenueName
      readonly reason: FailureReason
      readonly detail: string
    })
  | (OrderFact & { readonly type: 'intent-closed'; readonly outcome: Outcome })
  | {
      readonly type: 'transaction'
      readonly intentId: IntentId | undefined
      readonly purpose: TransactionPurpose
      readonly status:
        | 'recorded'
        | 'replaced'
        | 'signed'
        | 'mined'
        | 'reverted'
        | 'lost'
        | 'withdrawn'
      /** Undefined as long as nothing is signed. */
      readonly hash: Hex | undefined
    }
  | {
      /** The service can use it. Wei. */
      readonly type: 'deposit-indexed'
      readonly amount: bigint
    }

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
  'strategy-resumed': ({ strategy }) => resumed(strategy),
  halted: ({ cause, detail }) => paused(undefined, cause, detail),
  'halt-lifted': () => resumed(undefined),
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
  'authorization-dead': ({ type, intentId, attempt, how }, { state }) => ({
    ...subject(openIntent(state, intentId)),
    type,
    attempt,
    how,
  }),
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
  'fill-proven': ({ intentId, fill: { paid, received, txHash } }, { state, atMs }) => {
    const open = openSwap(state, intentId)
    const { sell, buy } = open.intent
    const amounts = { sell: sell.token, buy: buy.token, paid, received }
    const durationMs = atMs - open.openedAtMs
    return { ...subject(open), type: 'filled', venue: 'gasless', ...amounts, txHash, durationMs }
  },
  'call-proven': ({ intentId, execution: { txHash, via, costs } }, { state, atMs }) => {
    const open = openCall(state, intentId)
    const durationMs = atMs - open.openedAtMs
    const { label } = open.intent
    return { ...subject(open), type: 'executed', venue: via, label, txHash, costs, durationMs }
  },
  'paper-filled': ({ type, intentId, ...amounts }, { state, atMs }) => {
    const open = openIntent(state, intentId)
    const moved = bookOf(open).movedOf(open.intent, amounts)
    const durationMs = atMs - open.openedAtMs
    return { ...subject(open), type, venue: open.venue, moved, durationMs }
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
  'transaction-ended': ({ id, status, hash }, { state }) => {
    const { intentId, purpose } = openTransaction(state, id).record
    return { type: 'transaction', intentId, purpose, status, hash }
  },
  'deposit-indexed': ({ type, id }, { state }) => ({
    type,
    amount: minedDeposit(state, id).amount,
  }),
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

function resumed(strategy: string | undefined): Fact {
  return { type: 'pause', strategy, paused: false, cause: 'operator', detail: 'resumed' }
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

/** What the missing records may have introduced, and later ones take for granted. */
function introduce(state: DaemonState, { bound, strategies }: DaemonState): void {
  state.bound ??= bound
  for (const strategy of strategies.keys()) {
    if (state.strategies.has(strategy)) continue
    const scheduled = { scheduleKey: NOT_SCHEDULED, fromSeconds: 0 }
    applyEvent(state, { type: 'strategy-scheduled', strategy, ...scheduled }, 0)
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
