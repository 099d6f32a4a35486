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
 * The chain shows this much activity of a wallet. Later records must explain any further activity; otherwise it is evidence
 * of lost state or another writer (rule T4).
 */
type WalletCompared = WalletPlace & WalletSnapshot & { readonly type: 'wallet-compared' }

export const walletCompared = defineEvent<WalletCompared>({
  type: 'wallet-compared',
  reduce(state, event) {
    const { sinceBlock, blockNumber, transactionCount } = event
    const before = snapshotOf(state, event)
    const { nestedNonce = before?.nestedNonce } = event
    state.sights.set(walletKey(event), { sinceBlock, blockNumber, transactionCount, nestedNonce })
    // Also counts nonces that a lagging node does not know yet, and those signed but not in a block.
    if (before !== undefined) noteNonce(state, event, before.transactionCount - 1)
    if (before?.nestedNonce !== undefined) noteNestedNonce(state, event, before.nestedNonce - 1n)
    for (const nonce of openNonces(state, event)) noteNonce(state, event, nonce)
    if (event.wallet === state.bound?.owner && event.chainId === state.bound.chainId)
      forgetClaims(state)
  },
})

/** Far longer than the span searched twice, the lag of a comparing node, and the life of a signature. */
const CLAIM_RETENTION_MS = 6 * 3_600_000

/**
 * Drops claims that no check reaches any more: a comparison looks back some hundred blocks, the proof of an order to its
 * signature. Claims carry times bounded by checked deadlines, so a wrong clock drops nothing. Only for a wallet just
 * compared with its chain: claims explain payments not compared yet.
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

/** A time in the life of an order's signature, epoch ms; infinity before it exists, because it needs no earlier claim. */
function lifeOf(open: OpenIntent): number {
  const authorization = projectionOf(open).authorizationOf(open)
  if (authorization === undefined) return Number.POSITIVE_INFINITY
  const { deadlineSeconds } = authorization
  return deadlineSeconds === undefined ? open.openedAtMs : deadlineSeconds * 1000
}

/** An operator changes an account's code: the signature uses the account's nonces up to `lastNonce`. */
export type DelegationSigned = {
  readonly type: 'delegation-signed'
  readonly chainId: number
  readonly account: Address
  readonly delegate: Address
  readonly lastNonce: number
  /** The remaining signed fields. Older records lack them and permit no signature. */
  readonly draft?: Omit<DelegationDraft, 'chainId' | 'delegate'> | undefined
}

export const delegationSigned = defineEvent<DelegationSigned>({
  type: 'delegation-signed',
  reduce(state, { chainId, account, delegate, lastNonce, draft }, atMs) {
    state.delegation = draft && { account, chainId, delegate, ...draft }
    const wallet = { chainId, wallet: account }
    noteNonce(state, wallet, lastNonce)
    // Other code may start its nonces anywhere.
    forgetNestedNonce(state, wallet)
    if (draft === undefined) return
    // The cost is unknown, so the maximum counts from the signature on.
    chargeGas(state, { ...draft, chainId, from: account }, { atMs, fee: undefined, isEnded: true })
  },
  signable: delegationName,
  anchors: ({ account }) => [account],
})

/** Record name of an account's delegation. */
export function delegationName(of: Pick<DelegationSigned, 'chainId' | 'account'>): string {
  return `delegation:${delegationKey(of)}`
}

/** The service's charge to an account's deposit for a delegation. An account's own transaction costs no charge. */
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
