import type { RebalanceStrategy } from '../domain/strategy.ts'
import { type Decision, type MarketView, skip } from './decision.ts'

/** Restores target weights with the fewest orders once one of them has drifted out of its band. */
export function decideRebalance(_strategy: RebalanceStrategy, _view: MarketView): Decision {
  return skip('inside-band', 'under construction')
}
