import type { DcaStrategy } from '../domain/strategy.ts'
import { type Decision, type MarketView, noPrice } from './decision.ts'
import { mostToSell, notCovered, outsideBounds, swapIntent, tradePrice } from './swap.ts'

/** Dollar-cost averaging: every slot trades the same amount, unless the price or the balance says no. */
export function decideDca(strategy: DcaStrategy, view: MarketView): Decision {
  const answer = tradePrice(strategy, view)
  if (!answer.ok) return noPrice(answer)
  const { ratio } = answer.price
  const { sell, buy, size, price } = strategy
  const maxSell = mostToSell(strategy, size, ratio)
  const barred = outsideBounds(ratio, price) ?? notCovered(view, sell, maxSell)
  if (barred !== undefined) return barred
  return {
    tag: 'trade',
    intents: [swapIntent(strategy, view, { leg: 0, sell, buy, size, maxSell, price })],
  }
}
