import { brokenText } from '../domain/amount-text.ts'
import { intentId, type SwapIntent, type Trigger } from '../domain/intent.ts'
import { brokenBound } from '../domain/price.ts'
import { latestStartMs } from '../domain/schedule/schedule.ts'
import type { OrderSize, PriceBounds, SwapStrategy } from '../domain/strategy.ts'
import { type Asset, ETHER } from '../domain/token.ts'
import {
  type BaseUnits,
  BPS,
  baseUnits,
  formatAmount,
  maxOf,
  mulDivUp,
  type Ratio,
} from '../domain/units.ts'
import { availableOf, type MarketView, priceOf, type Skip, skip, unreadable } from './decision.ts'

export const NO_BOUNDS: PriceBounds = { min: undefined, max: undefined }

/** One swap that a strategy wants, before it is given an id. */
export type Wanted = {
  readonly sell: Asset
  readonly buy: Asset
  readonly size: OrderSize
  readonly maxSell: BaseUnits
  readonly price: PriceBounds
  readonly maxCostBps?: number | undefined
  readonly trigger?: Trigger
  readonly entry?: SwapIntent['entry']
}

/** The complete intent of leg number `leg` of a slot. */
export function swapIntent(
  strategy: SwapStrategy,
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

/**
 * The most that an order may take. Exact input sells its amount; exact output may pay the price plus slippage and the
 * allowed deviation, rounded up.
 */
export function mostToSell(strategy: SwapStrategy, size: OrderSize, price: Ratio): BaseUnits {
  if (size.side === 'sell') return size.amount
  const fair = mulDivUp(size.amount, price.num, price.den)
  const margin = BigInt(strategy.slippageBps + strategy.maxDeviationBps)
  return baseUnits(mulDivUp(fair, BPS + margin, BPS))
}

/** Why a price, in sell base units per buy base unit, keeps a strategy from trading. */
export function outsideBounds(
  price: Ratio,
  { price: bounds, sell, buy }: Pick<Wanted, 'price' | 'sell' | 'buy'>,
): Skip | undefined {
  const broken = brokenBound(price, bounds)
  if (broken === undefined) return undefined
  const text = brokenText(price, broken, { sell: sell.token, buy: buy.token })
  return skip('price-outside-bounds', `the price is ${text}`)
}

/** The balance has to be known, and to cover the most that an order may take. */
export function notCovered(view: MarketView, sell: Asset, maxSell: BaseUnits): Skip | undefined {
  const free = availableOf(view, sell)
  if (free === undefined) return unreadable(sell)
  if (free >= maxSell) return undefined
  const { decimals, symbol } = sell.native ? ETHER : sell.token
  const text = (amount: bigint): string => `${formatAmount(amount, decimals)} ${symbol}`
  return skip(
    'insufficient-balance',
    `${text(maxOf(free, 0n))} is free, and the order may take ${text(maxSell)}`,
  )
}

/** The price to decide by; for a pair that has no feed, its strategy's own bound stands in. */
export function tradePrice(
  strategy: { readonly sell: Asset; readonly buy: Asset; readonly price: PriceBounds } & Pick<
    SwapStrategy,
    'priceCheck'
  >,
  view: MarketView,
): ReturnType<typeof priceOf> {
  const answer = priceOf(view, strategy.sell.token, strategy.buy.token)
  const { max } = strategy.price
  if (answer.ok || strategy.priceCheck === 'feed' || max === undefined) return answer
  return { ok: true, price: { ratio: max, updatedAtSeconds: view.nowSeconds, pairs: [] } }
}
