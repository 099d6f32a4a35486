import { InvariantError } from '../../domain/errors.ts'
import type { amountText } from '../../domain/money/amount-text.ts'
import type { Token } from '../../domain/money/token.ts'
import type { Address, BaseUnits } from '../../domain/money/units.ts'
import { clientOrderId, type IntentId } from '../../domain/order/intent.ts'
import { nextState, type OrderStep } from '../../domain/order/order.ts'
import type { PermitRecord } from '../../domain/order/permit.ts'
import type { FillEntry } from '../ledger/entry.ts'
import type { Fill } from '../records.ts'
import type {
  DaemonState,
  OpenIntent,
  OpenTransaction,
  StrategyRecord,
  UnfinalFill,
} from '../state/daemon-state.ts'
import { addExposure, mergeUsed, removeExposure, removeOldest } from './exposures.ts'

/** State changes shared by orders of every venue: steps, live exposure, and spent amounts. */

/** Filled exposures are kept this long, far beyond the longest window, so that setting the clock back frees nothing. */
export const EXPOSURE_RETENTION_MS = 8 * 86_400_000

/** A recorded authorization, and what it may take while live. */
export type Authorization = {
  readonly clientOrderId: string
  readonly token: Address
  readonly amount: BaseUnits
  /** Expiry, epoch seconds; undefined if it never expires. */
  readonly deadlineSeconds: number | undefined
  /** Undetected lead of the caps' clock over the chain's clock, which the deadline uses. */
  readonly lagSeconds?: number
}

/** Moved amounts as text, for messages and lists of fills. */
export type Moved = { readonly paid: string; readonly received: string } | { readonly call: string }

/** Amounts of a fill, in base units. */
export type FillAmounts = Pick<Fill, 'paid' | 'received'>

/** A fill booked in a dry-run: its amounts, and what a permit record has of its quote. */
export type Booked = FillAmounts & Pick<PermitRecord, 'feed' | 'worth' | 'fee'>

/** A route of a venue's fills, by its name in records, metrics and outputs. */
export type Route = {
  /** Costs on this route, as `what` of `tranched_fees_total`; an entry's charge is the first. */
  readonly costs: readonly [Cost, ...Cost[]]
  /** How its orders are sent, in words. */
  readonly sent: string
}
type Cost = 'gas' | 'charge' | 'blob'

/** A venue's part of the state and of its wording. Pure: all results follow from intents and records. */
export type VenueProjection<Intent, Open> = {
  readonly routes: Readonly<Record<string, Route>>
  /** Verb phrase for an order without a fill: `did not trade`. */
  readonly unfilled: string
  /** Whether the service would reject a rejected order again. */
  readonly isRejectionFinal: boolean
  /** Chain of its fills by config name; undefined if the config does not use the venue. */
  chainIn(settings: VenueSettings): string | undefined
  /** The open intent right after its slot opened. */
  opened(intent: Intent, base: OpenedBase): Open
  /** Maximum amount of an order of the intent, for caps. */
  mostOf(intent: Intent): Most
  /** The current attempt's recorded authorization; undefined if there is none. */
  authorizationOf(open: Open): Authorization | undefined
  /** The nonce of the authorization was used without a fill. `claims`: the transfers or transaction, if known. */
  noteUse(state: DaemonState, open: Open, claims: readonly string[]): void
  /** Discards a dead authorization; the next attempt makes a new one. */
  forgetAuthorization(open: Open): void
  /** Undoes venue-specific state changes of a proof that is gone. */
  forgetProof(state: DaemonState, open: Open): void
  /** Dry-run: applies venue-specific state changes of a booked order. */
  fillOnPaper(state: DaemonState, open: Open, amounts: FillAmounts): void
  movedOf(intent: Intent, amounts: FillAmounts): Moved
  /** The ledger entry of a booked order. */
  paperEntry(intent: Intent, booked: Booked, atMs: number): FillEntry
  /** The intent in words. */
  describe(intent: Intent, text?: typeof amountText): string
  /** Its bounds, to append to `describe`: `, gas limit 200000`. */
  boundsOf(intent: Intent): string
  /** Sentences about its trigger. */
  triggersOf(intent: Intent): readonly string[]
  /** The work left after its fill, in words. */
  closingOf(intent: Intent): string
}

