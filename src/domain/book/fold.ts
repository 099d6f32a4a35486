import type { CallRecord } from '../call.ts'
import { assertNever, InvariantError } from '../errors.ts'
import { clientOrderId, type IntentId, type Outcome, worseEnd } from '../intent.ts'
import { nextState, type OrderStep } from '../order.ts'
import { wordIn } from '../word.ts'
import { openCall, proveCall, recordCall } from './calls.ts'
import { endDeposit, markIndexed, recordDeposit } from './deposits.ts'
import type { EventOf, JournalEvent, TransactionRecord } from './journal.ts'
import { NO_MEMORY } from './memory.ts'
import {
  countFill,
  forgetOld,
  lapse,
  noteOrder,
  openIntent,
  openTransaction,
  reopen,
  spend,
  stepAttempt,
  strategyOf,
  takeStep,
  unfinalFill,
} from './orders.ts'
import {
  noteComparison,
  noteDelegation,
  noteNestedNonce,
  noteNonce,
  type WalletPlace,
} from './sights.ts'
import type { DaemonState, OpenIntent, OpenSlot, StrategyRecord } from './state.ts'
import { proveFill, recordPermit } from './swaps.ts'
import { noteMinedNonce } from './transactions.ts'
import { bookOf } from './venues.ts'

/**
 * Applies one event in place. Throws InvariantError, before it changes anything, when the state table or the
 * slot order does not allow the event.
 */
export function applyEvent(state: DaemonState, event: JournalEvent, atMs: number): void {
  switch (event.type) {
    case 'bound':
      if (state.bound !== undefined) throw new InvariantError('state is bound to a chain already')
      state.bound = {
        mode: event.mode,
        chainId: event.chainId,
        genesisHash: event.genesisHash,
        owner: event.owner,
      }
      return
    case 'state-named':
      if (state.stateId !== undefined) throw new InvariantError('the state has a name already')
      state.stateId = event.stateId
      return
    case 'anchored':
      state.anchored.set(event.wallet, event.chainId)
      return
    case 'begun-anew':
      return
    case 'loss-accepted':
      // What the lost records explained is unexplained: it is accepted with them.
      state.sights.clear()
      for (const open of state.intents.values()) open.isInLoss = true
      return
    case 'wallet-compared':
      noteComparison(state, event, atMs)
      return
    case 'delegation-signed':
      noteDelegation(state, event)
      return
    case 'strategy-scheduled':
      scheduleStrategy(state, event)
      return
    case 'slot-opened':
      openSlot(state, event, atMs)
      return
    case 'slot-closed':
      closeSlot(state, event)
      return
    case 'strategy-paused':
      strategyOf(state, event.strategy).paused = {
        atMs,
        cause: event.cause,
        detail: event.detail,
      }
      return
    case 'strategy-resumed': {
      const record = strategyOf(state, event.strategy)
      record.paused = undefined
      record.resumedAtMs = atMs
      record.failureStreak = 0
      return
    }
    case 'halted':
      state.halted = { atMs, cause: event.cause, detail: event.detail }
      return
    case 'halt-lifted':
      state.halted = undefined
      state.failureStreak = 0
      return
    case 'slots-missed':
      missSlots(strategyOf(state, event.strategy), event)
      return
    case 'program-ended':
      endProgram(strategyOf(state, event.strategy), event)
      return
    case 'permit-recorded':
      recordPermit(state, event, atMs)
      return
    case 'call-recorded':
      recordCall(state, event, atMs)
      return
    case 'authorization-withdrawn':
      endAuthorization(state, event, { step: event.type, how: undefined, atMs })
      return
    case 'authorization-dead':
      endAuthorization(state, event, {
        ...{ step: event.type, how: event.how, atMs },
        claims: event.transfers,
      })
      return
    case 'order-settled':
      settleByWord(state, event, atMs)
      return
    case 'order-accepted': {
      const open = stepAttempt(openIntent(state, event.intentId), { ...event, step: event.type })
      open.orderId = event.orderId
      return
    }
    case 'order-ended': {
      const open = stepAttempt(openIntent(state, event.intentId), { ...event, step: event.type })
      open.ended = { status: event.status, message: event.message }
      return
    }
    case 'fill-proven':
      proveFill(state, event, atMs)
      return
    case 'paper-filled':
      bookPaperFill(state, event, atMs)
      return
    case 'call-proven':
      proveCall(state, event, atMs)
      return
    case 'intent-closed': {
      const open = openIntent(state, event.intentId)
      takeStep(open, event.type)
      noteEnd(state, open, event)
      state.intents.delete(event.intentId)
      forgetTransactions(state, event.intentId)
      return
    }
    case 'fills-final':
      for (const key of event.orders) unfinalFill(state, key)
      for (const key of event.orders) {
        state.unfinal.delete(key)
        forgetDirect(state, key)
      }
      return
    case 'fill-reopened':
      reopenFill(state, event, atMs)
      return
    case 'transaction-recorded':
      recordTransaction(state, event.transaction, atMs)
      return
    case 'transaction-signed':
      signTransaction(state, event)
      return
    case 'call-signed': {
      const open = openCall(state, event.intentId)
      if (open.attempt !== event.attempt || open.call === undefined)
        throw new InvariantError(
          `${event.intentId}: attempt ${event.attempt} has no call on record`,
        )
      open.envelopeHash = event.hash
      // The service may put it on the chain as it is.
      noteNonce(state, walletOf(open.call), open.call.envelope.nonce)
      return
    }
    case 'transaction-ended':
      endTransaction(state, event, atMs)
      return
    case 'deposit-indexed':
      markIndexed(state, event)
      return
    default:
      assertNever(event)
  }
}

