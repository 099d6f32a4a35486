import { appendFileSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { makeDirectory } from '../../system/directory.ts'
import { readableLines } from '../../system/read-json.ts'

const FIGURES = z.strictObject({
  key: z.string(),
  returnPercent: z.number().nullable(),
  drawdownPercent: z.number().nullable(),
  fills: z.int().min(0),
  fault: z.string().nullable(),
})

/** Figures of one backtest; `key` identifies it within its sweep. */
type KeptFigures = z.output<typeof FIGURES>

/** Age at which unfinished sweeps are removed. */
const KEPT_MS = 30 * 86_400_000
const NAME = /^[0-9a-f]{64}\.jsonl$/

export type SweepFile = ReturnType<typeof openSweepFile>

/**
 * Opens the file of a sweep's finished backtests, one per line, so that a stopped sweep can resume. Creates its directory.
 * `digest`, 64 hex digits, identifies all inputs of the figures. Throws disk errors.
 */
export function openSweepFile(dir: string, digest: string, nowMs: number) {
  const file = join(dir, `${digest}.jsonl`)
  makeDirectory(dir, 0o700)
  for (const name of readdirSync(dir).filter((each) => NAME.test(each)))
    if (nowMs - statSync(join(dir, name)).mtimeMs > KEPT_MS)
      rmSync(join(dir, name), { force: true })
  // Ends a line that a power cut left incomplete.
  appendFileSync(file, '\n', { mode: 0o600 })
  const kept = readableLines(FIGURES, readFileSync(file, 'utf8').split('\n'))
  return {
    kept: new Map(kept.map((figures) => [figures.key, figures])),
    /** Throws disk errors. */
    keep: (figures: KeptFigures): void => appendFileSync(file, `${JSON.stringify(figures)}\n`),
    remove: (): void => rmSync(file, { force: true }),
  }
}
