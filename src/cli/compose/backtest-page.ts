import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backtestHtml, REPORT_MARKER } from '../../adapters/backtest-page/html.ts'
import type { BacktestResult } from '../../backtest/report/result.ts'
import { ownFiles } from '../../config/loose-files.ts'
import type { Settings } from '../../domain/settings.ts'
import { type OutputFault, outputFault, placeFile } from '../../files/output-file.ts'
import { VERSION } from '../version.ts'
import { requiredPart } from './installed.ts'

const SCRIPT = 'backtest-page/page.js'
const FILE_MODE = 0o644

/** Why no report can be put there; undefined where it can, as far as is known before it is made. */
export function reportFault(
  file: string,
  { force, settings }: { readonly force: boolean; readonly settings: Settings },
): OutputFault | undefined {
  const what = 'the report of a backtest'
  return outputFault(file, { what, marker: REPORT_MARKER, force, kept: ownFiles(settings) })
}

/** Writes the report as one file, in the place of whatever is there. Throws what the disk says. */
export function writeBacktestPage(file: string, result: BacktestResult): void {
  const script = requiredPart(SCRIPT)
  const page = backtestHtml(result, {
    script: readFileSync(script, 'utf8'),
    style: readFileSync(join(dirname(script), 'page.css'), 'utf8'),
    version: VERSION,
  })
  placeFile(file, page, { mode: FILE_MODE, replaces: true })
}
