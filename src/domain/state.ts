import { assertNever, InvariantError } from './errors.ts'
import { addExposure, type ExposureBook, removeExposure } from './exposures.ts'
import { clientOrderId, type Intent, type IntentId } from './intent.ts'
import type { Fill, JournalEvent, TransactionRecord } from './journal.ts'
import { nextState, type OrderState, type OrderStep } from './order.ts'
import type { PermitRecord } from './permit.ts'
import type { Mode } from './settings.ts'
import type { Address, BaseUnits, Hex } from './units.ts'

/** An intent that is not closed yet. */
export type OpenIntent = {
  readonly intent: Intent
  state: OrderState
  /** Number of the current or next attempt, from 1. */
  attempt: number
  permit: PermitRecord | undefined
  orderId: string | undefined
  /** How the service ended the last order, if it did. */
  ended:
    | { readonly status: 'rejected' | 'failed' | 'expired'; readonly message: string }
    | undefined
  /** How the last attempt's permit died. */
  died: 'expired' | 'cancelled' | undefined
  fill: Fill | undefined
  openedAtMs: number
}

export type StrategyRecord = {
  scheduleKey: string
  /** Last slot that is accounted for: opened, closed or missed. */
  lastSlotSeconds: number
  openSlots: number[]
  fills: number
  lastOrderAtMs: number | undefined
  lastFillAtMs: number | undefined
  /** Sell base units spent since the beginning, by token: proven fills, and permits used without a proof. */
  readonly spent: Map<Address, BaseUnits>
}

/** A transaction whose fate is unknown, with every hash that was sent under its nonce. */
export type OpenTransaction = {
  readonly record: TransactionRecord
  readonly hashes: readonly Hex[]
}

/** What is true now: a fold of the journal. Changed only by `applyEvent`. */
export type DaemonState = ExposureBook & {
  bound:
    | {
        readonly mode: Mode
        readonly chainId: number
        readonly genesisHash: Hex
        readonly owner: Address
      }
    | undefined
  readonly strategies: Map<string, StrategyRecord>
  readonly intents: Map<IntentId, OpenIntent>
  readonly transactions: Map<string, OpenTransaction>
  /** Outcome of ended wrap and unwrap transactions of intents that are still open, by transaction id. */
  readonly endedTransactions: Map<string, 'mined' | 'reverted' | 'lost'>
  /** Transfers that already prove an order; bounded, oldest first. */
  readonly claimedTransfers: Map<string, number>
}

/** Filled exposures are kept this long, far beyond the longest window, so that a clock set back frees nothing. */
export const EXPOSURE_RETENTION_MS = 8 * 86_400_000

export function emptyState(): DaemonState {
  return {
    bound: undefined,
    strategies: new Map(),
    intents: new Map(),
    exposures: new Map(),
    exposureSums: new Map(),
    transactions: new Map(),
    endedTransactions: new Map(),
    claimedTransfers: new Map(),
  }
}

type EventOf<Type extends JournalEvent['type']> = Extract<JournalEvent, { type: Type }>

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
    case 'strategy-scheduled':
      scheduleStrategy(state, event)
      return
    case 'slot-opened':
      openSlot(state, event, atMs)
      return
    case 'slot-closed':
      closeSlot(state, event)
      return
    case 'slots-missed':
      missSlots(strategyOf(state, event.strategy), event)
      return
    case 'permit-recorded':
      recordPermit(state, event, atMs)
      return
    case 'permit-withdrawn':
    case 'permit-dead':
      endPermit(state, event)
      return
    case 'order-accepted': {
      const open = stepAttempt(state, event)
      open.orderId = event.orderId
      return
    }
    case 'order-ended': {
      const open = stepAttempt(state, event)
      open.ended = { status: event.status, message: event.message }
      return
    }
    case 'fill-proven':
      proveFill(state, event, atMs)
      return
    case 'intent-closed': {
      step(openIntent(state, event.intentId), event.type)
      state.intents.delete(event.intentId)
      forgetTransactions(state, event.intentId)
      return
    }
    case 'transaction-recorded':
      recordTransaction(state, event.transaction)
      return
    case 'transaction-ended':
      endTransaction(state, event)
      return
    default:
      assertNever(event)
  }
}

function strategyOf(state: DaemonState, name: string): StrategyRecord {
  const record = state.strategies.get(name)
  if (record === undefined) throw new InvariantError(`strategy ${name} was never scheduled`)
  return record
}

function openIntent(state: DaemonState, id: IntentId): OpenIntent {
  const open = state.intents.get(id)
  if (open === undefined) throw new InvariantError(`intent ${id} is not open`)
  return open
}

function step(open: OpenIntent, name: OrderStep): void {
  open.state = nextState(open.state, name)
}

