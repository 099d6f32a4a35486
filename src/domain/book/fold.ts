import { assertNever, InvariantError } from '../errors.ts'
import { openCall, proveCall, recordCall } from './calls.ts'
import { noteDelegationCharge } from './charges.ts'
import { noteCode } from './contracts.ts'
import { markIndexed } from './deposits.ts'
import { bookPaperFill, endAuthorization, reopenFill, settleByWord } from './ends.ts'
import { mergeUsed } from './exposures.ts'
import type { JournalEvent } from './journal.ts'
import { openIntent, stepAttempt, strategyOf, takeStep, unfinalFill } from './orders.ts'
import { noteComparison, noteDelegation, noteNonce, walletOf } from './sights.ts'
import { closeSlot, endProgram, missSlots, noteEnd, openSlot, scheduleStrategy } from './slots.ts'
import type { DaemonState } from './state.ts'
import { proveFill, recordPermit } from './swaps.ts'
import {
  chargeDelegation,
  chargeEnvelope,
  endTransaction,
  finishTransactions,
  forgetDirect,
  forgetTransactions,
  recordTransaction,
  reopenTransaction,
  signTransaction,
} from './transactions.ts'

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
      noteComparison(state, event)
      return
    case 'delegation-signed':
      noteDelegation(state, event)
      chargeDelegation(state, event, atMs)
      return
    case 'delegation-charged':
      noteDelegationCharge(state, event)
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
    case 'strategy-held': {
      const { terms, detail } = event
      strategyOf(state, event.strategy).held = { atMs, terms, detail }
      return
    }
    case 'hold-lifted': {
      const record = strategyOf(state, event.strategy)
      record.held = undefined
      record.terms = event.terms
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
      chargeEnvelope(state, event, atMs)
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
        mergeUsed(state, key)
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
    case 'transaction-reopened':
      reopenTransaction(state, event, atMs)
      return
    case 'transactions-final':
      finishTransactions(state, event)
      return
    case 'deposit-indexed':
      markIndexed(state, event)
      return
    case 'contract-code':
      noteCode(state, event, atMs)
      return
    default:
      assertNever(event)
  }
}