function walletOf({ chainId, account }: CallRecord): WalletPlace {
  return { chainId, wallet: account }
}

/** The schedule key of a strategy that is known to the journal but not attended. */
export const NOT_SCHEDULED = 'none'

function anchorOf({ scheduleKey, fromSeconds }: EventOf<'strategy-scheduled'>) {
  return { scheduleKey, fromSeconds }
}

function scheduleStrategy(state: DaemonState, event: EventOf<'strategy-scheduled'>): void {
  const known = state.strategies.get(event.strategy)
  if (known !== undefined) {
    if (event.fromSeconds < known.lastSlotSeconds)
      throw new InvariantError(
        `${event.strategy}: slots up to ${known.lastSlotSeconds} are accounted for`,
      )
    known.scheduleKey = event.scheduleKey
    known.lastSlotSeconds = event.fromSeconds
    if (event.scheduleKey !== NOT_SCHEDULED && event.scheduleKey !== known.anchor.scheduleKey)
      known.anchor = anchorOf(event)
    return
  }
  state.strategies.set(event.strategy, {
    scheduleKey: event.scheduleKey,
    anchor: anchorOf(event),
    lastSlotSeconds: event.fromSeconds,
    openSlots: [],
    memory: NO_MEMORY,
    paused: undefined,
    resumedAtMs: undefined,
    failureStreak: 0,
    fills: 0,
    lastOrderAtMs: undefined,
    lastFillAtMs: undefined,
    spent: new Map(),
  })
}

function advanceSlot(record: StrategyRecord, slotSeconds: number): void {
  if (slotSeconds <= record.lastSlotSeconds)
    throw new InvariantError(
      `slot ${slotSeconds} is not after ${record.lastSlotSeconds}, the last one accounted for`,
    )
  record.lastSlotSeconds = slotSeconds
}

function missSlots(record: StrategyRecord, run: EventOf<'slots-missed'>): void {
  if (run.firstSeconds <= record.lastSlotSeconds || run.lastSeconds < run.firstSeconds)
    throw new InvariantError(`slots ${run.firstSeconds} to ${run.lastSeconds} are accounted for`)
  advanceSlot(record, run.lastSeconds)
}

