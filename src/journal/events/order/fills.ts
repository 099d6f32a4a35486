import { InvariantError } from '../../../domain/errors.ts'
import type { Hex } from '../../../domain/money/units.ts'
import {
  type CallIntent,
  clientOrderId,
  type IntentId,
  type SwapIntent,
} from '../../../domain/order/intent.ts'
import { nextState } from '../../../domain/order/order.ts'
import {
  authorizationOf,
  callClaim,
  callEntryOf,
  noteUsedNonce,
  openCall,
} from '../../../venues/call/call-projection.ts'
import { movedBy, projectionOf } from '../../../venues/projections.ts'
import { openSwap, tradeOf } from '../../../venues/swap/swap-projection.ts'
import type { CallEntry, FillEntry, Trade } from '../../ledger/entry.ts'
import { noteCharge } from '../../projections/charges.ts'
import { mergeUsed } from '../../projections/exposures.ts'
import {
  type Booked,
  checkUnclaimed,
  countFill,
  forgetOld,
  type Moved,
  noteOrder,
  openIntent,
  reopen,
  settle,
  spend,
  stepAttempt,
  strategyOf,
  unfinalFill,
} from '../../projections/order-reducer.ts'
import { recordPurchase } from '../../projections/purchases.ts'
import { chargeGas, forgetDirect } from '../../projections/transactions.ts'
import type { Execution, Fill } from '../../records.ts'
import { defineEvent } from '../event.ts'
import type { OfAttempt, OrderContext } from './authorizations.ts'

/** The chain's proof about an order: it executed, its block is final, or its block is gone. */

/** Context of a fill: its ledger entry, and the time since its slot opened. */
export type FillContext<Intent, Entry> = {
  readonly intent: Intent
  readonly entry: Entry
  readonly durationMs: number
}

export type FillProven = OfAttempt & {
  readonly type: 'fill-proven'
  readonly fill: Fill
  /** Time of a block by which it had executed, Unix seconds; caps count from it at the earliest. Older records have none. */
  readonly executedBySeconds?: number | undefined
}

export const fillProven = defineEvent<FillProven, FillContext<SwapIntent, Trade>>({
  type: 'fill-proven',
  reduce(state, event, atMs) {
    const { fill, intentId, attempt, executedBySeconds } = event
    const open = openSwap(state, intentId)
    checkUnclaimed(state, fill.transfers)
    const { permit: authorization } = open
    stepAttempt(state, open, { step: event.type, attempt })
    if (authorization === undefined)
      throw new InvariantError(`${intentId}: a fill without a permit`)
    open.fill = fill
    open.taken = recordPurchase(state, open.intent, fill)
    settle(state, open, {
      authorization,
      paid: fill.paid,
      claims: fill.transfers,
      place: fill,
      atMs,
      executedBySeconds,
    })
  },
  context(state, { intentId, fill: { paid, received, txHash } }, atMs) {
    const { intent, permit, openedAtMs } = openSwap(state, intentId)
    const entry = tradeOf(intent, { ...permit, paid, received }, { atMs, txHash })
    return { intent, entry, durationMs: atMs - openedAtMs }
  },
  posting: ({ fill }, { entry }) => ({
    tag: 'entry',
    entry,
    isFinal: fill.blockHash === undefined,
  }),
})

export type CallProven = OfAttempt & {
  readonly type: 'call-proven'
  readonly execution: Execution
  /** Time of the newest block at the proof, independent of this machine's clock. Undefined in older records. */
  readonly blockTimeSeconds?: number | undefined
  /** As in `FillProven`. */
  readonly executedBySeconds?: number | undefined
}

export const callProven = defineEvent<CallProven, FillContext<CallIntent, CallEntry>>({
  type: 'call-proven',
  reduce(state, event, atMs) {
    const { execution, intentId, attempt, blockTimeSeconds, executedBySeconds } = event
    const open = openCall(state, intentId)
    const { call, intent } = open
    if (call === undefined) throw new InvariantError(`${intentId}: a proof without a call`)
    const claims = [callClaim(call.account, execution.txHash)]
    checkUnclaimed(state, claims)
    stepAttempt(state, open, { step: 'fill-proven', attempt })
    open.execution = execution
    noteCharge(state, intent.strategy, execution)
    if (call.trust === 'trustless') noteUsedNonce(state, call)
    settle(state, open, {
      authorization: authorizationOf(call, intent),
      paid: intent.value,
      claims,
      place: execution,
      atMs,
      provenAtMs: blockTimeSeconds === undefined ? atMs : blockTimeSeconds * 1000,
      executedBySeconds,
    })
    // The chain also accepts the transaction given to the service; in that case the wallet pays for it.
    if (execution.txHash !== open.envelopeHash) return
    const { chainId, account: from, envelope } = call
    const fee = execution.costs.charged
    chargeGas(state, { ...envelope, chainId, from }, { atMs, fee, isEnded: true })
  },
  context(state, { intentId, execution }, atMs) {
    const { intent, openedAtMs } = openCall(state, intentId)
    const entry = callEntryOf(intent, execution, atMs)
    return { intent, entry, durationMs: atMs - openedAtMs }
  },
  posting: (_, { entry }) => ({ tag: 'entry', entry }),
})

