import { quotedText } from '../../domain/money/amount-text.ts'
import type { Token } from '../../domain/money/token.ts'
import { compareRatio, type Ratio } from '../../domain/money/units.ts'
import type { TradeBase } from '../../domain/strategy.ts'
import type { Level, TriggerView } from '../kind.ts'
import { kindOf, type Strategy } from '../registry.ts'
import { priceOf } from './decision.ts'

/** A bound further from the price than this is probably a mistake. */
const FAR_TIMES = 10n

export type Implausible = ReturnType<typeof implausibleIn>

/** A price of the file with its feed's price, `quote` per `base` in base units. */
type Bound = Level & { readonly price: Ratio; readonly base: Token; readonly quote: Token }

/** A strategy whose file may have levels or price bounds. */
type BoundedStrategy = Extract<Strategy, TradeBase>

export function isBounded(strategy: Strategy): strategy is BoundedStrategy {
  if (!('price' in strategy)) return false
  const { min, max } = strategy.price
  return kindOf(strategy).trigger !== undefined || min !== undefined || max !== undefined
}

/** Prices of a strategy's file that look like mistakes at the feeds' prices, one sentence each. */
export function implausibleIn(strategy: BoundedStrategy, view: TriggerView) {
  const rungs = levelBounds(strategy, view)
  const bounds = tradeBounds(strategy, view)
  const known = [...(rungs ?? []), ...(bounds ?? [])]
  const fires = known.filter((each) => each.fires)
  const far = known.filter((each) => !each.fires && farSide(each) !== undefined)
  return {
    /** Rungs that would trade at once. */
    fires: fires.map(textOf),
    /** Other bounds far from the price. */
    far: far.map(textOf),
    /** True if a price is unknown, so that some bounds were not compared. */
    isPartial: rungs === undefined || bounds === undefined,
  }
}

/** Undefined if the price is unknown. */
function levelBounds(strategy: BoundedStrategy, view: TriggerView): readonly Bound[] | undefined {
  const { trigger } = kindOf(strategy)
  if (trigger === undefined) return []
  const { base, quote } = trigger.watch(strategy)
  const answer = priceOf(view, quote, base)
  if (!answer.ok) return undefined
  const price = answer.price.ratio
  return trigger.levels(strategy, price, view).map((level) => ({ ...level, price, base, quote }))
}

/** Undefined if the price is unknown, unless the file declares a pair without a feed. */
function tradeBounds(strategy: BoundedStrategy, view: TriggerView): readonly Bound[] | undefined {
  const { sell, buy, price: bounds, priceCheck } = strategy
  const given = (['min', 'max'] as const).flatMap((name) => {
    const level = bounds[name]
    return level === undefined ? [] : [{ name: `price.${name}`, level }]
  })
  if (given.length === 0) return []
  const answer = priceOf(view, sell.token, buy.token)
  if (!answer.ok) return priceCheck === 'feed' ? undefined : []
  const price = answer.price.ratio
  const sides = { base: buy.token, quote: sell.token }
  return given.map(({ name, level }) => {
    const shown = quotedText(level, sides)
    return { name: `${name} ${shown}`, level, fires: false, price, ...sides }
  })
}

function farSide({ level, price }: Bound): 'above' | 'below' | undefined {
  if (level === undefined) return undefined
  if (compareRatio(level, timesTen(price)) > 0) return 'above'
  return compareRatio(timesTen(level), price) < 0 ? 'below' : undefined
}

function timesTen({ num, den }: Ratio): Ratio {
  return { num: num * FAR_TIMES, den }
}

function textOf(bound: Bound): string {
  const { name, fires, price, base, quote } = bound
  const side = farSide(bound)
  const says = [
    ...(fires ? ['fires at once'] : []),
    ...(side === undefined ? [] : [`lies more than tenfold ${side} the price`]),
  ]
  const here = `${base.symbol}/${quote.symbol} is ${quotedText(price, { base, quote })}`
  return `${name} ${says.join(' and ')}: ${here}${isInverted(bound) ? otherWayText(bound) : ''}`
}

/** True if a level far from the price is near the price of the inverse pair. */
function isInverted(bound: Bound): boolean {
  const { level, price, base, quote } = bound
  if (level === undefined || farSide(bound) === undefined) return false
  const unit = (token: Token): bigint => 10n ** BigInt(token.decimals)
  const scale = { num: unit(base) ** 2n, den: unit(quote) ** 2n }
  const num = level.num * price.num * scale.num
  const den = level.den * price.den * scale.den
  return num <= den * FAR_TIMES && den <= num * FAR_TIMES
}

function otherWayText({ price, base, quote }: Bound): string {
  const inverse = { num: price.den, den: price.num }
  const shown = quotedText(inverse, { base: quote, quote: base })
  return `; the other way round, ${quote.symbol}/${base.symbol} is ${shown}`
}
