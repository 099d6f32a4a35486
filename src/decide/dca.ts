import { intentId, type SwapIntent } from '../domain/intent.ts'
import { sellPerBuy } from '../domain/price.ts'
import type { DcaStrategy } from '../domain/strategy.ts'
import {
  type BaseUnits,
  BPS,
  baseUnits,
  compareRatio,
  mulDivUp,
  type Ratio,
} from '../domain/units.ts'
import type { Decision, MarketView } from './decision.ts'

/** Dollar-cost averaging: every slot trades the same amount, unless the price or the balance says no. */
export function decideDca(strategy: DcaStrategy, view: MarketView): Decision {
  if (!view.price.ok) return { tag: 'skip', reason: view.price.reason, detail: 'no usable price' }
  const price = sellPerBuy(view.price.price, view.price.feed, strategy.buy.token)
  const { min, max } = strategy.price
  const below = min !== undefined && compareRatio(price, min) < 0
  const above = max !== undefined && compareRatio(price, max) > 0
  if (below || above)
    return {
      tag: 'skip',
      reason: 'price-outside-bounds',
      detail: `the price is ${below ? 'below price.min' : 'above price.max'}`,
    }
  const maxSell = mostToSell(strategy, view, price)
  if (view.available < maxSell)
    return {
      tag: 'skip',
      reason: 'insufficient-balance',
      detail: `${view.available} is free of what the order may take, ${maxSell}`,
    }
  return { tag: 'trade', intents: [intentOf(strategy, view, maxSell)] }
}

/** Exact input sells its amount; exact output may pay the feed's price plus slippage and the allowed deviation. */
function mostToSell(strategy: DcaStrategy, view: MarketView, price: Ratio): BaseUnits {
  const { side, amount } = strategy.size
  if (side === 'sell') return amount
  const fair = mulDivUp(amount, price.num, price.den)
  const margin = BigInt(strategy.slippageBps + view.maxDeviationBps)
  return baseUnits(mulDivUp(fair, BPS + margin, BPS))
}

function intentOf(strategy: DcaStrategy, view: MarketView, maxSell: BaseUnits): SwapIntent {
  const { slotSeconds } = view
  const leg = 0
  return {
    id: intentId({ strategy: strategy.name, slotSeconds, leg }),
    venue: 'gasless',
    strategy: strategy.name,
    slotSeconds,
    leg,
    owner: view.owner,
    recipient: view.owner,
    sell: strategy.sell,
    buy: strategy.buy,
    size: strategy.size,
    maxSell,
    slippageBps: strategy.slippageBps,
    price: strategy.price,
    startBeforeMs: slotSeconds * 1000 + strategy.schedule.maxLatenessMs,
  }
}
