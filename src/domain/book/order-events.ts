import { InvariantError } from '../errors.ts'
import { clientOrderId, type IntentId } from '../intent.ts'
import { nextState, type OrderStep } from '../order.ts'
import { NATIVE_TOKEN } from '../token.ts'
import type { Address, BaseUnits, Hex } from '../units.ts'
import { addExposure, removeExposure } from './exposures.ts'
import type { EventOf } from './journal.ts'
import type { DaemonState, OpenCall, OpenIntent, OpenSwap, StrategyRecord } from './state.ts'

/** How the events of one order change the state: `fold.ts` hands them here. */

/** Filled exposures are kept this long, far beyond the longest window, so that a clock set back frees nothing. */
export const EXPOSURE_RETENTION_MS = 8 * 86_400_000

export function strategyOf(state: DaemonState, name: string): StrategyRecord {
  const record = state.strategies.get(name)
  if (record === undefined) throw new InvariantError(`strategy ${name} was never scheduled`)
  return record
}

export function openIntent(state: DaemonState, id: IntentId): OpenIntent {
  const open = state.intents.get(id)
  if (open === undefined) throw new InvariantError(`intent ${id} is not open`)
  return open
}

function openSwap(state: DaemonState, id: IntentId): OpenSwap {
  const open = openIntent(state, id)
  if (open.venue !== 'gasless') throw new InvariantError(`intent ${id} is no swap`)
  return open
}

function openCall(state: DaemonState, id: IntentId): OpenCall {
  const open = openIntent(state, id)
  if (open.venue !== 'aggregated') throw new InvariantError(`intent ${id} is no call`)
  return open
}

export function takeStep(open: OpenIntent, step: OrderStep): void {
  open.state = nextState(open.state, step)
}

/** Takes a step of the current attempt; an event of another attempt is refused. */
export function stepAttempt<Open extends OpenIntent>(
  open: Open,
  event: { readonly step: OrderStep; readonly attempt: number },
): Open {
  if (open.attempt !== event.attempt)
    throw new InvariantError(`${open.intent.id}: attempt ${event.attempt} is not the current one`)
  takeStep(open, event.step)
  return open
}

/** What an authorization on record may take while it lives. */
type Claim = {
  readonly clientOrderId: string
  readonly token: Address
  readonly amount: BaseUnits
}

export function recordPermit(
  state: DaemonState,
  event: EventOf<'permit-recorded'>,
  atMs: number,
): void {
  const { permit } = event
  const open = openSwap(state, event.intentId)
  checkOrderId(open, permit)
  if (permit.amount > open.intent.maxSell)
    throw new InvariantError(`${event.intentId}: the permit takes more than the intent allows`)
  stepAttempt(open, { step: 'authorization-recorded', attempt: permit.attempt })
  open.permit = permit
  expose(state, open, permit, atMs)
}

export function recordCall(
  state: DaemonState,
  event: EventOf<'call-recorded'>,
  atMs: number,
): void {
  const { call } = event
  const open = openCall(state, event.intentId)
  checkOrderId(open, call)
  const { target, calldata, value } = open.intent
  if (call.target !== target || call.calldata !== calldata || call.value !== value)
    throw new InvariantError(`${event.intentId}: the call is not the one decided`)
  if (call.trust === 'trustless') checkNonceIsFree(state, open, call)
  stepAttempt(open, { step: 'authorization-recorded', attempt: call.attempt })
  open.call = call
  expose(state, open, { ...call, token: NATIVE_TOKEN, amount: open.intent.value }, atMs)
}

/** One signed call per nonce of an account may be live (rule A1). */
function checkNonceIsFree(
  state: DaemonState,
  open: OpenCall,
  call: { readonly account: Address; readonly nonce: bigint },
): void {
  for (const other of state.intents.values()) {
    if (other === open || other.venue !== 'aggregated' || other.call?.trust !== 'trustless')
      continue
    if (other.state === 'filled' || other.call.account !== call.account) continue
    if (other.call.nonce >= call.nonce)
      throw new InvariantError(`${open.intent.id}: nonce ${call.nonce} is live in another call`)
  }
}

function checkOrderId(
  { intent }: OpenIntent,
  record: { readonly clientOrderId: string; readonly attempt: number },
): void {
  if (record.clientOrderId !== clientOrderId(intent.id, record.attempt))
    throw new InvariantError(`${intent.id}: permit of another order (${record.clientOrderId})`)
}

function expose(state: DaemonState, open: OpenIntent, claim: Claim, atMs: number): void {
  open.orderId = undefined
  open.ended = undefined
  open.died = undefined
  const { strategy } = open.intent
  strategyOf(state, strategy).lastOrderAtMs = atMs
  state.lastOrderAtMs = atMs
  const { token, amount } = claim
  addExposure(state, claim.clientOrderId, { strategy, token, amount, atMs, live: true })
}

export function endAuthorization(
  state: DaemonState,
  event: EventOf<'authorization-withdrawn'> | EventOf<'authorization-dead'>,
): void {
  const open = stepAttempt(openIntent(state, event.intentId), { ...event, step: event.type })
  const how = event.type === 'authorization-dead' ? event.how : undefined
  if (open.venue === 'gasless') endPermit(state, open, how)
  else endCall(state, open, how)
  open.died = how
  open.attempt += 1
}

