import type { StrategyMemory } from '../domain/memory.ts'
import type { Strategy } from '../domain/strategy.ts'
import type { MarketView } from './decision.ts'

/** What the drawdown limit makes of a slot. */
export type Drawdown =
  /** `memory` holds the highest value so far; it is kept beside whatever the strategy itself remembers. */
  | { readonly tag: 'within'; readonly memory: StrategyMemory }
  | { readonly tag: 'tripped'; readonly detail: string }

/** Compares the value of what a strategy holds with its highest since `resumedAtMs`. */
export function drawdownOf(
  _strategy: Strategy,
  _view: MarketView,
  _resumedAtMs: number | undefined,
): Drawdown {
  return { tag: 'within', memory: {} }
}
