import { delegateOf } from '../domain/order/call.ts'
import { proposerOf } from '../domain/order/contract.ts'
import { type Outcome, worseEnd } from '../domain/order/intent.ts'
import { verdictText } from '../domain/order/manual-resolution.ts'
import {
  type FailureReason,
  isFailureReason,
  isLimitReason,
  type RefusalReason,
  type SkipReason,
} from '../domain/order/reason.ts'
import { type IntentClosed, intentClosed } from '../journal/events/order/outcomes.ts'
import type { JournalEvent } from '../journal/events/registry.ts'
import { slotClosed } from '../journal/events/strategy/slots.ts'
import {
  type StrategyPaused,
  strategyPaused,
  type TradingHalted,
  tradingHalted,
} from '../journal/events/strategy/stops.ts'
import { type LimitHit, limitText } from '../journal/projections/limits.ts'
import type { DaemonState, OpenIntent } from '../journal/state/daemon-state.ts'
import type { AccountView, Ports, Signature } from '../ports.ts'
import { CHANGED_TERMS, isByTerms } from '../signing/terms.ts'
import type { AggregatorContext, OrderContext, SendingContext } from './context.ts'
import { projectionOf } from './projections.ts'

export type Closing = {
  readonly tag: 'closing'
  readonly outcome: Extract<Outcome, 'refused' | 'failed' | 'expired' | 'skipped'>
  readonly reason: RefusalReason | FailureReason | SkipReason
  readonly detail: string
}

/** Reasons caused by time alone: the slot ends as expired instead of failed. */
const EXPIRED: ReadonlySet<FailureReason> = new Set(['order-expired', 'quote-stale', 'too-late'])

export function failure(reason: FailureReason, detail: string): Closing {
  const outcome = EXPIRED.has(reason) ? 'expired' : 'failed'
  return { tag: 'closing', outcome, reason, detail }
}

export function refusal(reason: RefusalReason, detail: string): Closing {
  return { tag: 'closing', outcome: 'refused', reason, detail }
}

export function skipped(reason: FailureReason | SkipReason, detail: string): Closing {
  return { tag: 'closing', outcome: 'skipped', reason, detail }
}

/** Skips a slot whose cap was reached between decision and signature. */
export function capped(hit: LimitHit, nowMs: number): Closing {
  return skipped(hit.reason, limitText(hit, nowMs))
}

/** The kill switch, in the journal or the halt file. The signer checks it again at every signature. */
export function haltedNow(context: SendingContext): Closing | undefined {
  const { journal, guard } = context.ports
  const detail = journal.state.halted?.detail ?? guard.blocked()
  return detail === undefined ? undefined : skipped('halted', detail)
}

/** Without its file an intent has no caps, so nothing may be signed for it. */
export function strategyRemoved(): Closing {
  return failure('strategy-removed', 'its strategy file is gone or disabled')
}

export function blockedBy({ reason, detail }: Refusal): Closing {
  if (reason === 'halted' || reason === 'strategy-changed' || isLimitReason(reason))
    return skipped(reason, detail)
  return isFailureReason(reason) ? failure(reason, detail) : refusal(reason, detail)
}

export type Refusal = Extract<Signature<unknown>, { readonly ok: false }>

/** A manually resolved intent is never attempted again. */
export function settledEnd({ settled }: OpenIntent): Closing | undefined {
  return settled && failure('settled', `an operator says: ${verdictText(settled)}`)
}

export type StartContext = Pick<OrderContext, 'strategies' | 'policy'> & {
  readonly ports: {
    readonly clock: Pick<Ports['clock'], 'now'>
    readonly journal: Pick<Ports['journal'], 'state'>
    readonly modules: Pick<Ports['modules'], 'versionOf'>
  }
}

const UNPROVEN = 'its nonce was used, and what used it did not fill it'

const IN_LOSS = 'it was open when a loss was accepted: what is lost may have executed it'

/**
 * Blocks for another attempt, from the ledger and the clock. Checked before each attempt, about once a second while waiting,
 * and around the record of a signature. A pause blocks unsigned orders; signed ones continue. The signer checks the
 * remaining causes.
 */
