import { EXPOSURE_RETENTION_MS } from './orders.ts'
import type { DaemonState, OpenIntent } from './state.ts'
import { bookOf } from './venues.ts'

/** Far beyond the blocks that are searched twice, what a node that compares may be behind, and the life of what is signed. */
const CLAIM_RETENTION_MS = 6 * 3_600_000

/**
 * Drops the claims that nothing goes back to any more: a comparison looks back some hundred blocks, the proof of an order to when
 * it was signed. It goes by deadlines, which were checked against the chain: a clock that is wrong drops nothing. Only where
 * the wallet has just been compared with its chain: what is not compared yet is explained by them.
 */
export function forgetClaims(state: DaemonState): void {
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

/** A time in the life of what is signed, epoch ms. What will be signed goes back to nothing that was mined before. */
function lifeOf(open: OpenIntent): number {
  const authorization = bookOf(open).authorizationOf(open)
  if (authorization === undefined) return Number.POSITIVE_INFINITY
  const { deadlineSeconds } = authorization
  return deadlineSeconds === undefined ? open.openedAtMs : deadlineSeconds * 1000
}