function stepAttempt(
  state: DaemonState,
  event: { type: OrderStep; intentId: IntentId; attempt: number },
): OpenIntent {
  const open = openIntent(state, event.intentId)
  if (open.attempt !== event.attempt)
    throw new InvariantError(`${event.intentId}: attempt ${event.attempt} is not the current one`)
  step(open, event.type)
  return open
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
    return
  }
  state.strategies.set(event.strategy, {
    scheduleKey: event.scheduleKey,
    lastSlotSeconds: event.fromSeconds,
    openSlots: [],
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
  record.openSlots.push(event.slotSeconds)
  for (const intent of event.intents) {
    state.intents.set(intent.id, {
      intent,
      state: 'planned',
      attempt: 1,
      permit: undefined,
      orderId: undefined,
      ended: undefined,
      died: undefined,
      fill: undefined,
      openedAtMs: atMs,
    })
  }
}

/** Ends a slot that was opened, or one that never opened because it was skipped at once. */
function closeSlot(state: DaemonState, event: EventOf<'slot-closed'>): void {
  const record = strategyOf(state, event.strategy)
  for (const { intent } of state.intents.values()) {
    if (intent.strategy === event.strategy && intent.slotSeconds === event.slotSeconds)
      throw new InvariantError(`intent ${intent.id} of a slot to be closed is still open`)
  }
  const at = record.openSlots.indexOf(event.slotSeconds)
  if (at >= 0) record.openSlots.splice(at, 1)
  else advanceSlot(record, event.slotSeconds)
}

function recordPermit(state: DaemonState, event: EventOf<'permit-recorded'>, atMs: number): void {
  const { permit } = event
  const { intent } = openIntent(state, event.intentId)
  if (permit.clientOrderId !== clientOrderId(intent.id, permit.attempt))
    throw new InvariantError(`${intent.id}: permit of another order (${permit.clientOrderId})`)
  if (permit.amount > intent.maxSell)
    throw new InvariantError(`${intent.id}: the permit takes more than the intent allows`)
  const open = stepAttempt(state, { ...event, attempt: permit.attempt })
  open.permit = permit
  open.orderId = undefined
  open.ended = undefined
  open.died = undefined
  strategyOf(state, open.intent.strategy).lastOrderAtMs = atMs
  addExposure(state, permit.clientOrderId, {
    strategy: open.intent.strategy,
    token: permit.token,
    amount: permit.amount,
    atMs,
    live: true,
  })
}

function endPermit(
  state: DaemonState,
  event: EventOf<'permit-withdrawn'> | EventOf<'permit-dead'>,
): void {
  const open = stepAttempt(state, event)
  const how = event.type === 'permit-dead' ? event.how : undefined
  const { permit } = open
  if (permit !== undefined && how === 'cancelled') spend(state, open, permit, permit.amount)
  else if (permit !== undefined) removeExposure(state, permit.clientOrderId)
  open.died = how
  open.permit = undefined
  open.attempt += 1
}

function proveFill(state: DaemonState, event: EventOf<'fill-proven'>, atMs: number): void {
  openIntent(state, event.intentId)
  for (const transfer of event.fill.transfers) {
    if (state.claimedTransfers.has(transfer))
      throw new InvariantError(`transfer ${transfer} proves another order already`)
  }
  const open = stepAttempt(state, event)
  const { permit } = open
  if (permit === undefined) throw new InvariantError(`${event.intentId}: a fill without a permit`)
  open.fill = event.fill
  const record = strategyOf(state, open.intent.strategy)
  record.fills += 1
  record.lastFillAtMs = atMs
  spend(state, open, permit, event.fill.paid)
  const deadlineMs = permit.deadlineSeconds * 1000
  for (const transfer of event.fill.transfers) state.claimedTransfers.set(transfer, deadlineMs)
  forgetOld(state, deadlineMs)
}

/**
 * Books what a used permit took: a proven fill, or all that it allowed when its nonce is used and nobody can tell for
 * what. It counts from the permit's deadline, the last moment it can have executed at: that was checked against the
 * chain before signing, while the local clock may since have been set back or forward.
 */
function spend(state: DaemonState, open: OpenIntent, permit: PermitRecord, amount: bigint): void {
  const { strategy } = open.intent
  const { spent } = strategyOf(state, strategy)
  spent.set(permit.token, ((spent.get(permit.token) ?? 0n) + amount) as BaseUnits)
  addExposure(state, permit.clientOrderId, {
    strategy,
    token: permit.token,
    amount: amount as BaseUnits,
    atMs: permit.deadlineSeconds * 1000,
    live: false,
  })
}

/** Drops what no window can reach any more. Entries are in time order but for clock jumps, so it stops at the first young one. */
function forgetOld(state: DaemonState, nowMs: number): void {
  for (const [key, exposure] of state.exposures) {
    if (exposure.live) continue
    if (nowMs - exposure.atMs < EXPOSURE_RETENTION_MS) break
    removeExposure(state, key)
  }
  for (const [transfer, atMs] of state.claimedTransfers) {
    if (nowMs - atMs < EXPOSURE_RETENTION_MS) break
    state.claimedTransfers.delete(transfer)
  }
}

function recordTransaction(state: DaemonState, record: TransactionRecord): void {
  const known = state.transactions.get(record.id)
  if (known !== undefined && known.record.nonce !== record.nonce)
    throw new InvariantError(`transaction ${record.id} is open with another nonce`)
  state.transactions.set(record.id, {
    record,
    hashes: [...(known?.hashes ?? []), record.hash],
  })
}

function endTransaction(state: DaemonState, event: EventOf<'transaction-ended'>): void {
  const known = state.transactions.get(event.id)
  if (known === undefined) throw new InvariantError(`transaction ${event.id} is not open`)
  state.transactions.delete(event.id)
  if (known.record.purpose !== 'approve') state.endedTransactions.set(event.id, event.status)
}

function forgetTransactions(state: DaemonState, id: IntentId): void {
  state.endedTransactions.delete(`${id}:wrap`)
  state.endedTransactions.delete(`${id}:unwrap`)
}