/** An amount in the token that caps count. `shown` is the token for people: ETH for WETH that is unwrapped. */
type Most = { readonly token: Token; readonly amount: BaseUnits; readonly shown: Token }

type VenueSettings = {
  readonly gasless: { readonly chain: string }
  readonly aggregator: { readonly chain: string } | undefined
}

/** Fields of an open intent at any venue when its slot opens. */
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

export function takeStep({ intents }: DaemonState, open: OpenIntent, step: OrderStep): void {
  intents.move(open, nextState(open.state, step))
}

/** Takes a step of the current attempt. Throws InvariantError for another attempt. */
export function stepAttempt<Open extends OpenIntent>(
  state: DaemonState,
  open: Open,
  event: { readonly step: OrderStep; readonly attempt: number },
): Open {
  if (open.attempt !== event.attempt)
    throw new InvariantError(`${open.intent.id}: attempt ${event.attempt} is not the current one`)
  takeStep(state, open, event.step)
  return open
}

/** Throws InvariantError if the record's id does not match its intent and attempt, or if the intent is resolved manually. */
export function checkRecord(
  { intent, settled }: OpenIntent,
  record: { readonly clientOrderId: string; readonly attempt: number },
): void {
  if (settled !== undefined)
    throw new InvariantError(
      `${intent.id}: an operator resolved it, so nothing may be signed for it`,
    )
  if (record.clientOrderId !== clientOrderId(intent.id, record.attempt))
    throw new InvariantError(
      `${intent.id}: authorization of another order (${record.clientOrderId})`,
    )
}

/** An authorization is recorded: from now on its signature may exist. */
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

/** Books a proven execution. A proof counts once: `claims` names the transfers that it rests on. */
export function settle(
  state: DaemonState,
  open: OpenIntent,
  proof: {
    readonly authorization: Authorization
    readonly paid: BaseUnits
    readonly claims: readonly string[]
    readonly place: Pick<Fill, 'blockNumber' | 'blockHash'>
    readonly atMs: number
    /** By the chain's clock; used if no deadline bounds the execution. */
    readonly provenAtMs?: number
    /** Time of a block by which the order had executed; undefined in older records. */
    readonly executedBySeconds: number | undefined
  },
): void {
  const { authorization, paid, claims, atMs, provenAtMs = atMs, executedBySeconds } = proof
  const { clientOrderId: key } = authorization
  const deadlineMs = latestMsOf(authorization)
  const recordedAtMs = state.exposures.get(key)?.atMs
  // Never before it was signed, nor before it was seen here: a single node reports that block's time.
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

/** A proven order that is not final. Throws InvariantError if there is none. */
export function unfinalFill(state: DaemonState, key: string): UnfinalFill {
  const fill = state.unfinal.get(key)
  if (fill === undefined) throw new InvariantError(`${key} has no fill that is not final`)
  return fill
}

/**
 * Undoes a fill whose block is gone. Its authorization counts in full as possibly live until the chain shows its outcome.
 * The strategy's memory stays, as after any execution.
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

/** Throws InvariantError if a transfer already proves another order. */
export function checkUnclaimed(state: DaemonState, claims: readonly string[]): void {
  for (const claim of claims) {
    if (state.claimedTransfers.has(claim))
      throw new InvariantError(`${claim} proves another order already`)
  }
}

/** Latest time of execution by the caps' clock, epoch ms; undefined without a deadline. */
function latestMsOf({ deadlineSeconds, lagSeconds = 0 }: Authorization): number | undefined {
  return deadlineSeconds === undefined ? undefined : (deadlineSeconds + lagSeconds) * 1000
}

/** Without an execution nothing counts. If the nonce was used for an unknown purpose, the full amount counts. */
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
 * Books the amount of a used authorization: a proven fill, or the full amount if its nonce is used for an unknown purpose.
 * `atMs` is the latest possible execution by the chain's clock, because the local clock may have been set since: the time of
 * the block read for the proof, or the deadline. A node may report a wrong block time, so it counts no earlier than it was
 * seen here.
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

/** Drops exposures beyond every window. */
export function forgetOld(state: DaemonState, nowMs: number): void {
  removeOldest(state, ({ atMs }) => nowMs - atMs >= EXPOSURE_RETENTION_MS)
}
