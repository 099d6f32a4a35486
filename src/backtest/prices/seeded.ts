import type { PriceFeed } from '../../domain/money/price.ts'
import { type PriceSeries, type Rounds, RoundsPacker } from '../../domain/money/price-series.ts'
import type { Token } from '../../domain/money/token.ts'
import { createRandom } from '../../domain/random.ts'

/** A random market. Each token walks against the same measure, so that pairs are consistent. */
type SeededMarket = {
  readonly seed: string
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly everySeconds: number
  /** Standard deviation of a year's log return; 0.6 is 60 %. */
  readonly volatility: number
  /** Log return of a year. */
  readonly drift: number
  /** First prices by symbol, in any common measure. Default: 1. */
  readonly start: ReadonlyMap<string, number>
  /** Symbols of tokens with a constant price. */
  readonly still: ReadonlySet<string>
}

const YEAR_SECONDS = 365.25 * 86_400
const DECIMALS = 8
const PIECE = 16_384

/** A random series. The same seed gives the same rounds, independent of other feeds. */
export function seededSeries(feed: PriceFeed, market: SeededMarket): PriceSeries {
  return {
    pair: feed.pair,
    decimals: DECIMALS,
    source: `a random market, seed ${market.seed}`,
    rounds: () => walk(feed, market),
  }
}

function* walk({ base, quote }: PriceFeed, market: SeededMarket): Generator<Rounds> {
  const packer = new RoundsPacker()
  const { fromSeconds, untilSeconds, everySeconds } = market
  const over = createWalk(base, market)
  const under = createWalk(quote, market)
  for (let at = fromSeconds; at <= untilSeconds; at += everySeconds) {
    const answer = Math.max(1, Math.round((over() / under()) * 10 ** DECIMALS))
    packer.add(at, BigInt(answer))
    if (packer.size >= PIECE) yield packer.take()
  }
  if (packer.size > 0) yield packer.take()
}

function createWalk({ symbol }: Token, market: SeededMarket): () => number {
  const { seed, volatility, drift, everySeconds, start, still } = market
  let price = start.get(symbol) ?? 1
  if (still.has(symbol)) return () => price
  const random = createRandom(`${seed}/price:${symbol}`)
  const years = everySeconds / YEAR_SECONDS
  const step = volatility * Math.sqrt(years)
  let isFirst = true
  return () => {
    if (!isFirst) price *= Math.exp(drift * years + step * normal(random.next(), random.next()))
    isFirst = false
    return price
  }
}

/** A normal deviate of two uniform ones (Box and Muller). */
function normal(one: number, other: number): number {
  return Math.sqrt(-2 * Math.log(1 - one)) * Math.cos(2 * Math.PI * other)
}
