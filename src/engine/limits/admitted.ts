import { baseUnits } from '../../domain/money/units.ts'
import type { SlotSeconds } from '../../domain/schedule/schedule.ts'
import type { AccountLimits } from '../../domain/settings.ts'
import {
  type LimitHit,
  type LimitQuery,
  limitHit,
  limitText,
} from '../../journal/projections/limits.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import { type Decision, skip } from '../../strategies/decision/decision.ts'
import type { Strategy } from '../../strategies/registry.ts'
import { scheduleOf } from '../../strategies/spending/slots-ahead.ts'
import { projectionOf } from '../../venues/projections.ts'
import { freesInTimeMs, isScheduled } from '../waiting.ts'

type DecidedSlot = {
  readonly state: DaemonState
  readonly strategy: Strategy
  readonly slotSeconds: SlotSeconds
  readonly nowMs: number
  readonly account: AccountLimits
}

/**
 * A cap that the order exceeds together with unsigned orders, if the cap frees in time to wait for it. Otherwise the first
 * order to be signed wins.
 */
function crowdedHit(input: DecidedSlot, query: LimitQuery): LimitHit | undefined {
  const { state, strategy, slotSeconds, nowMs } = input
  const planned = { own: 0n, account: state.intents.planned(query.token.address) }
  for (const { state: at, intent } of state.intents.of(strategy.name)) {
    const { token, amount } = projectionOf(intent).mostOf(intent)
    if (at === 'planned' && token.address === query.token.address) planned.own += amount
  }
  if (planned.account === 0n) return undefined
  const hit = limitHit(state, { ...query, planned })
  const slot = { strategy, schedule: scheduleOf(state, strategy), slotSeconds, nowMs }
  const waits = isScheduled(slot) && freesInTimeMs(slot, hit?.freesAtMs) !== undefined
  return waits ? hit : undefined
}

/** Applies the caps to a decision. The caps apply again before signing. */
export function admitted(input: DecidedSlot, decision: Decision): Decision {
  if (decision.tag === 'skip') return decision
  const { state, strategy, nowMs, account } = input
  const planned = new Map<string, bigint>()
  for (const intent of decision.intents) {
    const { token, amount } = projectionOf(intent).mostOf(intent)
    const together = baseUnits((planned.get(token.address) ?? 0n) + amount)
    planned.set(token.address, together)
    const { name, limits } = strategy
    const query = { strategy: name, token, amount, together, nowMs, limits, account }
    const hit = limitHit(state, query) ?? crowdedHit(input, query)
    if (hit !== undefined)
      return { ...skip(hit.reason, limitText(hit, nowMs), decision.memory), hit }
  }
  return decision
}
