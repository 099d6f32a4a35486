import { seededTape } from '../../../backtest/prices/seeded.ts'
import type { PriceFeed, PricePath } from '../../../domain/price.ts'
import type { Settings } from '../../../domain/settings.ts'
import { pairsOf, readsMarket, type Strategy } from '../../../domain/strategy.ts'
import type { Tape } from '../../../domain/tape.ts'
import type { Token } from '../../../domain/token.ts'
import { type BacktestOptions, FlagFault, startsOf } from './flags.ts'

type Wanted = {
  readonly strategies: readonly Strategy[]
  readonly settings: Settings
  readonly pricePath: (sell: Token, buy: Token) => PricePath | undefined
  readonly options: BacktestOptions
  readonly fromSeconds: number
  readonly untilSeconds: number
}

const MINUTE = 60
/** Of a random market, where nothing is said: what ether has moved in a calm year. */
const VOLATILITY_PERCENT = 60
const STARTS: ReadonlyMap<string, number> = new Map([
  ['WETH', 2_500],
  ['ETH', 2_500],
  ['cbBTC', 60_000],
  ['WBTC', 60_000],
])
const STILL: ReadonlySet<string> = new Set(['USDC', 'USDT', 'DAI', 'USDbC', 'EURC', 'USDS'])

/** The past that is played back, of every feed that something goes by. */
export function pricesOf(wanted: Wanted): readonly Tape[] {
  const { options, fromSeconds, untilSeconds } = wanted
  const feeds = feedsOf(wanted)
  const { market, volatility = VOLATILITY_PERCENT, start = [] } = options
  if (market === undefined)
    throw new FlagFault('prices', 'no past prices are named', '--prices DIR, or --market SEED')
  const starts = new Map([...STARTS, ...startsOf(start)])
  return feeds.map((feed) =>
    seededTape(feed, {
      seed: market,
      fromSeconds: fromSeconds - MINUTE,
      untilSeconds,
      everySeconds: MINUTE,
      volatility: volatility / 100,
      drift: 0,
      start: starts,
      still: STILL,
    }),
  )
}

/** Those of the strategies' pairs, and those that what they hold is valued by. */
function feedsOf({ strategies, settings, pricePath }: Wanted): readonly PriceFeed[] {
  const pairs = strategies.filter(readsMarket).flatMap(pairsOf)
  const own = pairs.flatMap(({ sell, buy }) => pricePath(sell, buy) ?? []).map(({ feed }) => feed)
  const all = own.length === 0 ? [...settings.prices.values()] : own
  return [...new Map(all.map((feed) => [feed.pair, feed])).values()]
}
