import { type Expected, judge } from '../../../backtest/report/expect.ts'
import type { BacktestResult } from '../../../backtest/report/result.ts'
import { backtest } from '../../../backtest/run.ts'
import { withModules } from '../../compose/modules.ts'
import { columnsOf, EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { BacktestData } from '../../json/backtest-report.ts'
import { loadForReading, reportProblems, startModules } from '../../load.ts'
import { type BacktestOptions, expectationsOf, FlagFault } from './flags.ts'
import { chosen, inputOf } from './input.ts'
import { progressTo } from './progress.ts'
import { axesOf, problemsOf, withSweep } from './sweep.ts'
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
      const expectations = expectationsOf(options.expect ?? [])
      const input = inputOf(settings, strategies, { options, modules, nowMs })
      const problems = problemsOf(axes, settings)
      if (problems.length > 0) return reportProblems(problems, io, options)
      const progress = progressTo(io, options)
      const played = await backtest({ ...input, progress: progress.share })
      progress.end()
      if (played === undefined) return EXIT.failed
      const order = { names, options, nowMs, axes }
      const result =
        axes.length === 0
          ? played
          : await withSweep(played, order, { input, io, settings, modules })
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
