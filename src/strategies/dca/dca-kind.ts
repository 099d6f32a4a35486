import { amountText } from '../../domain/money/amount-text.ts'
import { brokenBound } from '../../domain/money/price.ts'
import { shownToken } from '../../domain/money/token.ts'
import {
  type BaseUnits,
  BPS,
  baseUnits,
  compareRatio,
  maxOf,
  minOf,
  PAR,
  type Ratio,
  ratioOfText,
  ratioText,
  scaleBps,
} from '../../domain/money/units.ts'
import { isLimitReason, type SkipReason } from '../../domain/order/reason.ts'
import type { OrderSize, TradeBase } from '../../domain/strategy.ts'
import type { StrategyMemory } from '../../domain/strategy-memory.ts'
import {
  availableOf,
  type Decision,
  type MarketView,
  noPrice,
  pairKey,
} from '../decision/decision.ts'
import {
  marginBps,
  mostToSell,
  notCovered,
  oneDirection,
  outsideBounds,
  swapIntent,
  tradePrice,
} from '../decision/swap.ts'
import {
  none,
  type PricedSlot,
  type Remember,
  type SlotInputs,
  type StrategyKind,
} from '../kind.ts'

/** Trades the same amount on every slot, and another amount on a dip. */
export type DcaStrategy = TradeBase & {
  readonly kind: 'dca'
  readonly size: OrderSize
  /** Deepest first; amounts have the same side as `size`. */
  readonly dips: readonly Dip[]
  /** Window in which the highest price counts. */
  readonly dipWindowMs: number
}

/** Trades `amount` at `dropBps` or more below the highest price of the window. */
export type Dip = { readonly dropBps: number; readonly amount: BaseUnits }

export const dca: StrategyKind<DcaStrategy> = {
  ...oneDirection,
  decision: { by: 'market', decide: decideDca },
  describe({ sell, buy, size }) {
    const [sold, bought] = [shownToken(sell), shownToken(buy)]
    return size.side === 'sell'
      ? `dca ${amountText(size.amount, sold)} -> ${bought.symbol}`
      : `dca ${sold.symbol} -> ${amountText(size.amount, bought)}`
  },
  shapesNoOrder: [],
  marks({ dips, ...strategy }, { price, ...view }) {
    if (price === undefined) return undefined
    const { nowSeconds, memory } = view
    const { highest = price } = highsOf({ ...strategy, dips }, memory, [{ nowSeconds, price }])
    const levels = dips.map(({ dropBps }) => {
      const level = scaleBps(highest, -dropBps)
      const isReached = compareRatio(price, level) <= 0
      return { name: `dip of ${dropBps / 100}%`, level, trades: true, isReached }
    })
    return { levels }
  },
  fixedOrder: ({ size, sell: { token } }) =>
    size.side === 'buy' ? undefined : { token, amount: size.amount },
  plannedOrders(strategy, inputs) {
    const amount = dearest(strategy, inputs)
    const usual = dearest({ ...strategy, dips: [] }, inputs)
    if (amount === undefined || usual === undefined) return []
    const each = { who: 'an order sells up to', asset: strategy.sell, amount: usual }
    return amount === usual ? [each] : [each, { ...each, who: 'on a dip it sells up to', amount }]
  },
  mostPerSlot: dearest,
  nextSale: dearest,
  slicedTotal: none,
  sampleSwap({ sell, buy, price, size }) {
    const maxSell = size.side === 'sell' ? size.amount : baseUnits(2n ** 200n)
    return { sell, buy, price, size, maxSell }
  },
  portfolio: undefined,
  entry: none,
  trigger: undefined,
  quiet(strategy, view, reason) {
    const { sell, buy, price, dips } = strategy
    const answer = tradePrice(strategy, view)
    // Without a feed, passed slots have no price to remember.
    if (!answer.ok || (dips.length > 0 && answer.price.pairs.length === 0)) return undefined
    const remember: Remember | undefined =
      dips.length === 0 ? undefined : (before, slots) => highsOf(strategy, before, slots).memory
    const pair = { sell: sell.token, buy: buy.token }
    if (reason === 'price-outside-bounds') {
      const isLow = brokenBound(answer.price.ratio, price)?.bound === 'min'
      const [low = NOUGHT, high] = isLow ? [undefined, price.min] : [price.max, undefined]
      return { bands: [{ ...pair, low, high }], needsBalances: false, remember }
    }
    const least = leastShort(strategy, view, reason)
    // A smaller dip's amount may do at this price.
    if (least === undefined || compareRatio(answer.price.ratio, least) <= 0) return undefined
    const { min = least, max: high } = price
    const low = compareRatio(min, least) > 0 ? min : least
    return { bands: [{ ...pair, low, high }], needsBalances: true, remember }
  },
}

const NOUGHT: Ratio = { num: 0n, den: 1n }

