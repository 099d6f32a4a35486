import type { TwapStrategy } from '../domain/strategy.ts'
import { type Decision, type MarketView, skip } from './decision.ts'

/** Restores target weights with the fewest orders once one of them has drifted out of its band. */
export function decideTwap(_strategy: TwapStrategy, _view: MarketView): Decision {
  return skip('finished', 'under construction')
}
