import { DEFAULT_MODEL } from '../../../backtest/model.ts'
import { type Expected, judge } from '../../../backtest/report/expect.ts'
import type { BacktestResult } from '../../../backtest/report/result.ts'
import { type BacktestInput, backtest } from '../../../backtest/run.ts'
import { strangerText } from '../../../domain/nearest.ts'
import { DEFAULT_POLICY } from '../../../domain/policy.ts'
import { createPricePaths } from '../../../domain/price.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Strategy } from '../../../domain/strategy.ts'
import type { Address } from '../../../domain/units.ts'
import { valueTokenOf } from '../../../engine/portfolio.ts'
import type { Modules } from '../../../ports.ts'
import { withModules } from '../../compose/modules.ts'
import { columnsOf, EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { BacktestData } from '../../json/backtest-report.ts'
import { loadForReading, reportProblems, startModules } from '../../load.ts'
import { type BacktestOptions, balancesOf, expectationsOf, FlagFault, modelOf } from './flags.ts'
import { pricesOf } from './prices.ts'
import { progressTo } from './progress.ts'
import { backtestLines } from './text.ts'

/** Stands for the wallet and the account: nothing is signed. */
const NOBODY: Address = `0x${'0'.repeat(39)}1`

/** `tranched backtest [STRATEGY...]`: what strategy files would have done. Signs nothing, and writes nothing but what is asked for. */
export function runBacktest(
  names: readonly string[],
  options: BacktestOptions,
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  return withModules(async (modules) => {
    const loaded = await startModules(loadForReading(options, io), modules)
    if (!loaded.ok) return reportProblems(loaded.problems, io, options)
    try {
      const { settings } = loaded
      const strategies = chosen(loaded.strategies, names)
      const expectations = expectationsOf(options.expect ?? [])
      const input = inputOf(settings, strategies, { options, modules, nowMs })
      const progress = progressTo(io, options)
      const result = await backtest({ ...input, progress: progress.share })
      progress.end()
      if (result === undefined) return EXIT.failed
      return tell(
        result,
        expectations.map((each) => judge(result, each)),
        { options, io },
      )
    } catch (error) {
      if (!(error instanceof FlagFault)) throw error
      return printFailure(io, options, { by: 'backtest', message: error.message, code: EXIT.usage })
    }
  })
}

/** Those that are named, or all that are enabled. */
function chosen(all: readonly Strategy[], names: readonly string[]): readonly Strategy[] {
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

function inputOf(
  settings: Settings,
  strategies: readonly Strategy[],
  given: {
    readonly options: BacktestOptions
    readonly modules: Modules
    readonly nowMs: number
  },
): Omit<BacktestInput, 'progress'> {
  const { options, modules, nowMs } = given
  const { from, to = nowMs } = options
  if (from === undefined)
    throw new FlagFault('from', 'the period is not said', 'a day such as --from 2025-01-01')
  const fromSeconds = Math.ceil(from / 1000)
  const untilSeconds = Math.floor(to / 1000)
  if (untilSeconds <= fromSeconds)
    throw new FlagFault('to', 'the period ends before it begins', 'a moment after --from')
  const feeds = [...settings.prices.values()]
  const valueToken = valueTokenOf(feeds)
  const { model, isChanged } = modelOf(options, { base: DEFAULT_MODEL, valueToken })
  const pricePath = createPricePaths(feeds)
  return {
    strategies,
    account: settings.limits,
    feeds: settings.prices,
    pricePath,
    tapes: pricesOf({ strategies, settings, pricePath, options, fromSeconds, untilSeconds }),
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
    modelSource: isChanged ? 'options' : 'default',
    varies: options.vary !== false,
  }
}

function tell(
  result: BacktestResult,
  expected: readonly Expected[],
  { options, io }: { readonly options: BacktestOptions; readonly io: Io },
): ExitCode {
  const ok = expected.every(({ holds }) => holds)
  const data: BacktestData = { ok, ...result, expected, problems: [] }
  if (options.json) printJson<BacktestData>(io, data)
  else io.stdout.write(`${backtestLines(data, columnsOf(io)).join('\n')}\n`)
  return ok ? EXIT.done : EXIT.failed
}
