import type { CallRecord, TrustlessCall } from '../call.ts'
import { InvariantError } from '../errors.ts'
import type { CallIntent, IntentId } from '../intent.ts'
import { CHAIN_LAG_MS_MAX } from '../policy.ts'
import { ETHER, NATIVE_TOKEN } from '../token.ts'
import type { Address, Hex } from '../units.ts'
import { noteCharge } from './charges.ts'
import type { EventOf } from './journal.ts'
import {
  type Authorization,
  checkRecord,
  checkUnclaimed,
  expose,
  openIntent,
  settle,
  stepAttempt,
  type VenueBook,
} from './orders.ts'
import type { DaemonState, OpenCall, OpenIntent } from './state.ts'

/** The books of calls through the aggregation service. */
export const CALLS: VenueBook<CallIntent, OpenCall> = {
  opened: (intent, base) => ({
    ...base,
    venue: 'aggregated',
    intent,
    call: undefined,
    envelopeHash: undefined,
    execution: undefined,
  }),
  mostOf: ({ value }) => ({ token: ETHER, amount: value }),
  authorizationOf: ({ call, intent }) =>
    call === undefined ? undefined : authorizationOf(call, intent),
  forgetAuthorization(open) {
    open.call = undefined
    open.envelopeHash = undefined
    open.executedIn = undefined
  },
  forgetProof(state, open) {
    open.executedIn = open.execution?.txHash
    open.execution = undefined
    if (open.call?.trust === 'trustless') freeNonceAgain(state, open.call)
  },
  bookOnPaper: () => undefined,
  movedOf: ({ label }) => ({ call: label }),
  wordsOf: ({ label }) => `call ${label}`,
}

/** No service's clock confirms the machine's when a call is signed. */
const LAG_SECONDS = CHAIN_LAG_MS_MAX / 1000

/** A trusted call has no deadline: its signature is good for as long as the service holds it. */
function authorizationOf(call: CallRecord, { value }: CallIntent): Authorization {
  const deadlineSeconds = call.trust === 'trustless' ? call.deadlineSeconds : undefined
  const { clientOrderId } = call
  return {
    clientOrderId,
    token: NATIVE_TOKEN,
    amount: value,
    deadlineSeconds,
    lagSeconds: LAG_SECONDS,
  }
}

/** Calls among the open intents. */
export function openCalls(state: DaemonState): readonly OpenCall[] {
  return [...state.intents.values()].filter((open) => open.venue === 'aggregated')
}

export function openCall(state: DaemonState, id: IntentId): OpenCall {
  const open = openIntent(state, id)
  if (open.venue !== 'aggregated') throw new InvariantError(`intent ${id} is no call`)
  return open
}

export function recordCall(
  state: DaemonState,
  { call, intentId }: EventOf<'call-recorded'>,
  atMs: number,
): void {
  const open = openCall(state, intentId)
  checkRecord(open, call)
  const { target, calldata, value } = open.intent
  if (call.target !== target || call.calldata !== calldata || call.value !== value)
    throw new InvariantError(`${intentId}: the call is not the one decided`)
  if (call.trust === 'trustless') checkNonceIsFree(state, open, call)
  stepAttempt(open, { step: 'authorization-recorded', attempt: call.attempt })
  open.call = call
  expose(state, open, authorizationOf(call, open.intent), atMs)
}

/** One signed call per nonce of an account may be live (rule A1). */
function checkNonceIsFree(
  state: DaemonState,
  open: OpenCall,
  call: { readonly account: Address; readonly nonce: bigint },
): void {
  for (const other of openCalls(state)) {
    if (other === open || other.call?.trust !== 'trustless') continue
    if (other.state === 'filled' || other.call.account !== call.account) continue
    if (other.call.nonce >= call.nonce)
      throw new InvariantError(`${open.intent.id}: nonce ${call.nonce} is live in another call`)
  }
}

export function proveCall(state: DaemonState, event: EventOf<'call-proven'>, atMs: number): void {
  const { execution, intentId, attempt, blockTimeSeconds, executedBySeconds } = event
  const open = openCall(state, intentId)
  const { call, intent } = open
  if (call === undefined) throw new InvariantError(`${intentId}: a proof without a call`)
  const claims = [callClaim(call.account, execution.txHash)]
  checkUnclaimed(state, claims)
  stepAttempt(open, { step: 'fill-proven', attempt })
  open.execution = execution
  noteCharge(state, intent.strategy, execution)
  if (call.trust === 'trustless') noteUsedNonce(state, call)
  const authorization = authorizationOf(call, intent)
  const provenAtMs = blockTimeSeconds === undefined ? atMs : blockTimeSeconds * 1000
  const proof = { paid: intent.value, claims, place: execution, atMs, provenAtMs }
  settle(state, open, { authorization, ...proof, executedBySeconds })
}

/** What was signed of an open intent that is a call. */
export function callRecordOf(open: OpenIntent): CallRecord | undefined {
  return open.venue === 'aggregated' ? open.call : undefined
}

function noteUsedNonce(state: DaemonState, call: TrustlessCall): void {
  const { nonce, clientOrderId } = call
  const key = accountKey(call)
  const known = state.usedNonces.get(key)
  if (known === undefined || known.nonce <= nonce)
    state.usedNonces.set(key, { nonce, clientOrderId })
}

/** The nonces below it were used before it, as the contract takes them in their order; whose they were is nobody's any more. */
function freeNonceAgain(state: DaemonState, call: TrustlessCall): void {
  const key = accountKey(call)
  const known = state.usedNonces.get(key)
  if (known === undefined || known.nonce < call.nonce) return
  if (call.nonce === 0n) state.usedNonces.delete(key)
  else state.usedNonces.set(key, { nonce: call.nonce - 1n, clientOrderId: '' })
}

/** The lowest nonce of an account that no call of ours has used; a node that names a lower one is behind. */
export function firstFreeNonce(state: DaemonState, account: CallAccount): bigint {
  const used = state.usedNonces.get(accountKey(account))
  return used === undefined ? 0n : used.nonce + 1n
}

/** Whether another call of ours has used the nonce of this one for good, so that it can never execute. */
export function isOutrun(state: DaemonState, call: TrustlessCall): boolean {
  const used = state.usedNonces.get(accountKey(call))
  if (used?.nonce !== call.nonce || used.clientOrderId === call.clientOrderId) return false
  // A reorganisation would let either of them execute.
  return !state.unfinal.has(used.clientOrderId)
}

type CallAccount = Pick<TrustlessCall, 'chainId' | 'account'>

function accountKey({ chainId, account }: CallAccount): string {
  return `${chainId}:${account}`
}

/** Names the one call of an account that a transaction may prove: they go one at a time. */
export function callClaim(account: Address, txHash: Hex): string {
  return `${txHash}:${account}`
}
