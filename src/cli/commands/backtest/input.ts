import { DEFAULT_MODEL } from '../../../backtest/model.ts'
import { type Observed, Observer } from '../../../backtest/observed.ts'
import { priceDir } from '../../../backtest/price-files/price-dir.ts'
import { type HeldSeries, heldSeries } from '../../../backtest/prices/held.ts'
import { PriceRecorder, type Recorded } from '../../../backtest/prices/recorded.ts'
import { seededSeries } from '../../../backtest/prices/seeded.ts'
import type { BacktestInput } from '../../../backtest/run.ts'
import type { SweepAxis } from '../../../backtest/sweep/axes.ts'
import { createPricePaths, type PriceFeed, type PricePath } from '../../../domain/money/price.ts'
import type { PriceSeries } from '../../../domain/money/price-series.ts'
import type { Token } from '../../../domain/money/token.ts'
import type { Address } from '../../../domain/money/units.ts'
import { DEFAULT_POLICY } from '../../../domain/policy.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { TokenPair } from '../../../domain/strategy.ts'
import { strangerText } from '../../../domain/text/nearest.ts'
import { valueTokenOf } from '../../../engine/accounts/portfolio.ts'
import type { JournalRecord } from '../../../journal/events/registry.ts'
import type { Modules } from '../../../ports.ts'
import { assetsOf, pairsOf, type Strategy } from '../../../strategies/registry.ts'
import { readState, recordsAtHand } from '../../compose/state.ts'
import { type BacktestOptions, balancesOf, FlagFault, modelOf, startsOf } from './flags.ts'

const NOBODY: Address = `0x${'0'.repeat(39)}1`

export function chosen(all: readonly Strategy[], names: readonly string[]): readonly Strategy[] {
  const known = all.map(({ name }) => name)
  const strange = names.find((name) => !known.includes(name))
  if (strange !== undefined)
    throw new FlagFault('strategy', strangerText(strange, known), 'the name of a strategy file')
  const wanted = all.filter(({ name, enabled }) =>
    names.length === 0 ? enabled : names.includes(name),
  )
  if (wanted.length === 0)
    throw new FlagFault('strategy', 'no strategy is enabled', 'an enabled strategy, or its name')
  return wanted
}

/** A request for a backtest. The same request gives the same run. */
export type SweepOrder = {
  readonly names: readonly string[]
  readonly options: BacktestOptions
  /** Default end of the period, epoch ms. */
  readonly nowMs: number
  readonly axes: readonly SweepAxis[]
  /** A journal's fills, if requested. */
  readonly observed: Observed | undefined
  /** A journal's prices, if requested. */
  readonly recorded: Recorded | undefined
  /** Prices that were already read, for threads. */
  readonly held?: readonly HeldSeries[] | undefined
}

/** Builds a backtest's input from files and flags. Throws FlagFault. */
export function inputOf(
  settings: Settings,
  strategies: readonly Strategy[],
  given: SweepOrder & { readonly modules: Modules },
): Omit<BacktestInput, 'progress'> {
  const { options, modules, nowMs, observed, recorded, held } = given
  const { from, to = nowMs } = options
  const unset = 'no start of the period is given'
  if (from === undefined) throw new FlagFault('from', unset, 'a day such as --from 2025-01-01')
  const fromSeconds = Math.ceil(from / 1000)
  const untilSeconds = Math.floor(to / 1000)
  if (untilSeconds <= fromSeconds)
    throw new FlagFault('to', 'the period ends before it begins', 'a time after --from')
  const valueToken = valueTokenOf(settings.prices.values())
  const base = { ...DEFAULT_MODEL, ...observed?.model }
  const { model, isChanged } = modelOf(options, { base, valueToken })
  const source = isChanged ? 'options' : 'default'
  const feeds = recorded?.feeds ?? [...settings.prices.values()]
  const pricePath = createPricePaths(feeds)
  const wanted = { strategies, settings, pricePath, options, fromSeconds, untilSeconds, recorded }
  return {
    strategies,
    account: settings.limits,
    feeds: new Map(feeds.map((feed) => [feed.pair, feed])),
    pricePath,
    priceSeries: held?.map(heldSeries) ?? pricesOf(wanted),
    balances: balancesOf(options.balance ?? [], settings),
    fromSeconds,
    untilSeconds,
    model,
    policy: DEFAULT_POLICY,
    owner: NOBODY,
    caller: NOBODY,
    valueToken,
    modules,
    tokens: [...settings.tokens.values()],
    modelSource: observed === undefined ? source : 'journal',
    varies: options.vary !== false,
  }
}