/** Price above which an order within bounds, of any size, stays skipped for this reason; undefined if no price is known. */
function leastShort(strategy: DcaStrategy, view: MarketView, reason: SkipReason) {
  const { size, sell, dips } = strategy
  const free = availableOf(view, sell)
  const amount = dips.reduce<bigint>((least, dip) => minOf(least, dip.amount), size.amount)
  // A cap may hit only some sizes.
  if (isLimitReason(reason) && size.side === 'sell' && dips.length === 0) return NOUGHT
  if (reason !== 'insufficient-balance' || free === undefined) return undefined
  if (size.side === 'sell') return free < amount ? NOUGHT : undefined
  // The inverse of `mostToSell`, whose rounding up only raises it.
  return { num: maxOf(0n, free) * BPS, den: amount * (BPS + marginBps(strategy)) }
}

/** Maximum that one slot sells; undefined if that depends on an unknown price. */
function dearest(strategy: DcaStrategy, { priceOf }: Pick<SlotInputs, 'priceOf'>) {
  const { size, dips, price, sell, buy } = strategy
  const ratio = price.max ?? priceOf(sell.token, buy.token)
  if (size.side === 'buy' && ratio === undefined) return undefined
  const bounds = [size.amount, ...dips.map(({ amount }) => amount)].map((amount) =>
    mostToSell(strategy, { ...size, amount }, ratio ?? PAR),
  )
  return bounds.reduce<bigint>(maxOf, 0n)
}

/** Trades the same amount on every slot within price bounds and balance, and the dip's amount on a dip. */
export function decideDca(strategy: DcaStrategy, view: MarketView): Decision {
  const answer = tradePrice(strategy, view)
  if (!answer.ok) return noPrice(answer)
  const { ratio } = answer.price
  const { sell, buy, price } = strategy
  const slot = { nowSeconds: view.nowSeconds, price: ratio }
  const highs = strategy.dips.length === 0 ? undefined : highsOf(strategy, view.memory, [slot])
  const memory = highs?.memory
  const size = sizeAt(strategy, ratio, highs?.highest)
  const maxSell = mostToSell(strategy, size, ratio)
  const blocked = outsideBounds(ratio, strategy) ?? notCovered(view, sell, maxSell)
  if (blocked !== undefined) return { ...blocked, memory }
  const intent = swapIntent(strategy, view, { leg: 0, sell, buy, size, maxSell, price })
  return { tag: 'trade', intents: [intent], memory }
}

/** Size by the deepest dip that the price has reached. */
function sizeAt({ size, dips }: DcaStrategy, price: Ratio, highest: Ratio | undefined): OrderSize {
  if (highest === undefined) return size
  const dip = dips.find(({ dropBps }) => compareRatio(price, scaleBps(highest, -dropBps)) <= 0)
  return dip === undefined ? size : { ...size, amount: dip.amount }
}

/** Beyond this, highs after the first are dropped, which makes a later dip smaller, never larger. */
const HIGHS_MAX = 64

/** A remembered price, as text `<seconds>@<ratio>`, or one of a new slot. */
type High = string | PricedSlot

/**
 * The highest price of the window after slots, at least one, and the memory of the prices that were not reached again since,
 * with commas between. Times rise and prices fall along it, so only its ends are read: the rest of 64 highs would take longer
 * than all else of a decision.
 */
function highsOf(
  strategy: DcaStrategy,
  before: StrategyMemory,
  slots: readonly PricedSlot[],
): { readonly highest: Ratio | undefined; readonly memory: StrategyMemory } {
  const key = keyOf(strategy)
  const highs: High[] = (before[key] ?? '').split(',')
  for (const slot of slots) {
    const oldest = slot.nowSeconds - strategy.dipWindowMs / 1000
    while (highs.length > 0 && !(secondsOf(highs[0]) >= oldest)) highs.shift()
    while (highs.length > 0 && !isAbove(highs.at(-1), slot.price)) highs.pop()
    if (highs.length >= HIGHS_MAX) highs.splice(1, 1)
    highs.push(slot)
  }
  return { highest: priceIn(highs[0]), memory: { [key]: highs.map(textOf).join(',') } }
}

function isAbove(high: High | undefined, price: Ratio): boolean {
  const known = priceIn(high)
  return known !== undefined && compareRatio(known, price) > 0
}

/** NaN without a high. */
function secondsOf(high: High = ''): number {
  return typeof high === 'string' ? Number.parseInt(high, 10) : high.nowSeconds
}

function priceIn(high: High = ''): Ratio | undefined {
  return typeof high === 'string' ? ratioOfText(high.slice(high.indexOf('@') + 1)) : high.price
}

function textOf(high: High): string {
  return typeof high === 'string' ? high : `${high.nowSeconds}@${ratioText(high.price)}`
}

/** Keyed by pair, so that highs from before a change of the file's tokens do not count. */
function keyOf({ sell, buy }: DcaStrategy): string {
  return `highs ${pairKey(sell.token, buy.token)}`
}
