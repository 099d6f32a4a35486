import { amountText } from '../../domain/money/amount-text.ts'
import { brokenBound } from '../../domain/money/price.ts'
import { shownToken } from '../../domain/money/token.ts'
import {
  type BaseUnits,
  BPS,
  baseUnits,
  compareRatio,
  maxOf,
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
import { none, type SlotInputs, type StrategyKind } from '../kind.ts'

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
    const { highest } = highsOf({ ...strategy, dips }, view, price)
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
    // On a dip's watch, every slot remembers its price.
    if (strategy.dips.length > 0) return undefined
    const { sell, buy, price } = strategy
    const answer = tradePrice(strategy, view)
    if (!answer.ok) return undefined
    const pair = { sell: sell.token, buy: buy.token }
    if (reason === 'price-outside-bounds') {
      const isLow = brokenBound(answer.price.ratio, price)?.bound === 'min'
      const [low = NOUGHT, high] = isLow ? [undefined, price.min] : [price.max, undefined]
      return { bands: [{ ...pair, low, high }], needsBalances: false }
    }
    const least = leastShort(strategy, view, reason)
    if (least === undefined) return undefined
    const { min = least, max: high } = price
    const low = compareRatio(min, least) > 0 ? min : least
    return { bands: [{ ...pair, low, high }], needsBalances: true }
  },
}

const NOUGHT: Ratio = { num: 0n, den: 1n }

/** Price above which an order within bounds stays skipped for this reason; undefined if no price is known. */
function leastShort(strategy: DcaStrategy, view: MarketView, reason: SkipReason) {
  const { size, sell } = strategy
  const isShort = reason === 'insufficient-balance'
  if (size.side === 'sell') return isShort || isLimitReason(reason) ? NOUGHT : undefined
  const free = availableOf(view, sell)
  if (!isShort || free === undefined) return undefined
  // The inverse of `mostToSell`, whose rounding up only raises it.
  return { num: maxOf(0n, free) * BPS, den: size.amount * (BPS + marginBps(strategy)) }
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
  const highs = strategy.dips.length === 0 ? undefined : highsOf(strategy, view, ratio)
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

/**
 * The highest price of the window, and the memory of the prices that were not reached again since: `<seconds>@<ratio>`, with
 * commas between. Times rise and prices fall along that text, so only its ends are read: the rest of 64 highs would take
 * longer than all else of a decision.
 */
function highsOf(
  strategy: DcaStrategy,
  view: Pick<MarketView, 'nowSeconds' | 'memory'>,
  price: Ratio,
): { readonly highest: Ratio; readonly memory: StrategyMemory } {
  const key = keyOf(strategy)
  const oldest = view.nowSeconds - strategy.dipWindowMs / 1000
  const own = `${view.nowSeconds}@${ratioText(price)}`
  let highs = view.memory[key] ?? ''
  while (highs !== '' && Number.parseInt(highs, 10) < oldest) highs = withoutFirst(highs)
  while (highs !== '' && !isAbove(highs.slice(highs.lastIndexOf(',') + 1), price))
    highs = highs.slice(0, Math.max(0, highs.lastIndexOf(',')))
  const [first] = highs.split(',', 1)
  const highest = priceIn(first)
  if (first === undefined || highest === undefined)
    return { highest: price, memory: { [key]: own } }
  if (countOf(highs) >= HIGHS_MAX) highs = `${first},${withoutFirst(withoutFirst(highs))}`
  return { highest, memory: { [key]: `${highs},${own}` } }
}

function withoutFirst(highs: string): string {
  const at = highs.indexOf(',')
  return at < 0 ? '' : highs.slice(at + 1)
}

function countOf(highs: string): number {
  let count = 1
  for (let at = highs.indexOf(','); at >= 0; at = highs.indexOf(',', at + 1)) count += 1
  return count
}

function isAbove(high: string, price: Ratio): boolean {
  const known = priceIn(high)
  return known !== undefined && compareRatio(known, price) > 0
}

function priceIn(high: string | undefined): Ratio | undefined {
  return ratioOfText(high?.slice(high.indexOf('@') + 1))
}

/** Keyed by pair, so that highs from before a change of the file's tokens do not count. */
function keyOf({ sell, buy }: DcaStrategy): string {
  return `highs ${pairKey(sell.token, buy.token)}`
}
