import { amountText, brokenText } from '../../domain/money/amount-text.ts'
import { brokenBound } from '../../domain/money/price.ts'
import { type Asset, shownToken } from '../../domain/money/token.ts'
import {
  type BaseUnits,
  BPS,
  baseUnits,
  maxOf,
  mulDivUp,
  type Ratio,
} from '../../domain/money/units.ts'
import { intentId, type SwapIntent } from '../../domain/order/intent.ts'
import { latestStartMs } from '../../domain/schedule/schedule.ts'
import type { OrderSize, PriceBounds, SwapBase, TradeBase } from '../../domain/strategy.ts'
import { none, type SampleSwap } from '../kind.ts'
import { availableOf, type MarketView, priceOf, type Skip, skip, unreadable } from './decision.ts'

/** Members of kinds that swap one token for another. */
export const oneDirection = {
  venue: 'gasless',
  assets: ({ sell, buy }: TradeBase) => [sell, buy],
  sells: ({ sell }: TradeBase) => [sell],
  pairs: ({ sell, buy }: TradeBase) => [{ sell: sell.token, buy: buy.token }],
  marks: none,
  quiet: none,
} as const

/** Members of kinds that trade by holdings or a module, whose orders only caps bound. */
export const byHoldings = {
  venue: 'gasless',
  portfolio: undefined,
  entry: none,
  trigger: undefined,
  fixedOrder: none,
  // Orders are cut to the caps.
  plannedOrders: () => [],
  mostPerSlot: none,
  nextSale: none,
  slicedTotal: none,
  marks: none,
  quiet: none,
  sampleSwap: ({ name }: SwapBase) => `${name} decides by its holdings what it trades`,
} as const

/** Exact input. */
export function exactly(amount: BaseUnits): Pick<Wanted, 'size' | 'maxSell'> {
  return { size: { side: 'sell', amount }, maxSell: amount }
}

export const NO_BOUNDS: PriceBounds = { min: undefined, max: undefined }

/** A swap without an id. */
type Wanted = SampleSwap & Partial<Pick<SwapIntent, 'maxCostBps' | 'trigger' | 'entry'>>

export function swapIntent(
  strategy: SwapBase,
  view: MarketView,
  { leg, ...wanted }: Wanted & { readonly leg: number },
): SwapIntent {
  const { slotSeconds } = view
  return {
    id: intentId({ strategy: strategy.name, slotSeconds, leg }),
    venue: 'gasless',
    strategy: strategy.name,
    slotSeconds,
    leg,
    owner: view.owner,
    recipient: view.owner,
    slippageBps: strategy.slippageBps,
    maxDeviationBps: strategy.maxDeviationBps,
    priceCheck: strategy.priceCheck,
    startBeforeMs: latestStartMs(strategy.schedule, slotSeconds),
    ...wanted,
    maxCostBps: wanted.maxCostBps,
  }
}

/** Maximum that an order may sell: exact input, or for exact output the price plus slippage and deviation, rounded up. */
export function mostToSell(strategy: SwapBase, size: OrderSize, price: Ratio): BaseUnits {
  if (size.side === 'sell') return size.amount
  const fair = mulDivUp(size.amount, price.num, price.den)
  return baseUnits(mulDivUp(fair, BPS + marginBps(strategy), BPS))
}

export function marginBps({ slippageBps, maxDeviationBps }: SwapBase): bigint {
  return BigInt(slippageBps + maxDeviationBps)
}

/** `price` in sell base units per buy base unit. */
export function outsideBounds(
  price: Ratio,
  { price: bounds, sell, buy }: Pick<Wanted, 'price' | 'sell' | 'buy'>,
): Skip | undefined {
  const broken = brokenBound(price, bounds)
  if (broken === undefined) return undefined
  const text = brokenText(price, broken, { sell: sell.token, buy: buy.token })
  return skip('price-outside-bounds', `the price is ${text}`)
}

/** Skips unless the balance is known and covers the maximum that an order may sell. */
export function notCovered(view: MarketView, sell: Asset, maxSell: BaseUnits): Skip | undefined {
  const free = availableOf(view, sell)
  if (free === undefined) return unreadable(sell)
  if (free >= maxSell) return undefined
  const text = (amount: bigint): string => amountText(amount, shownToken(sell))
  return skip(
    'insufficient-balance',
    `${text(maxOf(free, 0n))} is free, and the order may take ${text(maxSell)}`,
  )
}

/** The feed's price, or the strategy's own bound for a pair without a feed. */
export function tradePrice(
  strategy: Pick<TradeBase, 'sell' | 'buy' | 'price' | 'priceCheck'>,
  view: MarketView,
): ReturnType<typeof priceOf> {
  const answer = priceOf(view, strategy.sell.token, strategy.buy.token)
  const { max } = strategy.price
  if (answer.ok || strategy.priceCheck === 'feed' || max === undefined) return answer
  return { ok: true, price: { ratio: max, updatedAtSeconds: view.nowSeconds, pairs: [] } }
}