/** A program that may still sell something is not over. */
function endProgram(record: StrategyRecord, event: EventOf<'program-ended'>): void {
  if (record.openSlots.length > 0)
    throw new InvariantError(`${event.strategy}: a program with slots in flight is not over`)
  record.endedProgram = event.program
}

function openSlot(state: DaemonState, event: EventOf<'slot-opened'>, atMs: number): void {
  const record = strategyOf(state, event.strategy)
  const ids = new Set<IntentId>()
  for (const intent of event.intents) {
    if (state.intents.has(intent.id) || ids.has(intent.id))
      throw new InvariantError(`intent ${intent.id} is open already`)
    if (intent.strategy !== event.strategy || intent.slotSeconds !== event.slotSeconds)
      throw new InvariantError(`intent ${intent.id} belongs to another slot`)
    ids.add(intent.id)
  }
  advanceSlot(record, event.slotSeconds)
  const { slotSeconds, memory, memoryOnFill } = event
  record.openSlots.push({ slotSeconds, memoryOnFill, ended: undefined })
  if (memory !== undefined) record.memory = memory
  const base = {
    state: 'planned',
    attempt: 1,
    orderId: undefined,
    ended: undefined,
    died: undefined,
    reopened: false,
    settled: undefined,
    openedAtMs: atMs,
  } as const
  for (const intent of event.intents)
    state.intents.set(intent.id, bookOf(intent).opened(intent, base))
}

type AuthorizationEnd = {
  readonly step: OrderStep
  readonly how: OpenIntent['died']
  readonly atMs: number
  /** What took the tokens without filling the order: transfers, or a whole transaction. */
  readonly claims?: readonly string[] | undefined
}

/** Ends the current attempt's authorization; the next attempt makes another. */
function endAuthorization(
  state: DaemonState,
  { intentId, attempt }: { readonly intentId: IntentId; readonly attempt: number },
  { step, claims = [], ...end }: AuthorizationEnd,
): OpenIntent {
  const open = stepAttempt(openIntent(state, intentId), { attempt, step })
  const book = bookOf(open)
  if (end.how === 'cancelled') noteUse(state, open, claims)
  const authorization = book.authorizationOf(open)
  if (authorization !== undefined) lapse(state, open, authorization, end)
  book.forgetAuthorization(open)
  open.died = end.how
  open.attempt += 1
  return open
}

/**
 * What an operator says is booked as what the chain says is: as dead, or in full, as a nonce that was used for nobody knows
 * what (rule T7). Where no deadline says when it can have executed at the latest, it counts from now, by the chain's clock.
 */
function settleByWord(state: DaemonState, event: EventOf<'order-settled'>, atMs: number): void {
  const { blockTimeSeconds } = event
  const unsettled = openIntent(state, event.intentId)
  const permit = unsettled.venue === 'gasless' ? unsettled.permit : undefined
  const open = endAuthorization(state, event, {
    step: 'authorization-dead',
    how: event.as === 'executed' ? 'cancelled' : 'expired',
    atMs: blockTimeSeconds === undefined ? atMs : blockTimeSeconds * 1000,
    claims: event.as === 'executed' && event.txHash !== undefined ? [event.txHash] : [],
  })
  open.settled = wordIn(event)
  if (permit !== undefined && event.as === 'executed' && event.txHash === undefined)
    state.spokenFor.set(permit.clientOrderId, permit)
}

/** What used up a nonce without filling its order is in the books all the same, and is nobody else's. */
function noteUse(state: DaemonState, open: OpenIntent, claims: readonly string[]): void {
  if (open.venue === 'gasless') {
    const atMs = (open.permit?.deadlineSeconds ?? 0) * 1000
    for (const claim of claims) state.claimedTransfers.set(claim, atMs)
    return
  }
  const { call } = open
  if (call?.trust === 'trustless') noteNestedNonce(state, walletOf(call), call.nonce)
}

