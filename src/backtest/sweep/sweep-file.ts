import { appendFileSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { makeDirectory } from '../../files/directory.ts'

const FIGURES = z.strictObject({
  key: z.string(),
  returnPercent: z.number().nullable(),
  drawdownPercent: z.number().nullable(),
  fills: z.int().min(0),
  fault: z.string().nullable(),
})

/** What one backtest came to, under what tells it from every other of its sweep. */
export type KeptFigures = z.output<typeof FIGURES>

/** A sweep that nobody has gone on with for so long is forgotten. */
const KEPT_MS = 30 * 86_400_000
const NAME = /^[0-9a-f]{64}\.jsonl$/

/** What a sweep has played so far, one backtest a line, so that one that is stopped goes on. */
export type SweepFile = {
  /** What was in it when it was opened. */
  readonly kept: ReadonlyMap<string, KeptFigures>
  /** Throws where the disk does not take it. */
  keep(figures: KeptFigures): void
  /** Everything is played: there is nothing to go on with. */
  remove(): void
}

/**
 * Opens the file of a sweep in a directory, which is made where it is not there. `digest` names all that its figures follow
 * from: 64 hex digits. Throws where the directory cannot be written.
 */
export function openSweepFile(dir: string, digest: string, nowMs: number): SweepFile {
  const file = join(dir, `${digest}.jsonl`)
  makeDirectory(dir, 0o700)
  for (const name of readdirSync(dir).filter((each) => NAME.test(each)))
    if (nowMs - statSync(join(dir, name)).mtimeMs > KEPT_MS)
      rmSync(join(dir, name), { force: true })
  // A line that a power cut has left half ends here; what is behind it is a line of its own.
  appendFileSync(file, '\n', { mode: 0o600 })
  return {
    kept: new Map(linesOf(file).map((figures) => [figures.key, figures])),
    keep: (figures) => appendFileSync(file, `${JSON.stringify(figures)}\n`),
    remove: () => rmSync(file, { force: true }),
  }
}

/** Lines that are whole. */
function linesOf(file: string): readonly KeptFigures[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const read = FIGURES.safeParse(parsed(line))
      return read.success ? [read.data] : []
    })
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
