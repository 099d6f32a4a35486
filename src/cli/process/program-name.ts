import { realpathSync } from 'node:fs'
import { basename, delimiter, dirname, relative, sep } from 'node:path'
import { shellWord } from '../../domain/text/shell-word.ts'
import type { Io } from './io.ts'

export function programName(
  { startedAs, env }: Pick<Io, 'startedAs' | 'env'>,
  dir: string,
): string {
  if (startedAs === undefined) return 'tranched'
  if (startedAs.endsWith(`${sep}node_modules${sep}.bin${sep}tranched`)) return 'npx tranched'
  const isOnPath = (env['PATH'] ?? '').split(delimiter).includes(dirname(startedAs))
  if (basename(startedAs) === 'tranched' && isOnPath) return 'tranched'
  const fromDir = relative(realpathSync(dir), realpathSync(startedAs))
  return `node ${shellWord(fromDir.length < startedAs.length ? fromDir : startedAs)}`
}
