import type { Outcome } from '../domain/order/intent.ts'
import type { AccountLimits } from '../domain/settings.ts'
import {
  type StrategyPaused,
  strategyPaused,
  type TradingHalted,
  tradingHalted,
} from '../journal/events/strategy/stops.ts'
import type { DaemonState } from '../journal/state/daemon-state.ts'
import type { Strategy } from '../strategies/registry.ts'

type Stop = StrategyPaused | TradingHalted

/** What a slot's outcome stops, after too many failures in a row: its strategy, or everything. */
export function stopsAfter(
  outcome: Outcome,
  slot: {
    readonly strategy: string
    readonly state: DaemonState
    readonly strategies: ReadonlyMap<string, Strategy>
    readonly account: AccountLimits
  },
): readonly Stop[] {
  if (outcome !== 'failed' && outcome !== 'refused' && outcome !== 'expired') return []
  const { strategy, state, strategies, account } = slot
  const cause = 'failure-streak'
  const stops: Stop[] = []
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
  return `${count} slots in a row came to nothing, and limits.maxFailures is ${max}`
}
