import { priceDir } from '../../../backtest/price-files/price-dir.ts'
import { type Recorded, recordedSeries } from '../../../backtest/prices/recorded.ts'
import { seededSeries } from '../../../backtest/prices/seeded.ts'
import { createPricePaths, type PriceFeed, type PricePath } from '../../../domain/money/price.ts'
import type { PriceSeries } from '../../../domain/money/price-series.ts'
import type { Token } from '../../../domain/money/token.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { TokenPair } from '../../../domain/strategy.ts'
import { valueTokenOf } from '../../../engine/accounts/portfolio.ts'
import { assetsOf, pairsOf, type Strategy } from '../../../strategies/registry.ts'
import { type BacktestOptions, balancesOf, FlagFault, startsOf } from './flags.ts'

type Wanted = {
  readonly strategies: readonly Strategy[]
  readonly settings: Settings
  readonly pricePath: (sell: Token, buy: Token) => PricePath | undefined
  readonly options: BacktestOptions
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly recorded: Recorded | undefined
}

/** `--prices journal`: prices of the daemon's own journal. A directory of that name is `./journal`. */
export const JOURNAL = 'journal'

const MINUTE = 60
/** Default of a random market: the movement of ether in a calm year. */
const VOLATILITY_PERCENT = 60
const STARTS: ReadonlyMap<string, number> = new Map([
  ['WETH', 2_500],
  ['ETH', 2_500],
  ['cbBTC', 60_000],
  ['WBTC', 60_000],
])
const STILL: ReadonlySet<string> = new Set(['USDC', 'USDT', 'DAI', 'USDbC', 'EURC', 'USDS'])

/** Past prices of every feed that the backtest uses. Throws FlagFault, and PriceFileError for a directory. */
export function pricesOf(wanted: Wanted): readonly PriceSeries[] {
  const { options, fromSeconds, untilSeconds, recorded } = wanted
  const { prices, market, volatility = VOLATILITY_PERCENT, start = [] } = options
  if (prices !== undefined && market !== undefined)
    throw new FlagFault('market', 'it cannot be combined with --prices', '--prices or --market')
  if (recorded !== undefined) return journalSeries(recorded, wanted)
  const { traded, valuing } = feedsOf(wanted)
  if (prices !== undefined) return priceDir({ dir: prices, feeds: traded, more: valuing })
  if (market === undefined)
    throw new FlagFault(
      'prices',
      'no past prices are given',
      '--prices DIR, --prices journal or --market SEED',
    )
  const starts = new Map([...STARTS, ...startsOf(start)])
  return [...traded, ...valuing].map((feed) =>
    seededSeries(feed, {
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

/** Prices of the journal, which has to have one of every pair that feeds of the config price. */
function journalSeries(
  recorded: Recorded,
  { strategies, settings, pricePath }: Wanted,
): readonly PriceSeries[] {
  const configured = createPricePaths(settings.prices.values())
  const missing = strategies
    .flatMap(pairsOf)
    .find(({ sell, buy }) => pricePath(sell, buy) === undefined && configured(sell, buy))
  if (missing === undefined) return recordedSeries(recorded)
  throw new FlagFault(
    'prices',
    `the journal in ${settings.stateDir} has no price of ${missing.buy.symbol} in ${missing.sell.symbol}`,
    'strategies whose pairs a daemon has traded, or a directory of prices from `tranched backtest fetch`',
  )
}

type Feeds = {
  /** Feeds that the strategies decide by. */
  readonly traded: readonly PriceFeed[]
  /** Feeds that value the holdings, and gas. */
  readonly valuing: readonly PriceFeed[]
}

function feedsOf({ strategies, settings, pricePath, options }: Wanted): Feeds {
  const pairs = strategies.flatMap(pairsOf)
  const valueToken = valueTokenOf(settings.prices.values())
  const balances = balancesOf(options.balance ?? [], settings)
  const held = [...settings.tokens.values()].filter(({ address, symbol }) => {
    return symbol === 'WETH' || balances.has(address)
  })
  const valued = [...strategies.flatMap(assetsOf).map(({ token }) => token), ...held]
  const values = valueToken === undefined ? [] : valued.map((buy) => ({ sell: valueToken, buy }))
  const feedsIn = (list: readonly TokenPair[]): readonly PriceFeed[] =>
    list.flatMap(({ sell, buy }) => pricePath(sell, buy) ?? []).map(({ feed }) => feed)
  const traded = new Set(feedsIn(pairs))
  const valuing = new Set(feedsIn(values).filter((feed) => !traded.has(feed)))
  return { traded: [...traded], valuing: [...valuing] }
}
