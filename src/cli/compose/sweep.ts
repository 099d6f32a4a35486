import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openSweepFile, type SweepFile } from '../../adapters/sweep/sweep-file.ts'
import { openWorkers, type Workers } from '../../adapters/sweep/workers.ts'
import type { Io } from '../io.ts'
import { VERSION_TEXT } from '../version.ts'
import { requiredPart } from './installed.ts'

const PROGRAM = 'sweep-worker.js'

/** Threads that play backtests; each is told the same order at its start. */
export function openPlayers<Job, Answer>(order: unknown, count: number): Workers<Job, Answer> {
  return openWorkers({ program: pathToFileURL(requiredPart(PROGRAM)), order, count })
}

/**
 * Where a sweep keeps what it has played: in the folder for caches of whoever runs it. `basis` is all that its figures follow
 * from, as text. Undefined where nothing can be kept there, which `tell` hears of.
 */
export function openKept(
  basis: string,
  { env, nowMs, tell }: Pick<Io, 'env'> & { nowMs: number; tell: (line: string) => void },
): SweepFile | undefined {
  const digest = createHash('sha256').update(VERSION_TEXT).update('\n').update(basis).digest('hex')
  const cache = env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  const dir = join(cache, 'tranched/sweeps')
  try {
    return openSweepFile(dir, digest, nowMs)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    tell(
      `sweep: what is played cannot be kept in ${dir} (${why}): if it is stopped, it begins anew`,
    )
    return undefined
  }
}

/** Each file of a directory with what tells it from another of its name; nothing where there is no such directory. */
export function versionsIn(dir: string): readonly string[] {
  if (!existsSync(dir)) return []
  return readdirSync(dir)
    .toSorted()
    .map((name) => {
      const { size, mtimeMs } = statSync(join(dir, name))
      return `${name} ${size} ${mtimeMs}`
    })
}