function endPermit(
  state: DaemonState,
  open: OpenSwap,
  how: 'expired' | 'cancelled' | undefined,
): void {
  const { permit } = open
  if (permit !== undefined && how === 'cancelled')
    spend(state, open, { ...permit, atMs: permit.deadlineSeconds * 1000 })
  else if (permit !== undefined) removeExposure(state, permit.clientOrderId)
  open.permit = undefined
}

function endCall(
  state: DaemonState,
  open: OpenCall,
  how: 'expired' | 'cancelled' | undefined,
): void {
  const { call } = open
  if (call?.trust === 'trustless' && how === 'cancelled')
    spendCall(state, open, { ...call, atMs: call.deadlineSeconds * 1000 })
  else if (call !== undefined) removeExposure(state, call.clientOrderId)
  open.call = undefined
}

export function proveFill(state: DaemonState, event: EventOf<'fill-proven'>, atMs: number): void {
  const open = openSwap(state, event.intentId)
  for (const transfer of event.fill.transfers) {
    if (state.claimedTransfers.has(transfer))
      throw new InvariantError(`transfer ${transfer} proves another order already`)
  }
  stepAttempt(open, { ...event, step: 'fill-proven' })
  const { permit } = open
  if (permit === undefined) throw new InvariantError(`${event.intentId}: a fill without a permit`)
  open.fill = event.fill
  countFill(state, open, atMs)
  const deadlineMs = permit.deadlineSeconds * 1000
  spend(state, open, { ...permit, amount: event.fill.paid, atMs: deadlineMs })
  for (const transfer of event.fill.transfers) state.claimedTransfers.set(transfer, deadlineMs)
  forgetOld(state, deadlineMs)
}

/** Dry-run only: a state that holds real orders never takes a fill that no chain has seen. */
export function bookPaperFill(
  state: DaemonState,
  event: EventOf<'paper-filled'>,
  atMs: number,
): void {
  if (state.bound?.mode !== 'dry-run')
    throw new InvariantError(`${event.intentId}: only dry-run books orders on paper`)
  const open = stepAttempt(openIntent(state, event.intentId), { ...event, step: event.type })
  const { paid, received } = event
  const key = clientOrderId(open.intent.id, event.attempt)
  strategyOf(state, open.intent.strategy).lastOrderAtMs = atMs
  state.lastOrderAtMs = atMs
  countFill(state, open, atMs)
  if (open.venue === 'aggregated') {
    spendCall(state, open, { clientOrderId: key, atMs })
    return
  }
  open.fill = { paid, received }
  const { sell, buy } = open.intent
  const sold = sell.native ? NATIVE_TOKEN : sell.token.address
  const bought = buy.native ? NATIVE_TOKEN : buy.token.address
  state.paper.set(sold, (state.paper.get(sold) ?? 0n) - paid)
  state.paper.set(bought, (state.paper.get(bought) ?? 0n) + received)
  const { address: token } = sell.token
  spend(state, open, { clientOrderId: key, token, amount: paid, atMs })
  forgetOld(state, atMs)
}

export function proveCall(state: DaemonState, event: EventOf<'call-proven'>, atMs: number): void {
  const open = openCall(state, event.intentId)
  const { call } = open
  if (call === undefined) throw new InvariantError(`${event.intentId}: a proof without a call`)
  const claim = callClaim(call.account, event.execution.txHash)
  if (state.claimedTransfers.has(claim))
    throw new InvariantError(`transaction ${event.execution.txHash} proves another call already`)
  stepAttempt(open, { ...event, step: 'fill-proven' })
  open.execution = event.execution
  countFill(state, open, atMs)
  const spentAtMs = call.trust === 'trustless' ? call.deadlineSeconds * 1000 : atMs
  spendCall(state, open, { ...call, atMs: spentAtMs })
  state.claimedTransfers.set(claim, spentAtMs)
  forgetOld(state, spentAtMs)
}

/** Names the one call of an account that a transaction may prove: they go one at a time. */
export function callClaim(account: Address, txHash: Hex): string {
  return `${txHash}:${account}`
}

function spendCall(
  state: DaemonState,
  open: OpenCall,
  { clientOrderId, atMs }: { readonly clientOrderId: string; readonly atMs: number },
): void {
  const { value } = open.intent
  spend(state, open, { clientOrderId, token: NATIVE_TOKEN, amount: value, atMs })
}

function countFill(state: DaemonState, open: OpenIntent, atMs: number): void {
  const record = strategyOf(state, open.intent.strategy)
  record.fills += 1
  record.lastFillAtMs = atMs
}

/**
 * Books what a used authorization took: a proven fill, or all that it allowed when its nonce is used and nobody can
 * tell for what. It counts from its deadline, the last moment it can have executed at: that was checked against the
 * chain before signing, while the local clock may since have been set back or forward.
 */
function spend(
  state: DaemonState,
  open: OpenIntent,
  claim: Claim & { readonly atMs: number },
): void {
  const { strategy } = open.intent
  const { token, amount, atMs } = claim
  const { spent } = strategyOf(state, strategy)
  for (const sums of [spent, state.spent])
    sums.set(token, ((sums.get(token) ?? 0n) + amount) as BaseUnits)
  addExposure(state, claim.clientOrderId, { strategy, token, amount, atMs, live: false })
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
