import { assertNever } from '../domain/errors.ts'
import type { SwapStrategy } from '../domain/strategy.ts'
import { decideCustom } from './custom.ts'
import { decideDca } from './dca.ts'
import type { Decision, MarketView } from './decision.ts'
import { decideRebalance } from './rebalance.ts'
import { decideThreshold } from './threshold.ts'
import { decideTwap } from './twap.ts'

/** What a strategy that swaps wants for a slot, by its kind alone. */
export function decideSwap(strategy: SwapStrategy, view: MarketView): Decision {
  switch (strategy.kind) {
    case 'dca':
      return decideDca(strategy, view)
    case 'rebalance':
      return decideRebalance(strategy, view)
    case 'threshold':
      return decideThreshold(strategy, view)
    case 'twap':
      return decideTwap(strategy, view)
    case 'custom':
      return decideCustom(strategy, view)
    default:
      return assertNever(strategy)
  }
}
