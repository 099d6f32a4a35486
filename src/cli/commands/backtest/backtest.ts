import { observedNote } from '../../../backtest/observed.ts'
import { type Expected, judge } from '../../../backtest/report/expect.ts'
import type { BacktestResult } from '../../../backtest/report/result.ts'
import { backtest } from '../../../backtest/run.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Strategy } from '../../../domain/strategy.ts'
import type { Modules } from '../../../ports.ts'
import { reportFault, writeBacktestPage } from '../../compose/backtest-page.ts'
import { withModules } from '../../compose/modules.ts'
import { priceProblem } from '../../compose/prices.ts'
import {
  columnsOf,
  EXIT,
  type ExitCode,
  type Io,
  lineTo,
  printFailure,
  printJson,
} from '../../io.ts'
import type { BacktestData } from '../../json/backtest-report.ts'
import { loadForReading, reportProblems, startModules } from '../../load.ts'
import { type BacktestOptions, expectationsOf, FlagFault } from './flags.ts'
import { chosen, inputOf, observedIn, recordedIn } from './input.ts'
import type { SweepOrder } from './player.ts'
import { JOURNAL } from './prices.ts'
import { progressTo } from './progress.ts'
import { axesOf, requireSound, ValueFault, withSweep } from './sweep.ts'
import { backtestLines } from './text.ts'

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
      const axes = axesOf(
        options,
        strategies.map(({ name }) => name),
      )
      requireSound(axes, settings)
      requirePlace(options, settings)
      const expectations = expectationsOf(options.expect ?? [])
      const told = lineTo(io.stderr)
      const isObserved = options.model === 'from-journal'
      const observed = isObserved ? await observedIn(settings, told) : undefined
      const isRecorded = options.prices === JOURNAL
      const recorded = isRecorded ? await recordedIn(settings, told) : undefined
      const order = { names, options, nowMs, axes, observed, recorded }
      const result = await play(order, { settings, strategies, modules, io })
      if (result === undefined) return EXIT.failed
      const expected = expectations.map((each) => judge(result, each))
      return tell(result, expected, { options, io, settings })
    } catch (error) {
      return explained(error, io, options)
    }
  })
}

/** A page that cannot be written is better told before the work than after it. */
function requirePlace({ html, force = false }: BacktestOptions, settings: Settings): void {
  const fault = html === undefined ? undefined : reportFault(html, { force, settings })
  if (fault !== undefined) throw new FlagFault('html', `${html}: ${fault.message}`, fault.expected)
}

/** Tells what is wrong with files and flags; throws every other error. */
function explained(error: unknown, io: Io, options: BacktestOptions): ExitCode {
  const problem = priceProblem(error)
  if (problem !== undefined) return reportProblems([problem], io, options)
  if (error instanceof ValueFault) return reportProblems(error.problems, io, options)
  if (!(error instanceof FlagFault)) throw error
  return printFailure(io, options, { by: 'backtest', message: error.message, code: EXIT.usage })
}

type Given = {
  readonly settings: Settings
  readonly strategies: readonly Strategy[]
  readonly modules: Modules
  readonly io: Io
}

/** The backtest, and the sweep where one is asked for. Undefined where it was stopped. */
async function play(
  order: SweepOrder,
  { settings, strategies, modules, io }: Given,
): Promise<BacktestResult | undefined> {
  const { options, axes, observed } = order
  const input = inputOf(settings, strategies, { ...order, modules })
  const progress = progressTo(io, options)
  const played = await backtest({ ...input, progress: progress.share })
  progress.end()
  if (played === undefined) return undefined
  const notes = observed === undefined ? [] : [observedNote(observed)]
  const result = { ...played, notes: [...played.notes, ...notes] }
  return axes.length === 0 ? result : withSweep(result, order, { input, io, settings, modules })
}

function tell(
  result: BacktestResult,
  expected: readonly Expected[],
  { options, io, settings }: Pick<Given, 'io' | 'settings'> & { readonly options: BacktestOptions },
): ExitCode {
  const ok = expected.every(({ holds }) => holds)
  const data: BacktestData = { ok, ...result, expected, problems: [] }
  if (options.html !== undefined) {
    // It may have taken hours since.
    requirePlace(options, settings)
    writeBacktestPage(options.html, result)
    io.stderr.write(`backtest: the report is in ${options.html}\n`)
  }
  if (options.json) printJson<BacktestData>(io, data)
  else io.stdout.write(`${backtestLines(data, columnsOf(io)).join('\n')}\n`)
  return ok ? EXIT.done : EXIT.failed
}
