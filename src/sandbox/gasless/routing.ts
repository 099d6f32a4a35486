import { BPS } from '../../domain/money/units.ts'
import type { Liquidity, Market, Pair } from '../market/market.ts'

/** The requested routing, in the sandbox's own words. */
export type Preference = 'auto' | 'preferOwn' | 'onlyOwn'

/** Both sides of a trade, and the own pool's part of each. */
export type Route = {
  readonly sellAmount: bigint
  readonly buyAmount: bigint
  readonly ownSellAmount: bigint
  readonly ownBuyAmount: bigint
}

/** Routes split an amount between the venues in eighths. */
const SPLITS = 8
/** `preferOwn` chooses the own pool if it is at most this much worse than the best route, in basis points. */
const COMPETITIVE_BPS = 10n

/** Best route for an exact `amount` to sell or to buy; undefined if the allowed venues are too shallow. */
export function bestRoute(
  market: Market,
  pair: Pair,
  wanted: {
    readonly kind: 'sell' | 'buy'
    readonly amount: bigint
    readonly preference: Preference
  },
): Route | undefined {
  const { kind, amount, preference } = wanted
  const own = routeWith(market, pair, { ...wanted, ownAmount: amount })
  if (preference === 'onlyOwn') return own
  const split = Array.from(
    { length: SPLITS },
    (_, eighths) => (amount * BigInt(eighths)) / BigInt(SPLITS),
  )
  const mixed = split.map((ownAmount) => routeWith(market, pair, { ...wanted, ownAmount }))
  const [first, ...others] = [own, ...mixed].filter((route) => route !== undefined)
  if (first === undefined) return undefined
  const isBetter = (a: Route, b: Route): boolean =>
    kind === 'sell' ? a.buyAmount > b.buyAmount : a.sellAmount < b.sellAmount
  const best = others.reduce((a, b) => (isBetter(b, a) ? b : a), first)
  if (preference !== 'preferOwn' || own === undefined) return best
  const isCompetitive =
    kind === 'sell'
      ? own.buyAmount * BPS >= best.buyAmount * (BPS - COMPETITIVE_BPS)
      : own.sellAmount * BPS <= best.sellAmount * (BPS + COMPETITIVE_BPS)
  return isCompetitive ? own : best
}

/** The route that takes `ownAmount` of the exact side from the own pool. */
function routeWith(
  market: Market,
  pair: Pair,
  { kind, amount, ownAmount }: { kind: 'sell' | 'buy'; amount: bigint; ownAmount: bigint },
): Route | undefined {
  const otherSide = (from: Liquidity, part: bigint): bigint | undefined => {
    if (part === 0n) return 0n
    return kind === 'sell'
      ? market.buyAmount(from, pair, part)
      : market.sellAmount(from, pair, part)
  }
  const ownOther = otherSide('own', ownAmount)
  const external = otherSide('external', amount - ownAmount)
  if (ownOther === undefined || external === undefined) return undefined
  const other = ownOther + external
  return kind === 'sell'
    ? { sellAmount: amount, buyAmount: other, ownSellAmount: ownAmount, ownBuyAmount: ownOther }
    : { sellAmount: other, buyAmount: amount, ownSellAmount: ownOther, ownBuyAmount: ownAmount }
}
