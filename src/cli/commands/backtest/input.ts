import { DEFAULT_MODEL } from '../../../backtest/model.ts'
import { type Observed, Observer } from '../../../backtest/observed.ts'
import { PriceRecorder, type Recorded } from '../../../backtest/prices/recorded.ts'
import type { BacktestInput } from '../../../backtest/run.ts'
import type { SweepAxis } from '../../../backtest/sweep/axes.ts'
import { createPricePaths } from '../../../domain/money/price.ts'
import type { PriceSeries } from '../../../domain/money/price-series.ts'
import type { Address } from '../../../domain/money/units.ts'
import { DEFAULT_POLICY } from '../../../domain/policy.ts'
import type { Settings } from '../../../domain/settings.ts'
import { strangerText } from '../../../domain/text/nearest.ts'
import { valueTokenOf } from '../../../engine/accounts/portfolio.ts'
import type { JournalRecord } from '../../../journal/events/registry.ts'
import type { Modules } from '../../../ports.ts'
import type { Strategy } from '../../../strategies/registry.ts'
import { readState, recordsAtHand } from '../../compose/state.ts'
import { pricesOf } from './backtest-prices.ts'
import { type BacktestOptions, balancesOf, FlagFault, modelOf } from './flags.ts'

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

/** A request for a backtest: the same request gives the same run. */
export type SweepOrder = {
  readonly names: readonly string[]
  readonly options: BacktestOptions
  /** End of the period unless one is given, epoch ms. */
  readonly nowMs: number
  readonly axes: readonly SweepAxis[]
  /** Fills of a journal, where those were asked for. */
  readonly observed: Observed | undefined
  /** Prices of a journal, where those were asked for. */
  readonly recorded: Recorded | undefined
}

/** Input of a backtest from files and flags; `priceSeries` if the prices were read already. Throws FlagFault. */
export function inputOf(
  settings: Settings,
  strategies: readonly Strategy[],
  given: SweepOrder & { readonly modules: Modules; readonly priceSeries?: readonly PriceSeries[] },
): Omit<BacktestInput, 'progress'> {
  const { options, modules, nowMs, observed, recorded, priceSeries } = given
  const { from, to = nowMs } = options
  if (from === undefined)
    throw new FlagFault(
      'from',
      'no start of the period is given',
      'a day such as --from 2025-01-01',
    )
  const fromSeconds = Math.ceil(from / 1000)
  const untilSeconds = Math.floor(to / 1000)
  if (untilSeconds <= fromSeconds)
    throw new FlagFault('to', 'the period ends before it begins', 'a time after --from')
  const valueToken = valueTokenOf(settings.prices.values())
  const base = { ...DEFAULT_MODEL, ...observed?.model }
  const { model, isChanged } = modelOf(options, { base, valueToken })
  const feeds = recorded?.feeds ?? [...settings.prices.values()]
  const pricePath = createPricePaths(feeds)
  const wanted = { strategies, settings, pricePath, options, fromSeconds, untilSeconds, recorded }
  return {
    strategies,
    account: settings.limits,
    feeds: new Map(feeds.map((feed) => [feed.pair, feed])),
    pricePath,
    priceSeries: priceSeries ?? pricesOf(wanted),
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
    modelSource: sourceOf(observed, isChanged),
    varies: options.vary !== false,
  }
}

function sourceOf(
  observed: Observed | undefined,
  isChanged: boolean,
): BacktestInput['modelSource'] {
  if (observed !== undefined) return 'journal'
  return isChanged ? 'options' : 'default'
}

/** Throws FlagFault if the journal has too few fills. */
export async function observedIn(
  settings: Settings,
  report: (line: string) => void,
): Promise<Observed> {
  const observer = new Observer()
  for await (const record of recordsIn(settings, { flag: 'model', report })) observer.add(record)
  const observed = observer.result()
  if (Object.keys(observed.model).length === 0)
    throw new FlagFault(
      'model',
      `the journal in ${settings.stateDir} has too few fills`,
      'at least five fills',
    )
  return observed
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
  if (view === undefined)
    throw new FlagFault(
      flag,
      `there is no journal in ${stateDir}`,
      'the state of a daemon that traded',
    )
  yield* recordsAtHand(view, { stateDir, archive, report })
}