export function mayNotStart(context: StartContext, open: OpenIntent): Closing | undefined {
  const { intent } = open
  if (open.reopened)
    return open.died === 'cancelled'
      ? failure('permit-cancelled', UNPROVEN)
      : failure(
          'fill-reverted',
          'a reorganisation undid its fill, and it was never made again; what was wrapped for it is left as it is',
        )
  const { halted, strategies } = context.ports.journal.state
  if (halted !== undefined) return skipped('halted', halted.detail)
  if (open.isInLoss === true) return failure('attempts-exhausted', IN_LOSS)
  const paused = strategies.get(intent.strategy)?.paused
  if (paused !== undefined) return skipped('paused', paused.detail)
  const strategy = context.strategies.get(intent.strategy)
  if (strategy === undefined) return strategyRemoved()
  if (!isByTerms(intent, strategy, context.ports.modules.versionOf))
    return skipped('strategy-changed', CHANGED_TERMS)
  if (open.died === 'cancelled') return failure('permit-cancelled', UNPROVEN)
  const isRejected = open.ended?.status === 'rejected' && projectionOf(open).isRejectionFinal
  if (open.attempt > context.policy.attemptsMax || isRejected)
    return failure(lastFailure(open), open.ended?.message ?? 'no fill')
  if (context.ports.clock.now() > intent.startBeforeMs)
    return failure('too-late', "the slot's maxLateness has passed")
  return undefined
}

function lastFailure(open: OpenIntent): FailureReason {
  if (open.ended?.status === 'rejected') return 'order-rejected'
  return open.ended?.status === 'failed' ? 'order-failed' : 'order-expired'
}

export type End = Pick<IntentClosed, 'outcome' | 'reason' | 'detail'>

export type ClosingContext = Pick<OrderContext, 'strategies' | 'account'> & {
  readonly ports: { readonly journal: Pick<Ports['journal'], 'state'> }
}

export function endOf(
  context: ClosingContext,
  open: OpenIntent,
  { outcome, reason, detail }: End,
): readonly JournalEvent[] {
  const { id: intentId } = open.intent
  const closed = intentClosed({ intentId, outcome, reason, detail })
  return isLastOfSlot(context, open)
    ? [closed, ...slotEnds(context, open, { outcome, reason, detail })]
    : [closed]
}

/** The slot takes the worst outcome of its intents, and may pause its strategy or halt everything. */
function slotEnds(context: ClosingContext, { intent }: OpenIntent, end: End): JournalEvent[] {
  const { strategies, account, ports } = context
  const { state } = ports.journal
  const { strategy, slotSeconds } = intent
  const before = state.strategies
    .get(strategy)
    ?.openSlots.find((each) => each.slotSeconds === slotSeconds)?.ended
  const worst: End = before === undefined ? end : worseEnd(before, end)
  const stops = stopsAfter(worst.outcome, { strategy, state, strategies, account })
  return [slotClosed({ strategy, slotSeconds, ...worst }), ...stops]
}

function isLastOfSlot(context: ClosingContext, open: OpenIntent): boolean {
  const { strategy, slotSeconds } = open.intent
  for (const other of context.ports.journal.state.intents.of(strategy))
    if (other !== open && other.intent.slotSeconds === slotSeconds) return false
  return true
}

/** Reason not to submit for the account: it must delegate to the operator's own proposer (rule A4). */
export function delegationRefusal(
  aggregator: AggregatorContext,
  view: Pick<AccountView, 'code'>,
): Closing | undefined {
  if (view.code === '0x')
    return refusal('not-delegated', 'run `tranched delegation set` for the account')
  if (delegateOf(view.code) === proposerOf(aggregator.settings)) return undefined
  const { proposer } = aggregator.settings
  return refusal('foreign-delegation', `the account's code is not the ${proposer} proposer's`)
}

/** Stops after too many failures in a row: pauses the strategy, or halts everything. */
export function stopsAfter(
  outcome: Outcome,
  slot: Pick<OrderContext, 'strategies' | 'account'> & {
    readonly strategy: string
    readonly state: DaemonState
  },
): readonly (StrategyPaused | TradingHalted)[] {
  if (outcome !== 'failed' && outcome !== 'refused' && outcome !== 'expired') return []
  const { strategy, state, strategies, account } = slot
  const cause = 'failure-streak'
  const stops: (StrategyPaused | TradingHalted)[] = []
  const record = state.strategies.get(strategy)
  const own = (record?.failureStreak ?? 0) + 1
  const ownMax = strategies.get(strategy)?.limits.maxFailures
  // An order may end after its strategy was paused: keep the earlier pause.
  if (ownMax !== undefined && own >= ownMax && record?.paused === undefined)
    stops.push(strategyPaused({ strategy, cause, detail: streakText(own, ownMax) }))
  const all = state.failureStreak + 1
  const allMax = account.maxFailures
  if (allMax !== undefined && all >= allMax && state.halted === undefined)
    stops.push(tradingHalted({ cause, detail: `${streakText(all, allMax)}, of any strategy` }))
  return stops
}

function streakText(count: number, max: number): string {
  return `${count} slots in a row failed, and limits.maxFailures is ${max}`
}
