import type { StrategyMemory } from '../domain/memory.ts'
import type { Strategy } from '../domain/strategy.ts'
import type { Asset, Token } from '../domain/token.ts'
import { BPS, formatAmount, mulDivDown } from '../domain/units.ts'
import { availableOf, type MarketView, priceOf } from './decision.ts'

/** What the drawdown limit makes of a slot. */
export type Drawdown =
  /** `memory` holds the highest value so far; it is kept beside whatever the strategy itself remembers. */
  | { readonly tag: 'within'; readonly memory: StrategyMemory }
  | { readonly tag: 'tripped'; readonly detail: string }

const PEAK = 'drawdown.peak'
const SINCE = 'drawdown.since'

/**
 * Compares the value of what a strategy holds with its highest at any slot since it was last resumed. Tokens moved out of
 * the wallet count as a fall, for nobody can tell them from a loss. Without a price nothing is concluded.
 */
export function drawdownOf(
  strategy: Strategy,
  view: MarketView,
  resumedAtMs: number | undefined,
): Drawdown {
  const { drawdownBps } = strategy.limits
  const portfolio = portfolioOf(strategy)
  if (drawdownBps === undefined || portfolio === undefined) return { tag: 'within', memory: {} }
  const since = `${resumedAtMs ?? 0}`
  const known = view.memory[SINCE] === since ? view.memory[PEAK] : undefined
  const before = known === undefined ? 0n : BigInt(known)
  const value = worthOf(portfolio, view)
  if (value === undefined) return { tag: 'within', memory: keeping(known, since) }
  const peak = value > before ? value : before
  if (value * BPS > peak * (BPS - BigInt(drawdownBps)) || peak === 0n)
    return { tag: 'within', memory: keeping(peak.toString(), since) }
  const { quote } = portfolio
  const text = (amount: bigint): string => `${formatAmount(amount, quote.decimals)} ${quote.symbol}`
  const fall = formatAmount(((peak - value) * BPS) / peak, 2)
  const detail = `its tokens are worth ${text(value)}, ${fall}% below the highest, ${text(peak)}; limits.drawdown is ${drawdownBps / 100}%`
  return { tag: 'tripped', detail }
}

function keeping(peak: string | undefined, since: string): StrategyMemory {
  return peak === undefined ? {} : { [PEAK]: peak, [SINCE]: since }
}

type Portfolio = { readonly quote: Token; readonly assets: readonly Asset[] }

/** What counts as the strategy's own, and the token that it is valued in. */
function portfolioOf(strategy: Strategy): Portfolio | undefined {
  switch (strategy.kind) {
    case 'rebalance': {
      const assets = strategy.targets.map(({ token }) => ({ token, native: false }))
      return { quote: strategy.quote, assets }
    }
    case 'threshold':
      return { quote: strategy.watch.quote, assets: [strategy.sell, strategy.buy] }
    default:
      return undefined
  }
}

function worthOf({ quote, assets }: Portfolio, view: MarketView): bigint | undefined {
  let value = 0n
  for (const asset of assets) {
    const held = availableOf(view, asset)
    if (held <= 0n) continue
    if (asset.token.address === quote.address) {
      value += held
      continue
    }
    const price = priceOf(view, quote, asset.token)
    if (!price.ok) return undefined
    value += mulDivDown(held, price.price.ratio.num, price.price.ratio.den)
  }
  return value
}
