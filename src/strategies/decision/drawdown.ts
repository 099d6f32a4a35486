import type { StrategyMemory } from '../domain/book/memory.ts'
import type { Strategy } from '../domain/strategy.ts'
import type { Asset, Token } from '../domain/token.ts'
import { BPS, formatAmount, mulDivDown, type Ratio } from '../domain/units.ts'
import { assetKey, type MarketView, priceOf } from './decision.ts'

/** What the drawdown limit makes of a slot. */
export type Drawdown =
  /** `memory` holds the highest value so far; it is kept beside whatever the strategy itself remembers. */
  | { readonly tag: 'within'; readonly memory: StrategyMemory }
  | { readonly tag: 'tripped'; readonly detail: string }
  /** One of its balances was not read: what the others are worth says nothing. */
  | { readonly tag: 'unreadable'; readonly asset: Asset }

const PEAK = 'drawdown.peak'
const SINCE = 'drawdown.since'

/**
 * Compares the value of what is free of a strategy's tokens with its highest at any slot since it was last resumed, or
 * since its tokens were others. Tokens moved out of the wallet count as a fall, for nobody can tell them from a loss.
 * Without a price nothing is concluded.
 */
export function drawdownOf(
  strategy: Strategy,
  view: MarketView,
  resumedAtMs: number | undefined,
): Drawdown {
  const { drawdownBps } = strategy.limits
  const portfolio = portfolioOf(strategy)
  if (drawdownBps === undefined || portfolio === undefined) return { tag: 'within', memory: {} }
  const asset = portfolio.assets.find((each) => !view.held.has(assetKey(each)))
  if (asset !== undefined) return { tag: 'unreadable', asset }
  const since = sinceText(portfolio, resumedAtMs)
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

/** The highest value that is remembered, in base units of what it is valued in; undefined where there is none. */
export function peakIn(memory: StrategyMemory): bigint | undefined {
  const peak = memory[PEAK]
  return peak === undefined ? undefined : BigInt(peak)
}

function keeping(peak: string | undefined, since: string): StrategyMemory {
  return peak === undefined ? {} : { [PEAK]: peak, [SINCE]: since }
}

/** Peaks of other tokens, or in another one, say nothing of this portfolio. */
function sinceText({ quote, assets }: Portfolio, resumedAtMs: number | undefined): string {
  const symbols = assets.map(({ token, native }) => (native ? 'ETH' : token.symbol))
  return `${resumedAtMs ?? 0} ${symbols.join('+')} in ${quote.symbol}`
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
    const held = view.held.get(assetKey(asset)) ?? 0n
    if (held <= 0n) continue
    const price = quotePrice(asset, { quote, assets }, view)
    if (price === undefined) return undefined
    value += mulDivDown(held, price.num, price.den)
  }
  return value
}

/** Quote base units per base unit of an asset: as told, or by way of what the strategy trades it for. */
function quotePrice(
  { token }: Asset,
  { quote, assets }: Portfolio,
  view: MarketView,
): Ratio | undefined {
  const direct = ratioOf(view, quote, token)
  if (direct !== undefined) return direct
  for (const { token: other } of assets) {
    const first = ratioOf(view, quote, other)
    const second = ratioOf(view, other, token)
    if (first !== undefined && second !== undefined)
      return { num: first.num * second.num, den: first.den * second.den }
  }
  return undefined
}

/** A strategy is told the price of each pair in one direction only. */
function ratioOf(view: MarketView, sell: Token, buy: Token): Ratio | undefined {
  if (sell.address === buy.address) return { num: 1n, den: 1n }
  const told = priceOf(view, sell, buy)
  if (told.ok) return told.price.ratio
  const back = priceOf(view, buy, sell)
  if (!back.ok || back.price.ratio.num === 0n) return undefined
  return { num: back.price.ratio.den, den: back.price.ratio.num }
}
