import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { observedNote } from '../../../backtest/observed.ts'
import { cachedSeries } from '../../../backtest/prices/held.ts'
import { checkExpectation, type Expected } from '../../../backtest/report/expect.ts'
import type { BacktestResult } from '../../../backtest/report/result.ts'
import { backtest } from '../../../backtest/run.ts'
import { ownFiles } from '../../../config/loose-files.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Modules } from '../../../ports.ts'
import type { Strategy } from '../../../strategies/registry.ts'
import { outputFault, placeFile } from '../../../system/output-file.ts'
import { backtestHtml, REPORT_MARKER } from '../../../ui/report/html.tsx'
import { requiredPart, withModules } from '../../compose/modules.ts'
import type { BacktestData } from '../../json/backtest-outputs.ts'
import { loadForReading, startModules } from '../../load-files.ts'
import { columnsOf, EXIT, type ExitCode, type Io, lineTo, print } from '../../process/io.ts'
import { orRefuse } from '../../process/refusal.ts'
import { VERSION } from '../../process/version.ts'
import { backtestLines } from './backtest-text.ts'
import { refuseForPrices } from './fetch.ts'
import { type BacktestOptions, expectationsOf, FlagFault } from './flags.ts'
import { chosen, inputOf, JOURNAL, observedIn, recordedIn, type SweepOrder } from './input.ts'
import { axesOf, requireSound, withSweep } from './run-sweep.ts'
import { progressTo } from './ticker.ts'

/**
 * `tranched backtest [STRATEGY...]`: runs strategy files over past prices. Signs nothing, and writes only requested files
 * and a stopped sweep's results in the user's cache.
 */
export function runBacktest(
  names: readonly string[],
  options: BacktestOptions,
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  return withModules(async (modules) => {
    const loaded = orRefuse(await startModules(loadForReading(options, io), modules))
    const { settings } = loaded
    const strategies = chosen(loaded.strategies, names)
    const chosenNames = strategies.map(({ name }) => name)
    const axes = axesOf(options, chosenNames)
    requireSound(axes, settings)
    requirePlace(options, settings)
    const expectations = expectationsOf(options.expect ?? [])
    const warn = lineTo(io.stderr)
    const observed = options.model === 'from-journal' ? await observedIn(settings, warn) : undefined
    const recorded = options.prices === JOURNAL ? await recordedIn(settings, warn) : undefined
    const order = { names, options, nowMs, axes, observed, recorded }
    const result = await play(order, { settings, strategies, modules, io }).catch(refuseForPrices)
    if (result === undefined) return EXIT.failed
    const expected = expectations.map((each) => checkExpectation(result, each))
    return report(result, expected, { options, io, settings })
  })
}

function requirePlace({ html, force = false }: BacktestOptions, settings: Settings): void {
  if (html === undefined) return
  const what = 'the report of a backtest'
  const place = { what, marker: REPORT_MARKER, force, kept: ownFiles(settings) }
  const fault = outputFault(html, place)
  if (fault !== undefined) throw new FlagFault('html', `${html}: ${fault.message}`, fault.expected)
}

type Given = {
  readonly settings: Settings
  readonly strategies: readonly Strategy[]
  readonly modules: Modules
  readonly io: Io
}

async function play(
  order: SweepOrder,
  { settings, strategies, modules, io }: Given,
): Promise<BacktestResult | undefined> {
  const { options, axes, observed } = order
  const given = inputOf(settings, strategies, { ...order, modules })
  // A sweep plays them again.
  const input =
    axes.length === 0 ? given : { ...given, priceSeries: given.priceSeries.map(cachedSeries) }
  const progress = progressTo(io, options)
  const played = await backtest({ ...input, progress: progress.share })
  progress.end()
  if (played === undefined) return undefined
  const notes = observed === undefined ? [] : [observedNote(observed)]
  const result = { ...played, notes: [...played.notes, ...notes] }
  return axes.length === 0 ? result : withSweep(result, order, { input, io, settings, modules })
}

function report(
  result: BacktestResult,
  expected: readonly Expected[],
  { options, io, settings }: Pick<Given, 'io' | 'settings'> & { readonly options: BacktestOptions },
): ExitCode {
  const ok = expected.every(({ holds }) => holds)
  if (options.html !== undefined) {
    // Checked again: a sweep takes hours, and the file may have changed.
    requirePlace(options, settings)
    const script = requiredPart('report/page.js')
    const page = backtestHtml(result, {
      script: readFileSync(script, 'utf8'),
      style: readFileSync(join(dirname(script), 'page.css'), 'utf8'),
      version: VERSION,
    })
    placeFile(options.html, page, { mode: 0o644, replaces: true })
    io.stderr.write(`backtest: the report is in ${options.html}\n`)
  }
  return print<BacktestData>(io, options, { ok, ...result, expected }, (data) =>
    backtestLines(data, columnsOf(io)),
  )
}
