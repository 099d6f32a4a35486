import { InvariantError } from '../../../domain/errors.ts'
import type { Token } from '../../../domain/money/token.ts'
import type { BaseUnits } from '../../../domain/money/units.ts'
import type { UnsoldRule } from '../../../domain/strategy.ts'
import { NO_MEMORY } from '../../../domain/strategy-memory.ts'
import { strategyOf } from '../../projections/order-reducer.ts'
import { defineEvent } from '../event.ts'

/** Schedule key of a strategy that the journal knows but the daemon does not run. */
export const NOT_SCHEDULED = 'none'

/** Terms of a strategy without a decision yet. */
export const UNJUDGED = 'none'

/** The strategy's slots count from `fromSeconds` on. Written when its schedule is first seen or changes. */
type StrategyScheduled = {
  readonly type: 'strategy-scheduled'
  readonly strategy: string
  readonly scheduleKey: string
  readonly fromSeconds: number
  /** Whether the strategy is new to the journal; undefined in older records. */
  readonly isFirst?: boolean | undefined
}

export const strategyScheduled = defineEvent<StrategyScheduled>({
  type: 'strategy-scheduled',
  reduce(state, { strategy, scheduleKey, fromSeconds, isFirst }) {
    const known = state.strategies.get(strategy)
    const anchor = { scheduleKey, fromSeconds }
    if (known !== undefined) {
      if (fromSeconds < known.lastSlotSeconds)
        throw new InvariantError(
          `${strategy}: slots up to ${known.lastSlotSeconds} are accounted for`,
        )
      known.scheduleKey = scheduleKey
      known.lastSlotSeconds = fromSeconds
      if (scheduleKey !== NOT_SCHEDULED && scheduleKey !== known.anchor.scheduleKey)
        known.anchor = anchor
      return
    }
    state.strategies.set(strategy, {
      scheduleKey,
      anchor,
      lastSlotSeconds: fromSeconds,
      openSlots: [],
      memory: NO_MEMORY,
      terms: isFirst === true ? UNJUDGED : undefined,
      paused: undefined,
      resumedAtMs: undefined,
      failureStreak: 0,
      fills: 0,
      lastOrderAtMs: undefined,
      lastFillAtMs: undefined,
      spent: new Map(),
    })
  },
})

/** A TWAP schedule is over: no slice is left, no order is open, and its total is not sold. */
type ProgramEnded = {
  readonly type: 'program-ended'
  readonly strategy: string
  /** Last slot that is accounted for. */
  readonly slotSeconds: number
  /** Identity of the schedule: it changes with total, token, count or start. */
  readonly program: string
  readonly token: Token
  readonly total: BaseUnits
  readonly unsold: bigint
  /** The strategy file's rule for slices that sold nothing. */
  readonly rule: UnsoldRule
}

export const programEnded = defineEvent<ProgramEnded>({
  type: 'program-ended',
  reduce(state, { strategy, program }) {
    const record = strategyOf(state, strategy)
    if (record.openSlots.length > 0)
      throw new InvariantError(`${strategy}: a TWAP with open slots is not over`)
    record.endedProgram = program
  },
})

export const STRATEGY_EVENTS = [strategyScheduled, programEnded] as const