/** An order that was closed as filled is open again, and its slot with it: the chain decides what became of it. */
function reopenFill(state: DaemonState, event: EventOf<'fill-reopened'>, atMs: number): void {
  const { intentId, attempt } = event
  const fill = unfinalFill(state, clientOrderId(intentId, attempt))
  if (state.intents.has(intentId))
    throw new InvariantError(`intent ${intentId} is open: it is closed before it is opened again`)
  const open = { ...fill.open, reopened: true, state: nextState('closed', event.type) }
  const book = bookOf(open)
  const authorization = book.authorizationOf(open)
  if (authorization === undefined) throw new InvariantError(`${intentId}: nothing was signed`)
  book.forgetProof(state, open)
  reopen(state, open, { ...fill, authorization, atMs })
  state.intents.set(intentId, open)
  const { strategy, slotSeconds } = open.intent
  const { openSlots } = strategyOf(state, strategy)
  if (openSlots.every((slot) => slot.slotSeconds !== slotSeconds))
    openSlots.push({ slotSeconds, memoryOnFill: undefined, ended: undefined })
}

/** Dry-run only: a state that holds real orders never takes a fill that no chain has seen. */
function bookPaperFill(state: DaemonState, event: EventOf<'paper-filled'>, atMs: number): void {
  if (state.bound?.mode !== 'dry-run')
    throw new InvariantError(`${event.intentId}: only dry-run books orders on paper`)
  const open = stepAttempt(openIntent(state, event.intentId), { ...event, step: event.type })
  const { intent } = open
  const book = bookOf(open)
  const { address: token } = book.mostOf(intent).token
  noteOrder(state, intent.strategy, atMs)
  countFill(state, open, atMs)
  book.bookOnPaper(state, open, event)
  const key = clientOrderId(intent.id, event.attempt)
  spend(state, open, { clientOrderId: key, token, amount: event.paid, atMs })
  forgetOld(state, atMs)
}

/** Ends a slot that was opened, or one that never opened because it was skipped at once. */
function closeSlot(state: DaemonState, event: EventOf<'slot-closed'>): void {
  const record = strategyOf(state, event.strategy)
  for (const { intent } of state.intents.values()) {
    if (intent.strategy === event.strategy && intent.slotSeconds === event.slotSeconds)
      throw new InvariantError(`intent ${intent.id} of a slot to be closed is still open`)
  }
  const at = record.openSlots.findIndex(({ slotSeconds }) => slotSeconds === event.slotSeconds)
  const [opened] = at >= 0 ? record.openSlots.splice(at, 1) : []
  if (opened === undefined) advanceSlot(record, event.slotSeconds)
  const memory = isExecuted(event.outcome, opened) ? opened?.memoryOnFill : event.memory
  if (memory !== undefined) record.memory = memory
  countFailures(state, record, event.outcome)
}

/** A used nonce counts as executed for what a strategy remembers, whatever can be proven of it (rule T7). */
function isExecuted(outcome: Outcome, opened: OpenSlot | undefined): boolean {
  return outcome === 'filled' || (opened?.ended !== undefined && opened.isPartial === false)
}

const FAILURES: ReadonlySet<Outcome> = new Set(['failed', 'refused', 'expired'])

function countFailures(state: DaemonState, record: StrategyRecord, outcome: Outcome): void {
  for (const counted of [state, record]) {
    if (outcome === 'filled') counted.failureStreak = 0
    if (FAILURES.has(outcome)) counted.failureStreak += 1
  }
}

