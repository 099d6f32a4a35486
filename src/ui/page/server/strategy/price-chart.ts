import type { Token } from '../../../../domain/money/token.ts'
import type { Ratio } from '../../../../domain/money/units.ts'
import type { Settings } from '../../../../domain/settings.ts'
import type { TokenPair } from '../../../../domain/strategy.ts'
import { slotClosed, slotOpened } from '../../../../journal/events/strategy/slots.ts'
import { purchaseOf } from '../../../../journal/projections/purchases.ts'
import type { DaemonState } from '../../../../journal/state/daemon-state.ts'
import { decodeRecord } from '../../../../store/file/journal-codec.ts'
import {
  BackwardSearch,
  type JournalPlace,
  type RecordLine,
} from '../../../../store/file/journal-search.ts'
import { pairKey } from '../../../../strategies/decision/decision.ts'
import { isBounded } from '../../../../strategies/decision/plausibility.ts'
import type { Marks } from '../../../../strategies/kind.ts'
import { kindOf, pairsOf, type Strategy } from '../../../../strategies/registry.ts'
import type { FillRow, PriceChart } from '../../model.ts'
import type { FillOnRecord } from '../fill-rows.ts'
import { createFillSearch, FILES_MAX, SEARCH_MS_MAX } from '../fill-search.ts'
import type { ObservedPortfolio, ObservedPrices } from '../observations.ts'

const PAIRS_MAX = 12

/** The pairs of a strategy, its own first, each as its feed counts it. */
export function chartPairs(strategy: Strategy | undefined, prices: Settings['prices']) {
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

function marksOf({ strategy, state, pair, nowMs }: ChartParts, last: Ratio | undefined) {
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
  type Named = Pick<Level, 'name' | 'kind' | 'isReached'>
  function levelAt(of: TokenPair | undefined, ratio: Ratio, named: Named) {
    const side = of && sideOf(of, pair)
    if (side === undefined || ratio.num === 0n || ratio.den === 0n) return []
    const { num, den } = ratio
    const price = priceNumber(side === 'same' ? ratio : { num: den, den: num }, pair)
    return [{ ...named, price, awayPercent: now === undefined ? null : (price / now - 1) * 100 }]
  }
  const [own] = pairsOf(strategy)
  const levels = (marks?.levels ?? []).flatMap(({ name, level, trades, isReached }) =>
    levelAt(own, level, { name, kind: trades ? 'trade' : 'ready', isReached }),
  )
  if (!isBounded(strategy)) return levels
  const traded = { sell: strategy.sell.token, buy: strategy.buy.token }
  const bounds = (['min', 'max'] as const).flatMap((bound) => {
    const level = strategy.price[bound]
    return level === undefined
      ? []
      : levelAt(traded, level, { name: `price.${bound}`, kind: 'bound', isReached: false })
  })
  return [...levels, ...bounds]
}

function nearest(levels: readonly Level[]): number | null {
  let best: number | null = null
  const away = (at: number): number =>
    levels[at]?.isReached ? 0 : Math.abs(levels[at]?.awayPercent ?? Infinity)
  levels.forEach(({ kind, awayPercent }, at) => {
    if (kind === 'trade' && awayPercent !== null && (best === null || away(at) < away(best)))
      best = at
  })
  return best
}

function weightsOf(marks: Marks | undefined, portfolio: ObservedPortfolio | undefined) {
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

const FILLS_MAX = 500
/** Prices of a chart, evenly spread. */
const POINTS_MAX = 400

/** Price in base units of `quote` per base unit of `base`. */
export type ChartPair = { readonly base: Token; readonly quote: Token }

/** A period, epoch ms. */
export type Period = { readonly fromMs: number; readonly untilMs: number }

/** Prices over a period: of each stretch of it only the newest. */
export class PricePoints {
  readonly #points = new Map<number, { readonly atMs: number; readonly price: Ratio }>()
  readonly #period: Period

  constructor(period: Period) {
    this.#period = period
  }

  /** Whether a price of this time would be new. */
  lacks(atMs: number): boolean {
    const { fromMs } = this.#period
    return atMs >= fromMs && atMs > (this.#points.get(this.#placeOf(atMs))?.atMs ?? 0)
  }

  add(atMs: number, price: Ratio): void {
    if (this.lacks(atMs)) this.#points.set(this.#placeOf(atMs), { atMs, price })
  }

  /** Oldest first. */
  get all() {
    return [...this.#points.values()].sort((a, b) => a.atMs - b.atMs)
  }

  #placeOf(atMs: number): number {
    const { fromMs, untilMs } = this.#period
    return Math.floor(((atMs - fromMs) * POINTS_MAX) / Math.max(1, untilMs - fromMs))
  }
}

/**
 * Fills of a strategy, newest first, and prices of a pair as decisions of any strategy saw them. Searches backwards and stops
 * at the period's start, or at its bound of files and time.
 */
export async function searchPast(
  journal: JournalPlace,
  query: { readonly strategy: string; readonly pair: ChartPair | undefined } & Period,
): Promise<{
  readonly entries: readonly FillOnRecord[]
  readonly points: PricePoints
  readonly whole: boolean
}> {
  const { strategy, pair, fromMs } = query
  const search = new BackwardSearch({ ...journal, filesMax: FILES_MAX })
  const fills = createFillSearch({ limit: FILLS_MAX, before: undefined, strategy })
  const points = new PricePoints(query)
  const untilMs = performance.now() + SEARCH_MS_MAX
  let isReached = false
  for await (const { lines } of search.batches()) {
    fills.take(lines)
    if (pair !== undefined) addPrices(points, lines, pair)
    isReached = (lines.at(-1)?.atMs ?? fromMs) < fromMs
    if (isReached || performance.now() > untilMs) break
  }
  return {
    entries: fills.entries().filter(({ atMs }) => atMs >= fromMs),
    points,
    whole: (isReached || search.isWhole) && !fills.isFull(),
  }
}

function addPrices(points: PricePoints, lines: readonly RecordLine[], pair: ChartPair): void {
  for (const line of lines) {
    const price = points.lacks(line.atMs) ? priceIn(line, pair) : undefined
    if (price !== undefined) points.add(line.atMs, price)
  }
}

/** Checks the line's text first, so that few lines are parsed. */
function priceIn({ type, line }: RecordLine, { base, quote }: ChartPair) {
  if (!slotOpened.is({ type }) && !slotClosed.is({ type })) return undefined
  const [key, inverse] = [pairKey(quote, base), pairKey(base, quote)]
  if (!line.includes(`"${key}":`) && !line.includes(`"${inverse}":`)) return undefined
  const { event } = decodeRecord(line)
  const prices = slotOpened.is(event) || slotClosed.is(event) ? event.inputs?.prices : undefined
  const own = prices?.[key]
  if (own !== undefined && !('refused' in own)) return { num: own.num, den: own.den }
  const other = prices?.[inverse]
  if (other === undefined || 'refused' in other) return undefined
  return { num: other.den, den: other.num }
}
