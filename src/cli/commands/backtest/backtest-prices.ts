import { type Recorded, recordedTapes } from '../../../backtest/prices/recorded.ts'
import { seededTape } from '../../../backtest/prices/seeded.ts'
import { createPricePaths, type PriceFeed, type PricePath } from '../../../domain/price.ts'
import type { Settings } from '../../../domain/settings.ts'
import {
  assetsOf,
  pairsOf,
  readsMarket,
  type Strategy,
  type TokenPair,
} from '../../../domain/strategy.ts'
import type { Tape } from '../../../domain/tape.ts'
import type { Token } from '../../../domain/token.ts'
import { valueTokenOf } from '../../../engine/portfolio.ts'
import { openPriceDir } from '../../compose/prices.ts'
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

/** `--prices journal`: those that are in the daemon's own. A directory of that name is `./journal`. */
export const JOURNAL = 'journal'

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

/** The past that is played back, of every feed that something goes by. Throws FlagFault, and PriceFileError for a directory. */
export function pricesOf(wanted: Wanted): readonly Tape[] {
  const { options, fromSeconds, untilSeconds, recorded } = wanted
  const { prices, market, volatility = VOLATILITY_PERCENT, start = [] } = options
  if (prices !== undefined && market !== undefined)
    throw new FlagFault('market', 'past prices are named, too', '--prices or --market')
  if (recorded !== undefined) return journalTapes(recorded, wanted)
  const { traded, valuing } = feedsOf(wanted)
  if (prices !== undefined) return openPriceDir({ dir: prices, feeds: traded, more: valuing })
  if (market === undefined)
    throw new FlagFault(
      'prices',
      'no past prices are named',
      '--prices DIR, --prices journal or --market SEED',
    )
  const starts = new Map([...STARTS, ...startsOf(start)])
  return [...traded, ...valuing].map((feed) =>
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

/** Those of the journal, where it has one of every pair that feeds of the config give a price of. */
function journalTapes(
  recorded: Recorded,
  { strategies, settings, pricePath }: Wanted,
): readonly Tape[] {
  const configured = createPricePaths(settings.prices.values())
  const missing = strategies
    .filter(readsMarket)
    .flatMap(pairsOf)
    .find(({ sell, buy }) => pricePath(sell, buy) === undefined && configured(sell, buy))
  if (missing === undefined) return recordedTapes(recorded)
  throw new FlagFault(
    'prices',
    `the journal in ${settings.stateDir} has no price of ${missing.buy.symbol} in ${missing.sell.symbol}`,
    'strategies whose pairs a daemon has traded, or a directory of prices, which `tranched backtest fetch` makes',
  )
}

type Feeds = {
  /** Those that the strategies decide by. */
  readonly traded: readonly PriceFeed[]
  /** Others, by which what the wallet holds is valued, and gas. */
  readonly valuing: readonly PriceFeed[]
}

function feedsOf({ strategies, settings, pricePath, options }: Wanted): Feeds {
  const pairs = strategies.filter(readsMarket).flatMap(pairsOf)
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
