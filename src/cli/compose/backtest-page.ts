import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backtestHtml } from '../../adapters/backtest-page/html.ts'
import type { BacktestResult } from '../../backtest/report/result.ts'
import { VERSION } from '../version.ts'
import { requiredPart } from './installed.ts'

const SCRIPT = 'backtest-page/page.js'

/** Why no report can be put there; undefined where it can, as far as is known before it is made. */
export function reportPlaceFault(file: string): string | undefined {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) return 'this is a directory'
  const parent = statSync(dirname(file), { throwIfNoEntry: false })
  return parent?.isDirectory() ? undefined : `there is no directory ${dirname(file)}`
}

/** Writes the report as one file, whole or not at all. Throws what the disk says. */
export function writeBacktestPage(file: string, result: BacktestResult): void {
  const script = requiredPart(SCRIPT)
  const page = backtestHtml(result, {
    script: readFileSync(script, 'utf8'),
    style: readFileSync(join(dirname(script), 'page.css'), 'utf8'),
    version: VERSION,
  })
  const fresh = `${file}.new-${process.pid}`
  try {
    writeFileSync(fresh, page)
    renameSync(fresh, file)
  } finally {
    rmSync(fresh, { force: true })
  }
}