/** Remembers the worst end of a slot's intents until the last of them closes the slot. */
function noteEnd(state: DaemonState, open: OpenIntent, event: EventOf<'intent-closed'>): void {
  const { strategy, slotSeconds } = open.intent
  const slots = strategyOf(state, strategy).openSlots
  const slot = slots.find((each) => each.slotSeconds === slotSeconds)
  if (slot === undefined) return
  const end = { outcome: event.outcome, reason: event.reason }
  const isUsed = event.outcome === 'filled' || open.died === 'cancelled'
  slot.isPartial = !isUsed || (slot.ended !== undefined && slot.isPartial !== false)
  slot.ended = slot.ended === undefined ? end : worseEnd(slot.ended, end)
}

function recordTransaction(state: DaemonState, record: TransactionRecord, atMs: number): void {
  const known = state.transactions.get(record.id)
  if (known !== undefined && known.record.nonce !== record.nonce)
    throw new InvariantError(`transaction ${record.id} is open with another nonce`)
  const isDeposit = record.purpose === 'deposit' && record.isCancelling !== true
  if (isDeposit) recordDeposit(state, record, atMs)
  const { hashes = [], cancelling = [] } = known ?? {}
  state.transactions.set(record.id, { record, hashes, cancelling })
  const { id, hash } = record
  if (hash !== undefined) signTransaction(state, { id, hash })
}

function signTransaction(
  state: DaemonState,
  { id, hash }: Pick<EventOf<'transaction-signed'>, 'id' | 'hash'>,
): void {
  const { record, hashes, cancelling = [] } = openTransaction(state, id)
  // What is signed after a restart is what was signed before.
  if (hashes.includes(hash)) return
  noteNonce(state, { chainId: record.chainId, wallet: record.from }, record.nonce)
  const isCancelling = record.isCancelling === true
  state.transactions.set(id, {
    record,
    hashes: [...hashes, hash],
    cancelling: isCancelling ? [...cancelling, hash] : cancelling,
  })
  if (record.purpose !== 'call' || isCancelling) return
  const { intentId } = record
  if (intentId === undefined || !mayBeAsked(state, intentId, id)) return
  const attempt = attemptOf(id)
  state.directCalls.set(attempt, [...(state.directCalls.get(attempt) ?? []), hash])
}

function endTransaction(
  state: DaemonState,
  event: EventOf<'transaction-ended'>,
  atMs: number,
): void {
  const { record, hashes } = openTransaction(state, event.id)
  const { purpose, intentId } = record
  const { status } = event
  if (status === 'withdrawn' && hashes.length > 0)
    throw new InvariantError(`transaction ${event.id} was signed, and may have been sent`)
  state.transactions.delete(event.id)
  if (status !== 'withdrawn')
    noteNonce(state, { chainId: record.chainId, wallet: record.from }, record.nonce)
  if (purpose === 'deposit') endDeposit(state, event, atMs)
  // It may be made another time.
  if (status === 'withdrawn') return
  noteMinedNonce(state, record, atMs)
  const isAwaited = intentId !== undefined && mayBeAsked(state, intentId, event.id)
  if (purpose !== 'approve' && isAwaited) state.endedTransactions.set(event.id, status)
}

/** What became of a transaction is nobody's any more once its intent is closed, but of a call that may be open again. */
function mayBeAsked({ intents, unfinal }: DaemonState, intentId: IntentId, id: string): boolean {
  return intents.has(intentId) || unfinal.has(attemptOf(id))
}

/** The attempt whose direct transaction has this id. */
function attemptOf(id: string): string {
  return id.slice(0, id.lastIndexOf(':'))
}

function forgetTransactions(state: DaemonState, id: IntentId): void {
  state.endedTransactions.delete(`${id}:wrap`)
  state.endedTransactions.delete(`${id}:unwrap`)
  for (const attempt of state.directCalls.keys())
    if (attempt.startsWith(`${id}:`) && !state.unfinal.has(attempt)) forgetDirect(state, attempt)
}

function forgetDirect(state: DaemonState, attempt: string): void {
  state.directCalls.delete(attempt)
  state.endedTransactions.delete(`${attempt}:call`)
}
