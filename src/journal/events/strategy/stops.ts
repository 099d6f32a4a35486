import { strategyOf } from '../../projections/order-reducer.ts'
import type { Pause } from '../../state/daemon-state.ts'
import { defineEvent } from '../event.ts'

/** Stops of one or all strategies, and their end. */

/** Why one strategy, or all, opens no slots. */
export type Stop = Omit<Pause, 'atMs'>

/** The strategy opens no slot until it is resumed. */
export type StrategyPaused = Stop & {
  readonly type: 'strategy-paused'
  readonly strategy: string
}

export const strategyPaused = defineEvent<StrategyPaused>({
  type: 'strategy-paused',
  reduce(state, { strategy, cause, detail }, atMs) {
    strategyOf(state, strategy).paused = { atMs, cause, detail }
  },
  anchors: (_, { trader, operator }) => [trader, operator],
})

type StrategyResumed = {
  readonly type: 'strategy-resumed'
  readonly strategy: string
  /** Who resumed it, if not at the machine itself. Undefined in older records. */
  readonly detail?: string | undefined
}

export const strategyResumed = defineEvent<StrategyResumed>({
  type: 'strategy-resumed',
  reduce(state, { strategy }, atMs) {
    const record = strategyOf(state, strategy)
    record.paused = undefined
    record.resumedAtMs = atMs
    record.failureStreak = 0
  },
})

/** The strategy needs an operator's approval and opens no slot until then. */
export type StrategyHeld = {
  readonly type: 'strategy-held'
  readonly strategy: string
  /** Digest of the held terms. Other terms are checked anew. */
  readonly terms: string
  readonly detail: string
}

export const strategyHeld = defineEvent<StrategyHeld>({
  type: 'strategy-held',
  reduce(state, { strategy, terms, detail }, atMs) {
    strategyOf(state, strategy).held = { atMs, terms, detail }
  },
})

export type HoldLifted = {
  readonly type: 'hold-lifted'
  readonly strategy: string
  /** Terms that may trade from now on: if the file is gone, the terms from before the hold. */
  readonly terms: string
  /** An operator approved them, or the file changed. */
  readonly cause: 'operator' | 'file'
  readonly detail: string
}

export const holdLifted = defineEvent<HoldLifted>({
  type: 'hold-lifted',
  reduce(state, { strategy, terms }) {
    const record = strategyOf(state, strategy)
    record.held = undefined
    record.terms = terms
  },
})

/** No strategy signs anything until the halt is lifted. */
export type TradingHalted = Stop & { readonly type: 'halted' }

export const tradingHalted = defineEvent<TradingHalted>({
  type: 'halted',
  reduce(state, { cause, detail }, atMs) {
    state.halted = { atMs, cause, detail }
  },
  anchors: (_, { trader, operator }) => [trader, operator],
})

type HaltLifted = {
  readonly type: 'halt-lifted'
  /** As in `StrategyResumed`. */
  readonly detail?: string | undefined
}

export const haltLifted = defineEvent<HaltLifted>({
  type: 'halt-lifted',
  reduce(state) {
    state.halted = undefined
    state.failureStreak = 0
  },
})

export const STOP_EVENTS = [
  strategyPaused,
  strategyResumed,
  strategyHeld,
  holdLifted,
  tradingHalted,
  haltLifted,
] as const
