import type { ThresholdStrategy } from '../domain/strategy.ts'
import { type Decision, type MarketView, skip } from './decision.ts'

/** Restores target weights with the fewest orders once one of them has drifted out of its band. */
export function decideThreshold(_strategy: ThresholdStrategy, _view: MarketView): Decision {
  return skip('not-triggered', 'under construction')
}
