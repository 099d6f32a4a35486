import type { PriceFeed } from '../../domain/price.ts'
import { createRandom } from '../../domain/random.ts'
import { type Rounds, RoundsPacker, type Tape } from '../../domain/tape.ts'
import type { Token } from '../../domain/token.ts'

/** A market that never was: each token a geometric random walk against the same measure, so that no two pairs contradict. */
export type SeededMarket = {
  readonly seed: string
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly everySeconds: number
  /** Standard deviation of a year's logarithm of the price; 0.6 is 60 %. Tokens of par stand still. */
  readonly volatility: number
  /** What the logarithm of the price gains in a year. */
  readonly drift: number
  /** Prices to begin with, by symbol, in whatever measure; 1 where none is given. */
  readonly start: ReadonlyMap<string, number>
  /** Symbols of tokens that stand still. */
  readonly still: ReadonlySet<string>
}

const YEAR_SECONDS = 365.25 * 86_400
const DECIMALS = 8
const PIECE = 16_384

/** The same seed gives the same rounds, whatever other feeds there are. */
export function seededTape(feed: PriceFeed, market: SeededMarket): Tape {
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
