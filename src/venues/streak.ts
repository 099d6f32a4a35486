import type { EventOf } from '../domain/book/journal.ts'
import type { DaemonState } from '../domain/book/state.ts'
import type { Outcome } from '../domain/intent.ts'
import type { AccountLimits } from '../domain/settings.ts'
import type { Strategy } from '../domain/strategy.ts'

type Stop = EventOf<'strategy-paused'> | EventOf<'halted'>

/** What a slot that ends like this stops: its strategy, or everything, once too many in a row have come to nothing. */
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
  // An order in flight may end after its strategy was paused: why and since when that was stays as it is.
  if (ownMax !== undefined && own >= ownMax && record?.paused === undefined)
    stops.push({ type: 'strategy-paused', strategy, cause, detail: streakText(own, ownMax) })
  const all = state.failureStreak + 1
  const allMax = account.maxFailures
  if (allMax !== undefined && all >= allMax && state.halted === undefined)
    stops.push({ type: 'halted', cause, detail: `${streakText(all, allMax)}, of any strategy` })
  return stops
}

function streakText(count: number, max: number): string {
  return `${count} slots in a row came to nothing, and limits.maxFailures is ${max}`
}
