import type { Market, Pair } from '../market/market.ts'

/** What a caller asks for, in the sandbox's own words. */
export type Preference = 'auto' | 'preferOwn' | 'onlyOwn'

/** Two sides of one trade, and how much of it the own pool takes. */
export type Route = {
  readonly sellAmount: bigint
  readonly buyAmount: bigint
  readonly ownSellAmount: bigint
  readonly ownBuyAmount: bigint
}

/** Splits are tried in eighths. */
const SPLITS = 8n
/** `preferOwn` takes the own pool when it is at most this much worse than the best route. */
const COMPETITIVE_BPS = 10n
const BPS = 10_000n

/** Best route for an exact input; undefined if the allowed venues are too shallow. */
export function routeExactInput(
  market: Market,
  pair: Pair,
  request: { sellAmount: bigint; preference: Preference },
): Route | undefined {
  const { sellAmount, preference } = request
  const withOwnShare = (ownSell: bigint): Route | undefined => {
    const own = ownSell === 0n ? 0n : market.buyAmount('own', pair, ownSell)
    const rest = sellAmount - ownSell
    const external = rest === 0n ? 0n : market.buyAmount('external', pair, rest)
    if (own === undefined || external === undefined) return undefined
    return { sellAmount, buyAmount: own + external, ownSellAmount: ownSell, ownBuyAmount: own }
  }
  return choose(preference, candidates(sellAmount, preference, withOwnShare), {
    better: (a, b) => a.buyAmount > b.buyAmount,
    competitive: (own, best) => own.buyAmount * BPS >= best.buyAmount * (BPS - COMPETITIVE_BPS),
  })
}

/** Best route for an exact output; undefined if the allowed venues are too shallow. */
export function routeExactOutput(
  market: Market,
  pair: Pair,
  request: { buyAmount: bigint; preference: Preference },
): Route | undefined {
  const { buyAmount, preference } = request
  const withOwnShare = (ownBuy: bigint): Route | undefined => {
    const own = ownBuy === 0n ? 0n : market.sellAmount('own', pair, ownBuy)
    const rest = buyAmount - ownBuy
    const external = rest === 0n ? 0n : market.sellAmount('external', pair, rest)
    if (own === undefined || external === undefined) return undefined
    return { sellAmount: own + external, buyAmount, ownSellAmount: own, ownBuyAmount: ownBuy }
  }
  return choose(preference, candidates(buyAmount, preference, withOwnShare), {
    better: (a, b) => a.sellAmount < b.sellAmount,
    competitive: (own, best) => own.sellAmount * BPS <= best.sellAmount * (BPS + COMPETITIVE_BPS),
  })
}

type Candidates = { readonly own: Route | undefined; readonly mixed: readonly Route[] }

function candidates(
  amount: bigint,
  preference: Preference,
  withOwnShare: (ownAmount: bigint) => Route | undefined,
): Candidates {
  const own = withOwnShare(amount)
  if (preference === 'onlyOwn') return { own, mixed: [] }
  const mixed: Route[] = []
  for (let eighths = 0n; eighths < SPLITS; eighths += 1n) {
    const route = withOwnShare((amount * eighths) / SPLITS)
    if (route !== undefined) mixed.push(route)
  }
  return { own, mixed }
}

function choose(
  preference: Preference,
  { own, mixed }: Candidates,
  compare: {
    better: (a: Route, b: Route) => boolean
    competitive: (own: Route, best: Route) => boolean
  },
): Route | undefined {
  const all = own === undefined ? mixed : [own, ...mixed]
  const [first, ...others] = all
  if (first === undefined) return undefined
  const best = others.reduce((a, b) => (compare.better(b, a) ? b : a), first)
  if (preference === 'preferOwn' && own !== undefined && compare.competitive(own, best)) return own
  return best
}
