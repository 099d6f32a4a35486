import { assertNever } from '../domain/errors.ts'
import type { CustomStrategy, SwapStrategy } from '../domain/strategy.ts'
import { decideDca } from './dca.ts'
import type { Decision, MarketView } from './decision.ts'
import { decideRebalance } from './rebalance.ts'
import { decideThreshold } from './threshold.ts'
import { decideTwap } from './twap.ts'

/** Kinds that decide by themselves; a custom one asks its module first. */
export type OwnKind = Exclude<SwapStrategy, CustomStrategy>

/** What a strategy that swaps wants for a slot, by its kind alone. */
export function decideSwap(strategy: OwnKind, view: MarketView): Decision {
  switch (strategy.kind) {
    case 'dca':
      return decideDca(strategy, view)
    case 'rebalance':
      return decideRebalance(strategy, view)
    case 'threshold':
      return decideThreshold(strategy, view)
    case 'twap':
      return decideTwap(strategy, view)
    default:
      return assertNever(strategy)
  }
}
