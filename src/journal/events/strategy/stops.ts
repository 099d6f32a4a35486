import { strategyOf } from '../../projections/order-reducer.ts'
import type { Pause } from '../../state/daemon-state.ts'
import { defineEvent } from '../event.ts'

/** What stops one strategy or all of them, and what lets them go on. */

/** Why one of them, or all, open no slots. */
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
  /** By whom, where it was not said at the machine; older records have none. */
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

/** An operator has to approve what the strategy would do: it opens no slot until then. */
export type StrategyHeld = {
  readonly type: 'strategy-held'
  readonly strategy: string
  /** Digest of the file's terms that are held. Other terms are judged anew. */
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
  /** The terms that may trade from now on: where its file is gone, those of before the hold. */
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

/** Nothing is signed by any strategy until it is lifted. */
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
  /** As of a pause that ends. */
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
