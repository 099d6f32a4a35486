import type { Strategy } from '../domain/strategy.ts'
import { decideDca } from './dca.ts'
import type { Decision, MarketView } from './decision.ts'

/** The decision of any kind of strategy for one slot. Pure: the same view gives the same decision. */
export function decide(strategy: Strategy, view: MarketView): Decision {
  switch (strategy.kind) {
    case 'dca':
      return decideDca(strategy, view)
  }
}
