import { InvariantError } from '../../domain/errors.ts'
import type { amountText } from '../../domain/money/amount-text.ts'
import type { Token } from '../../domain/money/token.ts'
import type { Address, BaseUnits, Ratio } from '../../domain/money/units.ts'
import { clientOrderId, type IntentId } from '../../domain/order/intent.ts'
import { nextState, type OrderStep } from '../../domain/order/order.ts'
import type { FillEntry } from '../ledger/entry.ts'
import type { Fill } from '../records.ts'
import type {
  DaemonState,
  OpenIntent,
  OpenTransaction,
  StrategyRecord,
  UnfinalFill,
} from '../state/daemon-state.ts'
import { addExposure, mergeUsed, removeExposure } from './exposures.ts'

/** What every order does to the state, at whatever venue: its steps, its exposure while it lives, what it took. */

/** Filled exposures are kept this long, far beyond the longest window, so that a clock set back frees nothing. */
export const EXPOSURE_RETENTION_MS = 8 * 86_400_000

/** An authorization on record and what it may take while it lives. */
export type Authorization = {
  readonly clientOrderId: string
  readonly token: Address
  readonly amount: BaseUnits
  /** When it ends by itself, epoch seconds; undefined where nothing ends it. */
  readonly deadlineSeconds: number | undefined
  /** How far the clock of the caps may be ahead, undetected, of the chain's clock, which the deadline uses. */
  readonly lagSeconds?: number
}

/** What moved, in words: for people, and for a list of fills. */
export type Moved = { readonly paid: string; readonly received: string } | { readonly call: string }

/** Amounts of a fill, in base units. */
export type FillAmounts = Pick<Fill, 'paid' | 'received'>

/** A fill that dry-run books: its amounts, and what the quote said beside them. */
export type Booked = FillAmounts & {
  readonly feed?: Ratio | undefined
  readonly fee?: BaseUnits | undefined
}

/** A way of a venue's fills, by its name in records, metrics and outputs. */
export type Route = {
  /** What is paid on it, as `what` of `tranched_fees_total`; an entry's charge is the first. */
  readonly costs: readonly [Cost, ...Cost[]]
  /** How an order on it was sent, in words. */
  readonly sent: string
}
type Cost = 'gas' | 'charge' | 'blob'

/** A venue's part of the state and of its wording. Pure: everything follows from intents and records. */
export type VenueProjection<Intent, Open> = {
  readonly routes: Readonly<Record<string, Route>>
  /** What an order without a fill did not do: `did not trade`. */
  readonly unfilled: string
  /** Whether an order that the service rejected would be rejected again. */
  readonly isRejectionFinal: boolean
  /** The chain of its fills by the config's name; undefined where the config does not use the venue. */
  chainIn(settings: VenueSettings): string | undefined
  /** An intent right after its slot was opened. */
  opened(intent: Intent, base: OpenedBase): Open
  /** The most that an order of the intent may take: what caps are held against. */
  mostOf(intent: Intent): Most
  /** The authorization that is on record for the current attempt. */
  authorizationOf(open: Open): Authorization | undefined
  /** The nonce of the authorization is used without a fill. `claims`: what used it, as far as known. */
  noteUse(state: DaemonState, open: Open, claims: readonly string[]): void
  /** The authorization is dead: the next attempt makes another. */
  forgetAuthorization(open: Open): void
  /** Undoes what a proof that is gone changed in the state beside what every fill does. */
  forgetProof(state: DaemonState, open: Open): void
  /** Dry-run: what a booked order changes beside what every fill does. */
  fillOnPaper(state: DaemonState, open: Open, amounts: FillAmounts): void
  movedOf(intent: Intent, amounts: FillAmounts): Moved
  /** The ledger entry of a booked order. */
  paperEntry(intent: Intent, booked: Booked, atMs: number): FillEntry
  /** What an intent is to do, in words. */
  describe(intent: Intent, text?: typeof amountText): string
  /** Its bounds, to follow those words: `, gas limit 200000`. */
  boundsOf(intent: Intent): string
  /** Sentences on what triggered it. */
  triggersOf(intent: Intent): readonly string[]
  /** What remains to be done after its fill, in words. */
  closingOf(intent: Intent): string
}

