import { type Skip, skip } from '../decide/decision.ts'
import type { AccountLimits } from '../domain/settings.ts'
import type { DaemonState } from '../domain/state.ts'
import type { Strategy } from '../domain/strategy.ts'

type Question = {
  readonly state: DaemonState
  readonly strategy: Strategy
  readonly account: AccountLimits
  readonly nowMs: number
}

/** What bars a slot before its strategy is even asked: a halt, a pause, too much in flight, a cooldown. */
export function barredFrom(question: Question): Skip | undefined {
  return stopped(question) ?? crowded(question) ?? cooling(question)
}

function stopped({ state, strategy }: Question): Skip | undefined {
  if (state.halted !== undefined)
    return skip('halted', `${state.halted.detail}; \`tranched resume\` lifts it`)
  const paused = state.strategies.get(strategy.name)?.paused
  if (paused === undefined) return undefined
  return skip('paused', `${paused.detail}; \`tranched resume ${strategy.name}\` ends it`)
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
  const own = strategy.limits.cooldownMs
  const sinceOwn = nowMs - (lastStartMs(state, strategy.name) ?? Number.NEGATIVE_INFINITY)
  if (sinceOwn < own) return skip('cooldown', freeAgain(own - sinceOwn))
  const all = account.cooldownMs
  if (all === 0) return undefined
  const sinceAny = nowMs - (lastStartMs(state, undefined) ?? Number.NEGATIVE_INFINITY)
  return sinceAny < all ? skip('account-cooldown', freeAgain(all - sinceAny)) : undefined
}

function freeAgain(ms: number): string {
  return `free again in ${Math.ceil(ms / 1000)} s`
}

/** When a strategy, or any, last began an order or opened a slot whose order is still to come. */
function lastStartMs(state: DaemonState, strategy: string | undefined): number | undefined {
  let last =
    strategy === undefined ? state.lastOrderAtMs : state.strategies.get(strategy)?.lastOrderAtMs
  for (const open of state.intents.values()) {
    if (strategy === undefined || open.intent.strategy === strategy)
      last = Math.max(last ?? 0, open.openedAtMs)
  }
  return last
}
