import { quotedText } from '../domain/amount-text.ts'
import type { Strategy, SwapStrategy, ThresholdStrategy } from '../domain/strategy.ts'
import type { Token } from '../domain/token.ts'
import { compareRatio, type Ratio } from '../domain/units.ts'
import { type MarketView, priceOf } from './decision.ts'
import { watchRungs } from './rungs.ts'

/** A bound further from the price than this, either way, is most likely a mistake. */
const FAR_TIMES = 10n

/** What a file says of the price that looks like a mistake by the price of now. */
export type Implausible = {
  /** A sentence each, with the price and the bound: rungs that would trade at once. */
  readonly fires: readonly string[]
  /** The same: bounds far off the price that would not. */
  readonly far: readonly string[]
  /** A price that the file goes by is not known, so that not everything was compared. */
  readonly isPartial: boolean
}

/** A price of the file beside that of its feed: of whole `quote` per whole `base`, in base units. */
type Bound = {
  readonly name: string
  /** Undefined of a rung without a level of its own. */
  readonly level: Ratio | undefined
  readonly fires: boolean
  readonly price: Ratio
  readonly base: Token
  readonly quote: Token
}

type PriceView = Pick<MarketView, 'prices' | 'memory' | 'entry'>

/** A strategy whose file may name prices: levels, or bounds of what it pays. */
export type BoundedStrategy = Extract<SwapStrategy, { readonly price: unknown }>

/** Whether a strategy's file names any price. */
export function isBounded(strategy: Strategy): strategy is BoundedStrategy {
  if (!('price' in strategy)) return false
  const { min, max } = strategy.price
  return strategy.kind === 'threshold' || min !== undefined || max !== undefined
}

/** Holds every price of a strategy's file against the feeds. What has no known price is not judged. */
export function implausibleIn(strategy: BoundedStrategy, view: PriceView): Implausible {
  const rungs = strategy.kind === 'threshold' ? rungBounds(strategy, view) : []
  const bounds = tradeBounds(strategy, view)
  const known = [...(rungs ?? []), ...(bounds ?? [])]
  const fires = known.filter((each) => each.fires)
  const far = known.filter((each) => !each.fires && farSide(each) !== undefined)
  return {
    fires: fires.map(textOf),
    far: far.map(textOf),
    isPartial: rungs === undefined || bounds === undefined,
  }
}

/** Undefined where the price is not known. */
function rungBounds(strategy: ThresholdStrategy, view: PriceView): readonly Bound[] | undefined {
  const { base, quote } = strategy.watch
  const answer = priceOf(view, quote, base)
  if (!answer.ok) return undefined
  const price = answer.price.ratio
  return watchRungs(strategy, price, view).map(({ rung: { id: name, trigger }, state }) => {
    const level = 'level' in trigger ? trigger.level : undefined
    return { name, level, fires: state === 'triggered', price, base, quote }
  })
}

/** Undefined where the price is not known, unless the file says that there is no feed. */
function tradeBounds(strategy: BoundedStrategy, view: PriceView): readonly Bound[] | undefined {
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

/** Whether a level far off would be near the price of the pair the other way round. */
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
