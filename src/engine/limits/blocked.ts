import type { AccountLimits } from '../../domain/settings.ts'
import { durationText } from '../../domain/text/duration.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import { type Skip, skip } from '../../strategies/decision/decision.ts'
import type { ManualOrder } from '../../strategies/manual/manual-kind.ts'
import { assetsOf, kindOf, type Strategy } from '../../strategies/registry.ts'
import type { OrderContext } from '../../venues/context.ts'
import { heldNow, heldText } from './hold.ts'

type Question = {
  readonly state: DaemonState
  readonly strategy: Strategy
  readonly account: AccountLimits
  readonly nowMs: number
  /** Undefined if approvals do not apply. */
  readonly terms?: string | undefined
  /** Undefined without a running daemon. */
  readonly tokenFault?: OrderContext['tokenFault'] | undefined
  /** An order by hand needs only its own tokens. */
  readonly order?: Pick<ManualOrder, 'sell' | 'buy'> | undefined
}

/** Skips a slot because of a halt, a pause, a pending approval, an unlisted token, too many orders in flight, or a cooldown. */
export function blockingSkip(question: Question): Skip | undefined {
  return (
    stopped(question) ??
    held(question) ??
    unlisted(question) ??
    crowded(question) ??
    cooling(question)
  )
}

/**
 * Tells false of strategies whose slot nothing can make wait: no order in flight, no cooldown, no last slice that waits for
 * the market. A cheap answer for thousands of strategies, while the state stays as it is.
 */
export function waitingIn({
  state,
  account,
}: Pick<Question, 'state' | 'account'>): (strategy: Strategy) => boolean {
  if (state.intents.size > 0 || account.cooldownMs > 0) return () => true
  return (strategy) =>
    strategy.limits.cooldownMs > 0 ||
    kindOf(strategy).slicedTotal(strategy) !== undefined ||
    state.strategies.get(strategy.name)?.openSlots.length !== 0
}

function stopped({ state, strategy }: Question): Skip | undefined {
  if (state.halted !== undefined)
    return skip('halted', `${state.halted.detail}; \`tranched resume\` lifts it`)
  const paused = state.strategies.get(strategy.name)?.paused
  if (paused === undefined) return undefined
  return skip('paused', `${paused.detail}; \`tranched resume ${strategy.name}\` ends it`)
}

function held({ state, strategy, terms }: Question): Skip | undefined {
  const hold = heldNow(state, strategy, terms)
  return hold && skip('needs-approval', heldText(strategy.name, hold.detail))
}

function unlisted({ strategy, tokenFault, order }: Question): Skip | undefined {
  for (const { token } of order ? [order.sell, order.buy] : assetsOf(strategy)) {
    const fault = tokenFault?.(token.address)
    if (fault?.reason === 'token-unlisted') return skip(fault.reason, fault.detail)
  }
  return undefined
}

function crowded({ state, strategy, account }: Question): Skip | undefined {
  const open = state.strategies.get(strategy.name)?.openSlots.length ?? 0
  const allowed = strategy.schedule.overlap === 'skip' ? 1 : strategy.limits.maxOpenIntents
  if (open >= allowed)
    return skip('too-many-open', `${open} of ${allowed} slots are still in flight`)
  const { maxOpenIntents } = account
  if (maxOpenIntents === undefined || state.intents.size < maxOpenIntents) return undefined
  return skip(
    'account-too-many-open',
    `${state.intents.size} of ${maxOpenIntents} orders of all strategies are still in flight`,
  )
}

function cooling({ state, strategy, account, nowMs }: Question): Skip | undefined {
  if (strategy.limits.cooldownMs === 0 && account.cooldownMs === 0) return undefined
  const own = coolsForMs(strategy.limits.cooldownMs, nowMs, () => lastStartMs(state, strategy.name))
  if (own > 0) return { ...skip('cooldown', freeAgain(own)), freesAtMs: nowMs + own }
  const all = coolsForMs(account.cooldownMs, nowMs, () => lastStartMs(state, undefined))
  if (all <= 0) return undefined
  return { ...skip('account-cooldown', freeAgain(all)), freesAtMs: nowMs + all }
}

/** Remaining cooldown in ms, at most 0 if it is over. Zero without a cooldown, even if the clock is wrong. */
function coolsForMs(cooldownMs: number, nowMs: number, lastMs: () => number | undefined): number {
  const last = cooldownMs === 0 ? undefined : lastMs()
  return last === undefined ? 0 : last + cooldownMs - nowMs
}

function freeAgain(ms: number): string {
  return `free again in ${durationText(ms)}`
}

/**
 * Last time a strategy, or any, began an order or opened a slot whose order is still to come. Orders begin only while the
 * clocks agree; a slot opened by a wrong clock never counts beyond its latest start.
 */
function lastStartMs(state: DaemonState, strategy: string | undefined): number | undefined {
  let last =
    strategy === undefined ? state.lastOrderAtMs : state.strategies.get(strategy)?.lastOrderAtMs
  const { intents } = state
  for (const open of strategy === undefined ? intents.values() : intents.of(strategy))
    last = Math.max(last ?? 0, Math.min(open.openedAtMs, open.intent.startBeforeMs))
  return last
}