/** Dry-run: nothing was signed. The order is booked at the amounts of the verified quote. */
export type PaperFilled = OfAttempt & Booked & { readonly type: 'paper-filled' }

type PaperContext = FillContext<OrderContext['intent'], FillEntry> & {
  readonly moved: Moved
}

export const paperFilled = defineEvent<PaperFilled, PaperContext>({
  type: 'paper-filled',
  /** A state with real orders never accepts a fill that no chain has seen. */
  reduce(state, event, atMs) {
    if (state.bound?.mode !== 'dry-run')
      throw new InvariantError(`${event.intentId}: only dry-run books orders on paper`)
    const open = stepAttempt(state, openIntent(state, event.intentId), {
      ...event,
      step: event.type,
    })
    const { intent } = open
    const projection = projectionOf(open)
    const { address: token } = projection.mostOf(intent).token
    noteOrder(state, intent.strategy, atMs)
    countFill(state, open, atMs)
    projection.fillOnPaper(state, open, event)
    const key = clientOrderId(intent.id, event.attempt)
    spend(state, open, { clientOrderId: key, token, amount: event.paid, atMs })
    mergeUsed(state, key)
    forgetOld(state, atMs)
  },
  context(state, event, atMs) {
    const { intent, openedAtMs } = openIntent(state, event.intentId)
    const projection = projectionOf(intent)
    return {
      intent,
      entry: projection.paperEntry(intent, event, atMs),
      moved: projection.movedOf(intent, event),
      durationMs: atMs - openedAtMs,
    }
  },
  posting: (_, { entry }) => ({ tag: 'entry', entry, isFinal: true }),
})

/** The blocks that proved these orders are final: no reorganisation can remove them. */
export type FillsFinal = {
  readonly type: 'fills-final'
  /** Client order ids. */
  readonly orders: readonly string[]
  /** Newest final block. */
  readonly blockNumber: bigint
}

export const fillsFinal = defineEvent<FillsFinal, { readonly intentIds: readonly IntentId[] }>({
  type: 'fills-final',
  reduce(state, { orders }) {
    for (const key of orders) unfinalFill(state, key)
    for (const key of orders) {
      state.unfinal.delete(key)
      mergeUsed(state, key)
      forgetDirect(state, key)
    }
  },
  context: (state, { orders }) => ({
    intentIds: orders.map((key) => unfinalFill(state, key).open.intent.id),
  }),
  about: ({ orders }) => ({ intentIds: orders }),
  posting: (_, { intentIds }) => ({ tag: 'final', intentIds }),
})

/** The block that proved a closed order has left the chain. Its authorization may execute again, or never. */
export type FillReopened = OfAttempt & {
  readonly type: 'fill-reopened'
  /** The block that replaced it. */
  readonly blockNumber: bigint
  readonly blockHash: Hex | undefined
}

type FillReopenedContext = OrderContext & { readonly moved: Moved }

export const fillReopened = defineEvent<FillReopened, FillReopenedContext>({
  type: 'fill-reopened',
  /** Reopens the order and its slot; the chain decides its outcome. */
  reduce(state, event, atMs) {
    const { intentId, attempt } = event
    const fill = unfinalFill(state, clientOrderId(intentId, attempt))
    if (state.intents.has(intentId))
      throw new InvariantError(`intent ${intentId} is open: it is closed before it is opened again`)
    const open = { ...fill.open, reopened: true, state: nextState('closed', event.type) }
    const projection = projectionOf(open)
    const authorization = projection.authorizationOf(open)
    if (authorization === undefined) throw new InvariantError(`${intentId}: nothing was signed`)
    projection.forgetProof(state, open)
    reopen(state, open, { ...fill, authorization, atMs })
    state.intents.set(intentId, open)
    const { strategy, slotSeconds } = open.intent
    const { openSlots } = strategyOf(state, strategy)
    if (openSlots.every((slot) => slot.slotSeconds !== slotSeconds))
      openSlots.push({ slotSeconds, memoryOnFill: undefined, ended: undefined })
  },
  context(state, { intentId, attempt }) {
    const { open } = unfinalFill(state, clientOrderId(intentId, attempt))
    return { intent: open.intent, moved: movedBy(open) }
  },
  posting: ({ intentId }) => ({ tag: 'undone', intentId }),
})

export function isFill(event: {
  readonly type: string
}): event is FillProven | CallProven | PaperFilled {
  return fillProven.is(event) || callProven.is(event) || paperFilled.is(event)
}

export const FILL_EVENTS = [fillProven, callProven, paperFilled, fillsFinal, fillReopened] as const