/** An amount in the token that caps count, with the token that people know it by: ETH for wrapped ether that is unwrapped. */
type Most = { readonly token: Token; readonly amount: BaseUnits; readonly shown: Token }

type VenueSettings = {
  readonly gasless: { readonly chain: string }
  readonly aggregator: { readonly chain: string } | undefined
}

/** What an open intent has at whatever venue when its slot is opened. */
type OpenedBase = Pick<
  OpenIntent,
  'state' | 'attempt' | 'orderId' | 'ended' | 'died' | 'reopened' | 'settled' | 'openedAtMs'
>

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

export function openTransaction(state: DaemonState, id: string): OpenTransaction {
  const open = state.transactions.get(id)
  if (open === undefined) throw new InvariantError(`transaction ${id} is not open`)
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

/** The record of an attempt has to carry the id of its intent and attempt. An intent that an operator has settled gets none. */
export function checkRecord(
  { intent, settled }: OpenIntent,
  record: { readonly clientOrderId: string; readonly attempt: number },
): void {
  if (settled !== undefined)
    throw new InvariantError(`${intent.id}: an operator has settled it, nothing is signed for it`)
  if (record.clientOrderId !== clientOrderId(intent.id, record.attempt))
    throw new InvariantError(
      `${intent.id}: authorization of another order (${record.clientOrderId})`,
    )
}

/** An authorization went on record: from now on its signature may exist. */
export function expose(
  state: DaemonState,
  open: OpenIntent,
  { clientOrderId: key, token, amount }: Authorization,
  atMs: number,
): void {
  open.orderId = undefined
  open.ended = undefined
  open.died = undefined
  const { strategy } = open.intent
  noteOrder(state, strategy, atMs)
  addExposure(state, key, { strategy, token, amount, atMs, live: true })
}

export function noteOrder(state: DaemonState, strategy: string, atMs: number): void {
  strategyOf(state, strategy).lastOrderAtMs = atMs
  state.lastOrderAtMs = atMs
}

/** The chain proves what became of an authorization. A proof counts once: `claims` names the transfers that it rests on. */
export function settle(
  state: DaemonState,
  open: OpenIntent,
  proof: {
    readonly authorization: Authorization
    readonly paid: BaseUnits
    readonly claims: readonly string[]
    readonly place: Pick<Fill, 'blockNumber' | 'blockHash'>
    readonly atMs: number
    /** By the chain's clock, where no deadline says when it can have executed at the latest. */
    readonly provenAtMs?: number
    /** Time of a block by which it had executed; undefined in older records. */
    readonly executedBySeconds: number | undefined
  },
): void {
  const { authorization, paid, claims, atMs, provenAtMs = atMs, executedBySeconds } = proof
  const { clientOrderId: key } = authorization
  const deadlineMs = latestMsOf(authorization)
  const recordedAtMs = state.exposures.get(key)?.atMs
  // Never from before its signature, nor from before it was seen here: one node alone names the time of that block.
  const seenAtMs =
    executedBySeconds === undefined || recordedAtMs === undefined
      ? (deadlineMs ?? Math.max(provenAtMs, atMs))
      : Math.max(executedBySeconds * 1000, recordedAtMs, atMs)
  const spentAtMs = Math.min(seenAtMs, deadlineMs ?? seenAtMs)
  countFill(state, open, atMs)
  spend(state, open, { ...authorization, amount: paid, atMs: spentAtMs })
  for (const claim of claims) state.claimedTransfers.set(claim, spentAtMs)
  const { blockNumber, blockHash } = proof.place
  if (blockHash === undefined) mergeUsed(state, key)
  else state.unfinal.set(key, { open: { ...open }, blockNumber, blockHash, paid, claims })
  forgetOld(state, spentAtMs)
}

/** An order that is proven and not final. Throws when there is none. */
export function unfinalFill(state: DaemonState, key: string): UnfinalFill {
  const fill = state.unfinal.get(key)
  if (fill === undefined) throw new InvariantError(`${key} has no fill that is not final`)
  return fill
}

/**
 * Takes a fill whose block is gone out of the books: its authorization counts in full again, as one that may be live, until the
 * chain says what became of it. What its strategy remembers stays, as after any execution.
 */
export function reopen(
  state: DaemonState,
  open: OpenIntent,
  fill: Pick<UnfinalFill, 'paid' | 'claims'> & {
    readonly authorization: Authorization
    readonly atMs: number
  },
): void {
  const { strategy } = open.intent
  const { authorization, atMs } = fill
  const { clientOrderId: key, token, amount } = authorization
  const record = strategyOf(state, strategy)
  record.fills -= 1
  for (const sums of [record.spent, state.spent])
    sums.set(token, ((sums.get(token) ?? 0n) - fill.paid) as BaseUnits)
  for (const claim of fill.claims) state.claimedTransfers.delete(claim)
  addExposure(state, key, { strategy, token, amount, atMs, live: true })
  state.unfinal.delete(key)
}

/** Throws when a transfer proves another order already. */
export function checkUnclaimed(state: DaemonState, claims: readonly string[]): void {
  for (const claim of claims) {
    if (state.claimedTransfers.has(claim))
      throw new InvariantError(`${claim} proves another order already`)
  }
}

/** The latest time at which it can have executed, by the clock of the caps; undefined without a deadline. */
function latestMsOf({ deadlineSeconds, lagSeconds = 0 }: Authorization): number | undefined {
  return deadlineSeconds === undefined ? undefined : (deadlineSeconds + lagSeconds) * 1000
}

/** Nothing executed, or its nonce was used for an unknown purpose: then it counts in full. */
export function lapse(
  state: DaemonState,
  open: OpenIntent,
  authorization: Authorization,
  { how, atMs }: { readonly how: OpenIntent['died']; readonly atMs: number },
): void {
  const spentAtMs = latestMsOf(authorization) ?? atMs
  if (how === 'cancelled') spend(state, open, { ...authorization, atMs: spentAtMs })
  else removeExposure(state, authorization.clientOrderId)
}

export function countFill(state: DaemonState, open: OpenIntent, atMs: number): void {
  const record = strategyOf(state, open.intent.strategy)
  record.fills += 1
  record.lastFillAtMs = atMs
}

/**
 * Books what a used authorization took: a proven fill, or all that it allowed if its nonce is used for an unknown purpose. It
 * counts from the latest moment at which it can have executed, by the chain's clock, because the local clock may have been set
 * since: from the block that was read for the proof, or from its deadline. A node may name a wrong time of that block, so it
 * counts no earlier than it was seen here.
 */
export function spend(
  state: DaemonState,
  open: OpenIntent,
  claim: Omit<Authorization, 'deadlineSeconds' | 'lagSeconds'> & { readonly atMs: number },
): void {
  const { strategy } = open.intent
  const { token, amount, atMs } = claim
  const { spent } = strategyOf(state, strategy)
  for (const sums of [spent, state.spent])
    sums.set(token, ((sums.get(token) ?? 0n) + amount) as BaseUnits)
  addExposure(state, claim.clientOrderId, { strategy, token, amount, atMs, live: false })
}

/** Drops what no window can reach any more. Entries are in time order but for clock jumps, so it stops at the first young one. */
export function forgetOld(state: DaemonState, nowMs: number): void {
  for (const [key, exposure] of state.exposures) {
    if (exposure.live) continue
    if (nowMs - exposure.atMs < EXPOSURE_RETENTION_MS) break
    removeExposure(state, key)
  }
}
