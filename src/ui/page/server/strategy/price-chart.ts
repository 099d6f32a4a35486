import type { Token } from '../../../../domain/money/token.ts'
import type { Ratio } from '../../../../domain/money/units.ts'
import type { Settings } from '../../../../domain/settings.ts'
import type { TokenPair } from '../../../../domain/strategy.ts'
import { purchaseOf } from '../../../../journal/projections/purchases.ts'
import type { DaemonState } from '../../../../journal/state/daemon-state.ts'
import { isBounded } from '../../../../strategies/decision/plausibility.ts'
import type { Marks } from '../../../../strategies/kind.ts'
import { kindOf, pairsOf, type Strategy } from '../../../../strategies/registry.ts'
import type { FillRow, PriceChart } from '../../model.ts'
import type { ObservedPortfolio, ObservedPrices } from '../observations.ts'
import type { ChartPair, PricePoints } from './past-search.ts'

const PAIRS_MAX = 12

/** The pairs of a strategy, its own first, each as its feed counts it. */
export function chartPairs(
  strategy: Strategy | undefined,
  prices: Settings['prices'],
): readonly ChartPair[] {
  const pairs = new Map<string, ChartPair>()
  for (const { sell, buy } of strategy === undefined ? [] : pairsOf(strategy)) {
    const isInverse = prices.has(`${sell.symbol}/${buy.symbol}`)
    const pair = isInverse ? { base: sell, quote: buy } : { base: buy, quote: sell }
    const isKnown = pairs.has(nameOf({ base: pair.quote, quote: pair.base }))
    if (!isKnown && pairs.size < PAIRS_MAX) pairs.set(nameOf(pair), pair)
  }
  return [...pairs.values()]
}

export function nameOf({ base, quote }: ChartPair): string {
  return `${base.symbol}/${quote.symbol}`
}

export type ChartParts = {
  readonly strategy: Strategy
  readonly state: DaemonState
  readonly pairs: readonly ChartPair[]
  readonly pair: ChartPair
  readonly points: PricePoints
  readonly whole: boolean
  readonly fills: readonly FillRow[]
  readonly observed: readonly ObservedPrices[]
  readonly portfolio: ObservedPortfolio | undefined
  readonly nowMs: number
}

export function priceChart(parts: ChartParts): PriceChart {
  const { pair, pairs, points, whole, fills, observed } = parts
  for (const { atSeconds, prices } of observed) {
    const [base, quote] = [prices.get(pair.base.address), prices.get(pair.quote.address)]
    if (base !== undefined && quote !== undefined)
      points.add(atSeconds * 1000, { num: base.num * quote.den, den: base.den * quote.num })
  }
  const { all } = points
  const last = all.at(-1)?.price
  const marks = marksOf(parts, last)
  const levels = levelsOf(parts, marks, last && priceNumber(last, pair))
  return {
    pair: nameOf(pair),
    pairs: pairs.map(nameOf),
    atSeconds: all.map(({ atMs }) => Math.floor(atMs / 1000)),
    prices: all.map(({ price }) => priceNumber(price, pair)),
    whole,
    fills,
    levels,
    next: nearest(levels),
    weights: weightsOf(marks, parts.portfolio),
  }
}

function priceNumber({ num, den }: Ratio, { base, quote }: ChartPair): number {
  return (Number(num) / Number(den)) * 10 ** (base.decimals - quote.decimals)
}

function marksOf(
  { strategy, state, pair, nowMs }: ChartParts,
  last: Ratio | undefined,
): Marks | undefined {
  const [own] = pairsOf(strategy)
  const side = own && sideOf(own, pair)
  const entry = kindOf(strategy).entry(strategy)
  return kindOf(strategy).marks(strategy, {
    price: side === 'inverse' && last ? { num: last.den, den: last.num } : side && last,
    nowSeconds: Math.floor(nowMs / 1000),
    memory: state.strategies.get(strategy.name)?.memory ?? {},
    entry: entry && purchaseOf(state, entry.of, entry),
  })
}

/** How the chart counts the price of a pair; undefined for another pair's chart. */
function sideOf({ sell, buy }: TokenPair, { base, quote }: ChartPair) {
  const is = (one: Token, other: Token): boolean => one.address === other.address
  if (is(sell, quote) && is(buy, base)) return 'same'
  return is(sell, base) && is(buy, quote) ? 'inverse' : undefined
}

type Level = PriceChart['levels'][number]

function levelsOf(
  { strategy, pair }: ChartParts,
  marks: Marks | undefined,
  now: number | undefined,
): readonly Level[] {
  function levelAt(of: TokenPair | undefined, ratio: Ratio, named: Pick<Level, 'name' | 'kind'>) {
    const side = of && sideOf(of, pair)
    if (side === undefined || ratio.num === 0n || ratio.den === 0n) return []
    const { num, den } = ratio
    const price = priceNumber(side === 'same' ? ratio : { num: den, den: num }, pair)
    return [{ ...named, price, awayPercent: now === undefined ? null : (price / now - 1) * 100 }]
  }
  const [own] = pairsOf(strategy)
  const levels = (marks?.levels ?? []).flatMap(({ name, level, trades }) =>
    levelAt(own, level, { name, kind: trades ? 'trade' : 'ready' }),
  )
  if (!isBounded(strategy)) return levels
  const traded = { sell: strategy.sell.token, buy: strategy.buy.token }
  const bounds = (['min', 'max'] as const).flatMap((bound) => {
    const level = strategy.price[bound]
    return level === undefined
      ? []
      : levelAt(traded, level, { name: `price.${bound}`, kind: 'bound' })
  })
  return [...levels, ...bounds]
}

function nearest(levels: readonly Level[]): number | null {
  let best: number | null = null
  const away = (at: number): number => Math.abs(levels[at]?.awayPercent ?? Infinity)
  levels.forEach(({ kind, awayPercent }, at) => {
    if (kind === 'trade' && awayPercent !== null && (best === null || away(at) < away(best)))
      best = at
  })
  return best
}

function weightsOf(
  marks: Marks | undefined,
  portfolio: ObservedPortfolio | undefined,
): PriceChart['weights'] {
  const weights = marks?.weights ?? []
  const worth = (token: Token): bigint | undefined =>
    portfolio?.holdings.find((held) => held.token === token.symbol)?.value
  const values = weights.map(({ token }) => worth(token))
  const total = values.reduce<bigint>((sum, value) => sum + (value ?? 0n), 0n)
  const isKnown = total > 0n && !values.includes(undefined)
  return weights.map(({ token, weightBps, bandBps }, at) => ({
    token: token.symbol,
    target: weightBps / 100,
    band: bandBps / 100,
    now: isKnown ? Number(((values[at] ?? 0n) * 10_000n) / total) / 100 : null,
  }))
}
