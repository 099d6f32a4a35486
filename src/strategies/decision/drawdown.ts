import { amountText } from '../../domain/money/amount-text.ts'
import { type Asset, shownToken, type Token } from '../../domain/money/token.ts'
import { BPS, formatAmount, maxOf, mulDivDown, PAR, type Ratio } from '../../domain/money/units.ts'
import type { TokenPair } from '../../domain/strategy.ts'
import { NO_MEMORY, type StrategyMemory } from '../../domain/strategy-memory.ts'
import type { Portfolio, PriceBand } from '../kind.ts'
import { kindOf, type Strategy } from '../registry.ts'
import { assetKey, type MarketView, priceOf } from './decision.ts'

export type Drawdown =
  /** `memory` holds the highest value so far, beside the strategy's own memory. */
  | { readonly tag: 'within'; readonly memory: StrategyMemory }
  | { readonly tag: 'tripped'; readonly detail: string }
  /** A balance was not read. */
  | { readonly tag: 'unreadable'; readonly asset: Asset }

const PEAK = 'drawdown.peak'
const SINCE = 'drawdown.since'

/**
 * Compares the value of a strategy's tokens with its highest value at any slot since the strategy was last resumed or its
 * tokens changed. Tokens moved out of the wallet count as a loss. Without a price the limit never trips.
 */
export function drawdownOf(
  strategy: Strategy,
  view: MarketView,
  resumedAtMs: number | undefined,
): Drawdown {
  const { drawdownBps } = strategy.limits
  const portfolio = kindOf(strategy).portfolio?.(strategy)
  if (drawdownBps === undefined || portfolio === undefined)
    return { tag: 'within', memory: NO_MEMORY }
  const asset = portfolio.assets.find((each) => !view.held.has(assetKey(each)))
  if (asset !== undefined) return { tag: 'unreadable', asset }
  const since = sinceText(portfolio, resumedAtMs)
  const known = view.memory[SINCE] === since ? view.memory[PEAK] : undefined
  const before = known === undefined ? 0n : BigInt(known)
  const value = worthOf(portfolio, view)
  if (value === undefined) return { tag: 'within', memory: keeping(known, since) }
  const peak = maxOf(value, before)
  if (value * BPS > peak * (BPS - BigInt(drawdownBps)) || peak === 0n)
    return { tag: 'within', memory: keeping(peak.toString(), since) }
  const { quote } = portfolio
  const text = (amount: bigint): string => amountText(amount, quote)
  const fall = formatAmount(((peak - value) * BPS) / peak, 2)
  const detail = `its tokens are worth ${text(value)}, ${fall}% below the highest, ${text(peak)}; limits.drawdown is ${drawdownBps / 100}%`
  return { tag: 'tripped', detail }
}

/** Rounding error of a value summed by token, base units. */
const ROUNDED_UNITS = 3n

/**
 * Prices of a pair between which the value neither trips the limit nor reaches a new high; undefined if this pair's price
 * alone does not decide that.
 */
export function drawdownBand(
  strategy: Strategy,
  { sell: quote, buy: base }: TokenPair,
  view: MarketView,
): PriceBand | undefined {
  const { drawdownBps } = strategy.limits
  if (drawdownBps === undefined) return ANY_PRICE
  const peak = view.memory[PEAK]
  if (peak === undefined) return undefined
  let bases = 0n
  let quotes = 0n
  for (const { token, native } of kindOf(strategy).portfolio?.(strategy).assets ?? []) {
    // The native coin is held under another key.
    if (native) return undefined
    const held = view.held.get(token.address) ?? 0n
    if (token.address === base.address) bases += held
    else if (token.address === quote.address) quotes += held
    else return undefined
  }
  if (bases <= 0n) return ANY_PRICE
  const trips = BigInt(peak) * (BPS - BigInt(drawdownBps))
  return {
    low: { num: trips + (ROUNDED_UNITS - quotes) * BPS, den: bases * BPS },
    high: { num: BigInt(peak) - ROUNDED_UNITS - quotes, den: bases },
  }
}

const ANY_PRICE: PriceBand = { low: { num: 0n, den: 1n }, high: undefined }

function keeping(peak: string | undefined, since: string): StrategyMemory {
  return peak === undefined ? {} : { [PEAK]: peak, [SINCE]: since }
}

/** Identifies a peak by tokens, quote and time of resumption. */
function sinceText({ quote, assets }: Portfolio, resumedAtMs: number | undefined): string {
  const symbols = assets.map((asset) => shownToken(asset).symbol)
  return `${resumedAtMs ?? 0} ${symbols.join('+')} in ${quote.symbol}`
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

/** Quote base units per base unit of an asset, directly or through another asset of the strategy. */
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

/** A view has each pair in one direction only. */
function ratioOf(view: MarketView, sell: Token, buy: Token): Ratio | undefined {
  if (sell.address === buy.address) return PAR
  const direct = priceOf(view, sell, buy)
  if (direct.ok) return direct.price.ratio
  const back = priceOf(view, buy, sell)
  if (!back.ok || back.price.ratio.num === 0n) return undefined
  return { num: back.price.ratio.den, den: back.price.ratio.num }
}
