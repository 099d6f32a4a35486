import type { JournalEvent } from './journal.ts'
import { NOT_SCHEDULED } from './slots.ts'
import type { DaemonState } from './state.ts'

/** Whatever came due until now, of each strategy that is attended, as missed: it may have been attended in what is lost. */
export function passedSlots(state: DaemonState, nowSeconds: number): readonly JournalEvent[] {
  return [...state.strategies].flatMap(([strategy, { scheduleKey, lastSlotSeconds }]) => {
    if (scheduleKey === NOT_SCHEDULED || nowSeconds <= lastSlotSeconds) return []
    const firstSeconds = lastSlotSeconds + 1
    return [
      { type: 'slots-missed', strategy, firstSeconds, lastSeconds: nowSeconds, count: undefined },
    ]
  })
}
