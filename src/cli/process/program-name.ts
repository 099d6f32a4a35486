import { realpathSync } from 'node:fs'
import { basename, delimiter, dirname, join, relative, sep } from 'node:path'
import { shellWord } from '../../domain/text/shell-word.ts'
import type { Io } from './io.ts'

const INSTALLED = join('node_modules', 'tranched', 'dist', 'tranched.js')

/** How a person in `dir` types this program. pm2 starts it by a file of its own, and names ours in the environment. */
export function programName(io: Pick<Io, 'startedAs' | 'env'>, dir: string): string {
  const { env } = io
  const ofPm2 = basename(io.startedAs ?? '') === 'ProcessContainerFork.js'
  const startedAs = (ofPm2 ? env['pm_exec_path'] : undefined) ?? io.startedAs
  if (startedAs === undefined) return 'tranched'
  const folders = (env['PATH'] ?? '').split(delimiter)
  if (startedAs.endsWith(`${sep}${INSTALLED}`)) {
    const isLinked = folders.some((folder) => realPath(join(folder, 'tranched')) === startedAs)
    if (isLinked) return 'tranched'
    if (realPath(join(dir, INSTALLED)) === startedAs) return 'npx tranched'
  }
  if (startedAs.endsWith(`${sep}node_modules${sep}.bin${sep}tranched`)) return 'npx tranched'
  const isOnPath = folders.includes(dirname(startedAs))
  if (basename(startedAs) === 'tranched' && isOnPath) return 'tranched'
  const fromDir = relative(realpathSync(dir), realpathSync(startedAs))
  return `node ${shellWord(fromDir.length < startedAs.length ? fromDir : startedAs)}`
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
