import { DEFAULT_MODEL } from '../../../backtest/model.ts'
import { type Observed, Observer } from '../../../backtest/observed.ts'
import type { BacktestInput } from '../../../backtest/run.ts'
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
    /** Where the past is read already. */
    readonly tapes?: readonly Tape[]
  },
): Omit<BacktestInput, 'progress'> {
  const { options, modules, nowMs, observed, tapes } = given
  const { from, to = nowMs } = options
  if (from === undefined)
    throw new FlagFault('from', 'the period is not said', 'a day such as --from 2025-01-01')
  const fromSeconds = Math.ceil(from / 1000)
  const untilSeconds = Math.floor(to / 1000)
  if (untilSeconds <= fromSeconds)
    throw new FlagFault('to', 'the period ends before it begins', 'a moment after --from')
  const feeds = [...settings.prices.values()]
  const valueToken = valueTokenOf(feeds)
  const base = { ...DEFAULT_MODEL, ...observed?.model }
  const { model, isChanged } = modelOf(options, { base, valueToken })
  const pricePath = createPricePaths(feeds)
  return {
    strategies,
    account: settings.limits,
    feeds: settings.prices,
    pricePath,
    tapes:
      tapes ?? pricesOf({ strategies, settings, pricePath, options, fromSeconds, untilSeconds }),
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
  { stateDir, journal }: Settings,
  tell: (line: string) => void,
): Promise<Observed> {
  const view = await readState(stateDir)
  if (view === undefined)
    throw new FlagFault(
      'model',
      `there is no journal in ${stateDir}`,
      'the state of a daemon that traded',
    )
  const observer = new Observer()
  const { archive } = journal
  for await (const record of recordsAtHand(view, { stateDir, archive, tell })) observer.hear(record)
  const observed = observer.result()
  if (Object.keys(observed.model).length === 0)
    throw new FlagFault(
      'model',
      `the journal in ${stateDir} has too few fills to tell anything`,
      'one with five fills or more',
    )
  return observed
}