/** Throws FlagFault if the journal has too few fills. */
export async function observedIn(
  settings: Settings,
  report: (line: string) => void,
): Promise<Observed> {
  const observer = new Observer()
  for await (const record of recordsIn(settings, { flag: 'model', report })) observer.add(record)
  const observed = observer.result()
  if (Object.keys(observed.model).length > 0) return observed
  const message = `the journal in ${settings.stateDir} has too few fills`
  throw new FlagFault('model', message, 'at least five fills')
}

/** Throws FlagFault if the journal has no prices. */
export async function recordedIn(
  settings: Settings,
  report: (line: string) => void,
): Promise<Recorded> {
  const recorder = new PriceRecorder(settings)
  for await (const record of recordsIn(settings, { flag: 'prices', report })) recorder.add(record)
  const recorded = recorder.result(`the journal in ${settings.stateDir}`)
  if (recorded.feeds.length === 0)
    throw new FlagFault(
      'prices',
      `no decision in the journal in ${settings.stateDir} was made from a price`,
      'a journal with some, or a directory of prices from `tranched backtest fetch`',
    )
  return recorded
}

async function* recordsIn(
  { stateDir, journal: { archive } }: Settings,
  { flag, report }: { readonly flag: string; readonly report: (line: string) => void },
): AsyncGenerator<JournalRecord> {
  const view = await readState(stateDir)
  const missing = `there is no journal in ${stateDir}`
  if (view === undefined) throw new FlagFault(flag, missing, 'the state of a daemon that traded')
  yield* recordsAtHand(view, { stateDir, archive, report })
}

type Wanted = {
  readonly strategies: readonly Strategy[]
  readonly settings: Settings
  readonly pricePath: (sell: Token, buy: Token) => PricePath | undefined
  readonly options: BacktestOptions
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly recorded: Recorded | undefined
}

/** `--prices journal`: prices from the daemon's own journal. `./journal` names a directory. */
export const JOURNAL = 'journal'

const MINUTE = 60
/** Default for a random market: the volatility of ether in a calm year. */
const VOLATILITY_PERCENT = 60
const STARTS: ReadonlyMap<string, number> = new Map([
  ['WETH', 2_500],
  ['ETH', 2_500],
  ['cbBTC', 60_000],
  ['WBTC', 60_000],
])
const STILL: ReadonlySet<string> = new Set(['USDC', 'USDT', 'DAI', 'USDbC', 'EURC', 'USDS'])

/** Past prices of all feeds that the backtest uses. Throws FlagFault, and PriceFileError for a directory. */
function pricesOf(wanted: Wanted): readonly PriceSeries[] {
  const { options, fromSeconds, untilSeconds, recorded } = wanted
  const { prices, market, volatility = VOLATILITY_PERCENT, start = [] } = options
  if (prices !== undefined && market !== undefined)
    throw new FlagFault('market', 'it cannot be combined with --prices', '--prices or --market')
  if (recorded !== undefined) return journalSeries(recorded, wanted)
  const { traded, valuing } = feedsOf(wanted)
  if (prices !== undefined) return priceDir({ dir: prices, feeds: traded, more: valuing })
  const given = '--prices DIR, --prices journal or --market SEED'
  if (market === undefined) throw new FlagFault('prices', 'no past prices are given', given)
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

/** Prices from the journal. Throws FlagFault if it lacks a pair that the config's feeds price. */
function journalSeries(
  recorded: Recorded,
  { strategies, settings, pricePath }: Wanted,
): readonly PriceSeries[] {
  const configured = createPricePaths(settings.prices.values())
  const missing = strategies
    .flatMap(pairsOf)
    .find(({ sell, buy }) => pricePath(sell, buy) === undefined && configured(sell, buy))
  if (missing === undefined) return recorded.priceSeries.map(heldSeries)
  throw new FlagFault(
    'prices',
    `the journal in ${settings.stateDir} has no price of ${missing.buy.symbol} in ${missing.sell.symbol}`,
    'strategies whose pairs a daemon has traded, or a directory of prices from `tranched backtest fetch`',
  )
}

type Feeds = {
  /** Feeds for the strategies' decisions. */
  readonly traded: readonly PriceFeed[]
  /** Feeds that value holdings and gas. */
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
