import { DEFAULT_MODEL } from '../../../backtest/model.ts'
import { type Observed, Observer } from '../../../backtest/observed.ts'
import { PriceRecorder, type Recorded } from '../../../backtest/prices/recorded.ts'
import type { BacktestInput } from '../../../backtest/run.ts'
import type { JournalRecord } from '../../../domain/book/journal.ts'
import { strangerText } from '../../../domain/nearest.ts'
import { DEFAULT_POLICY } from '../../../domain/policy.ts'
import { createPricePaths } from '../../../domain/price.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Strategy } from '../../../domain/strategy.ts'
import type { Tape } from '../../../domain/tape.ts'
import type { Address } from '../../../domain/units.ts'
import { valueTokenOf } from '../../../engine/portfolio.ts'
import type { Modules } from '../../../ports.ts'
import { readState, recordsAtHand } from '../../compose/state.ts'
import { type BacktestOptions, balancesOf, FlagFault, modelOf } from './flags.ts'
import { pricesOf } from './prices.ts'

/** Stands for the wallet and the account: nothing is signed. */
const NOBODY: Address = `0x${'0'.repeat(39)}1`

/** Those that are named, or all that are enabled. */
export function chosen(all: readonly Strategy[], names: readonly string[]): readonly Strategy[] {
  const known = all.map(({ name }) => name)
  const strange = names.find((name) => !known.includes(name))
  if (strange !== undefined)
    throw new FlagFault('strategy', strangerText(strange, known), 'the name of a strategy file')
  const wanted = all.filter(({ name, enabled }) =>
    names.length === 0 ? enabled : names.includes(name),
  )
  if (wanted.length === 0)
    throw new FlagFault('strategy', 'no strategy is enabled', 'one that is, or its name')
  return wanted
}

/** All that a backtest goes by, as the files and flags say it. Throws FlagFault. */
export function inputOf(
  settings: Settings,
  strategies: readonly Strategy[],
  given: {
    readonly options: BacktestOptions
    readonly modules: Modules
    /** The end of the period where none is said, epoch ms. */
    readonly nowMs: number
    /** What a journal says of fills, where that was asked for. */
    readonly observed: Observed | undefined
    /** Prices of a journal, where those were asked for. */
    readonly recorded: Recorded | undefined
    /** Where the past is read already. */
    readonly tapes?: readonly Tape[]
  },
): Omit<BacktestInput, 'progress'> {
  const { options, modules, nowMs, observed, recorded, tapes } = given
  const { from, to = nowMs } = options
  if (from === undefined)
    throw new FlagFault('from', 'the period is not said', 'a day such as --from 2025-01-01')
  const fromSeconds = Math.ceil(from / 1000)
  const untilSeconds = Math.floor(to / 1000)
  if (untilSeconds <= fromSeconds)
    throw new FlagFault('to', 'the period ends before it begins', 'a moment after --from')
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
    tapes: tapes ?? pricesOf(wanted),
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

/** What the journal of the state directory says of fills. Throws FlagFault where it says nothing. */
export async function observedIn(
  settings: Settings,
  tell: (line: string) => void,
): Promise<Observed> {
  const observer = new Observer()
  for await (const record of recordsIn(settings, { flag: 'model', tell })) observer.hear(record)
  const observed = observer.result()
  if (Object.keys(observed.model).length === 0)
    throw new FlagFault(
      'model',
      `the journal in ${settings.stateDir} has too few fills to tell anything`,
      'one with five fills or more',
    )
  return observed
}

/** Prices that are in the journal of the state directory. Throws FlagFault where there are none. */
export async function recordedIn(
  settings: Settings,
  tell: (line: string) => void,
): Promise<Recorded> {
  const recorder = new PriceRecorder(settings)
  for await (const record of recordsIn(settings, { flag: 'prices', tell })) recorder.hear(record)
  const recorded = recorder.result(`the journal in ${settings.stateDir}`)
  if (recorded.feeds.length === 0)
    throw new FlagFault(
      'prices',
      `no decision in the journal in ${settings.stateDir} was made from a price`,
      'a journal with some, or a directory of prices, which `tranched backtest fetch` makes',
    )
  return recorded
}

async function* recordsIn(
  { stateDir, journal: { archive } }: Settings,
  { flag, tell }: { readonly flag: string; readonly tell: (line: string) => void },
): AsyncGenerator<JournalRecord> {
  const view = await readState(stateDir)
  if (view === undefined)
    throw new FlagFault(
      flag,
      `there is no journal in ${stateDir}`,
      'the state of a daemon that traded',
    )
  yield* recordsAtHand(view, { stateDir, archive, tell })
}
