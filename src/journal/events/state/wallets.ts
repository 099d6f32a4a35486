import type { Address } from '../../../domain/money/units.ts'
import type { DelegationDraft } from '../../../domain/order/call.ts'
import { projectionOf } from '../../../venues/projections.ts'
import { delegationKey } from '../../projections/charges.ts'
import { EXPOSURE_RETENTION_MS } from '../../projections/order-reducer.ts'
import { chargeGas, openNonces } from '../../projections/transactions.ts'
import {
  forgetNestedNonce,
  noteNestedNonce,
  noteNonce,
  snapshotOf,
  type WalletPlace,
  walletKey,
} from '../../projections/wallet-snapshots.ts'
import type { DaemonState, OpenIntent, WalletSnapshot } from '../../state/daemon-state.ts'
import { defineEvent } from '../event.ts'

/**
 * The chain shows this much of a wallet. What it shows beyond that from now on is explained by later records, or it is
 * evidence of lost state or another writer (rule T4).
 */
type WalletCompared = WalletPlace & WalletSnapshot & { readonly type: 'wallet-compared' }

export const walletCompared = defineEvent<WalletCompared>({
  type: 'wallet-compared',
  reduce(state, event) {
    const { sinceBlock, blockNumber, transactionCount } = event
    const before = snapshotOf(state, event)
    const { nestedNonce = before?.nestedNonce } = event
    state.sights.set(walletKey(event), { sinceBlock, blockNumber, transactionCount, nestedNonce })
    // What a lagging node does not know yet, and what is signed and in no block, is accounted for as well.
    if (before !== undefined) noteNonce(state, event, before.transactionCount - 1)
    if (before?.nestedNonce !== undefined) noteNestedNonce(state, event, before.nestedNonce - 1n)
    for (const nonce of openNonces(state, event)) noteNonce(state, event, nonce)
    if (event.wallet === state.bound?.owner && event.chainId === state.bound.chainId)
      forgetClaims(state)
  },
})

/** Far longer than the span that is searched twice, the lag of a node that compares, and the life of a signature. */
const CLAIM_RETENTION_MS = 6 * 3_600_000

/**
 * Drops claims that nothing looks back to any more: a comparison looks back some hundred blocks, the proof of an order to its
 * signature. Their age is judged by deadlines, which were checked against the chain, so that a wrong clock drops nothing. Only
 * for a wallet that has just been compared with its chain: claims explain what is not compared yet.
 */
function forgetClaims(state: DaemonState): void {
  const { claimedTransfers, intents, spokenFor, unfinal } = state
  let newestMs = Number.NEGATIVE_INFINITY
  for (const atMs of claimedTransfers.values()) newestMs = Math.max(newestMs, atMs)
  const undecided = [...intents.values(), ...[...unfinal.values()].map(({ open }) => open)]
  const reachMs = undecided.reduce((least, open) => Math.min(least, lifeOf(open)), newestMs)
  for (const [transfer, atMs] of claimedTransfers)
    if (atMs < reachMs - CLAIM_RETENTION_MS) claimedTransfers.delete(transfer)
  for (const [key, { deadlineSeconds }] of spokenFor)
    if (newestMs - deadlineSeconds * 1000 >= EXPOSURE_RETENTION_MS) spokenFor.delete(key)
}

/** A time in the life of an order's signature, epoch ms. One that is still to be made looks back to nothing mined before. */
function lifeOf(open: OpenIntent): number {
  const authorization = projectionOf(open).authorizationOf(open)
  if (authorization === undefined) return Number.POSITIVE_INFINITY
  const { deadlineSeconds } = authorization
  return deadlineSeconds === undefined ? open.openedAtMs : deadlineSeconds * 1000
}

/** An operator changes the code behind an account: signing that uses nonces of the account, up to `lastNonce`. */
export type DelegationSigned = {
  readonly type: 'delegation-signed'
  readonly chainId: number
  readonly account: Address
  readonly delegate: Address
  readonly lastNonce: number
  /** The rest of what is signed. Older records have none, and nothing is signed by them. */
  readonly draft?: Omit<DelegationDraft, 'chainId' | 'delegate'> | undefined
}

export const delegationSigned = defineEvent<DelegationSigned>({
  type: 'delegation-signed',
  reduce(state, { chainId, account, delegate, lastNonce, draft }, atMs) {
    state.delegation = draft && { account, chainId, delegate, ...draft }
    const wallet = { chainId, wallet: account }
    noteNonce(state, wallet, lastNonce)
    // Other code may count from anywhere.
    forgetNestedNonce(state, wallet)
    if (draft === undefined) return
    // Its cost is unknown: it counts in full from its signature.
    chargeGas(state, { ...draft, chainId, from: account }, { atMs, fee: undefined, isEnded: true })
  },
  signable: delegationName,
  anchors: ({ account }) => [account],
})

/** The name of the record of an account's delegation. */
export function delegationName(of: Pick<DelegationSigned, 'chainId' | 'account'>): string {
  return `delegation:${delegationKey(of)}`
}

/** What the service charged an account's deposit for a delegation; an account's own transaction is charged nothing. */
type DelegationCharged = Pick<DelegationSigned, 'chainId' | 'account'> & {
  readonly type: 'delegation-charged'
  /** Wei. */
  readonly charged: bigint
}

export const delegationCharged = defineEvent<DelegationCharged>({
  type: 'delegation-charged',
  reduce(state, event) {
    state.delegationCharges.set(delegationKey(event), event.charged)
  },
})

export const WALLET_EVENTS = [walletCompared, delegationSigned, delegationCharged] as const
