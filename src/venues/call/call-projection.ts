import { InvariantError } from '../../domain/errors.ts'
import { ETHER, NATIVE_TOKEN } from '../../domain/money/token.ts'
import type { Address, Hex } from '../../domain/money/units.ts'
import type { CallRecord, TrustlessCall } from '../../domain/order/call.ts'
import type { CallIntent, Intent, IntentId } from '../../domain/order/intent.ts'
import { CHAIN_LAG_MS_MAX } from '../../domain/policy.ts'
import type { CallEntry } from '../../journal/ledger/entry.ts'
import {
  type Authorization,
  openIntent,
  type VenueProjection,
} from '../../journal/projections/order-reducer.ts'
import { noteNestedNonce, walletOf } from '../../journal/projections/wallet-snapshots.ts'
import type { Execution } from '../../journal/records.ts'
import type { DaemonState, OpenCall, OpenIntent } from '../../journal/state/daemon-state.ts'
import { etherText } from '../../journal/wording/costs.ts'

/** Calls through the aggregation service. */
export const CALLS = {
  routes: {
    aggregated: { costs: ['charge', 'blob', 'gas'], sent: 'together with others' },
    direct: { costs: ['gas', 'blob'], sent: 'directly, not through the service' },
  },
  unfilled: 'made no call',
  // Each new signature would live until its deadline.
  isRejectionFinal: true,
  chainIn: ({ aggregator }) => aggregator?.chain,
  opened: (intent, base) => ({
    ...base,
    venue: 'aggregated',
    intent,
    call: undefined,
    envelopeHash: undefined,
    execution: undefined,
  }),
  mostOf: ({ value }) => ({ token: ETHER, amount: value, shown: ETHER }),
  authorizationOf: ({ call, intent }) =>
    call === undefined ? undefined : authorizationOf(call, intent),
  noteUse(state, { call }) {
    if (call?.trust === 'trustless') noteNestedNonce(state, walletOf(call), call.nonce)
  },
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
  fillOnPaper: () => undefined,
  movedOf: ({ label }) => ({ call: label }),
  paperEntry: (intent, { paid: value }, atMs) => callEntryOf({ ...intent, value }, undefined, atMs),
  describe: ({ label, shown = label }) => `call ${shown}`,
  boundsOf: ({ value, gasLimit }) =>
    `${value === 0n ? '' : `, carrying ${etherText(value)}`}, gas limit ${gasLimit}`,
  triggersOf: () => [],
  closingOf: () => 'it is being closed',
} as const satisfies VenueProjection<CallIntent, OpenCall>

/** A direct call bypasses the service: it costs only its transaction's fee. */
export function isDirect(via: Execution['via']): boolean {
  return via === 'direct'
}

export function isCall(intent: Intent): intent is CallIntent {
  return intent.venue === 'aggregated'
}

export function callOf(open: OpenIntent | undefined): OpenCall | undefined {
  return open?.venue === 'aggregated' ? open : undefined
}

/** The ledger entry of a call; `execution` is undefined on paper. */
export function callEntryOf(
  { strategy, id, label, value }: CallIntent,
  execution: Execution | undefined,
  atMs: number,
): CallEntry {
  return {
    type: 'call',
    atMs,
    strategy,
    intentId: id,
    paper: execution === undefined,
    venue: execution?.via ?? 'aggregated',
    label,
    value,
    charged: execution?.costs.charged,
    blob: execution?.costs.blob ?? 0n,
    txHash: execution?.txHash,
  }
}

/** A call is signed without checking a service's clock, so the machine's clock may lead the chain by this much. */
export const LAG_SECONDS = CHAIN_LAG_MS_MAX / 1000

/** A trusted call has no deadline: its signature stays valid while the service holds it. */
export function authorizationOf(call: CallRecord, { value }: CallIntent): Authorization {
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

export function openCalls(state: DaemonState): readonly OpenCall[] {
  return [...state.intents.values()].filter((open) => open.venue === 'aggregated')
}

export function openCall(state: DaemonState, id: IntentId): OpenCall {
  const open = openIntent(state, id)
  if (open.venue !== 'aggregated') throw new InvariantError(`intent ${id} is no call`)
  return open
}

export function noteUsedNonce(state: DaemonState, call: TrustlessCall): void {
  const { nonce, clientOrderId } = call
  const key = accountKey(call)
  const known = state.usedNonces.get(key)
  if (known === undefined || known.nonce <= nonce)
    state.usedNonces.set(key, { nonce, clientOrderId })
}

/** The contract uses nonces in order, so lower ones were used earlier; their calls are no longer known. */
function freeNonceAgain(state: DaemonState, call: TrustlessCall): void {
  const key = accountKey(call)
  const known = state.usedNonces.get(key)
  if (known === undefined || known.nonce < call.nonce) return
  if (call.nonce === 0n) state.usedNonces.delete(key)
  else state.usedNonces.set(key, { nonce: call.nonce - 1n, clientOrderId: '' })
}

/** The lowest nonce of an account that none of our calls has used. A node that reports a lower one lags. */
export function firstFreeNonce(state: DaemonState, account: CallAccount): bigint {
  const used = state.usedNonces.get(accountKey(account))
  return used === undefined ? 0n : used.nonce + 1n
}

/** True if another of our calls has used its nonce for good, so it can never execute. */
export function isOutrun(state: DaemonState, call: TrustlessCall): boolean {
  const used = state.usedNonces.get(accountKey(call))
  if (used?.nonce !== call.nonce || used.clientOrderId === call.clientOrderId) return false
  // A reorg may still let either call execute.
  return !state.unfinal.has(used.clientOrderId)
}

type CallAccount = Pick<TrustlessCall, 'chainId' | 'account'>

function accountKey({ chainId, account }: CallAccount): string {
  return `${chainId}:${account}`
}

/** A transaction may prove one call per account, because an account's calls run one at a time. */
export function callClaim(account: Address, txHash: Hex): string {
  return `${txHash}:${account}`
}
