import { readdirSync } from 'node:fs'
import { readRegular } from '../../system/regular-file.ts'
import { type Problem, problemOf } from './problem.ts'

/** Text of a file. Throws with a `code` (ENOENT, EACCES...) if it cannot be read. */
export type ReadFile = (path: string) => string

/** Names, not paths, of a directory's entries except directories. Throws like `ReadFile`. */
export type ListFiles = (dir: string) => readonly string[]

/** Config and strategy files are written by hand; a larger file is the wrong one. */
const FILE_BYTES_MAX = 1024 * 1024

/** Reads a regular file (through symlinks) of at most 1 MiB of UTF-8; never waits for a pipe or a device. */
export const readDiskFile: ReadFile = (path) => {
  const { data } = readRegular(path, FILE_BYTES_MAX)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(data)
  } catch (error) {
    throw error instanceof TypeError ? Object.assign(error, { code: 'EILSEQ' }) : error
  }
}

export const listDiskFiles: ListFiles = (dir) =>
  readdirSync(dir, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => entry.name)

/** The text of a file, or a problem with cause and remedy; `ifMissing` is the remedy for a missing file. */
export function readText(
  file: string,
  readFile: ReadFile,
  ifMissing = 'the path of a config file: check it, or run `tranched init`',
): { ok: true; text: string } | { ok: false; problem: Problem } {
  try {
    const text = readFile(file)
    return text.length > FILE_BYTES_MAX
      ? { ok: false, problem: unreadable(file, 'EFBIG', ifMissing) }
      : { ok: true, text }
  } catch (error) {
    return { ok: false, problem: unreadable(file, codeOf(error), ifMissing) }
  }
}

/** The operating system's code for an unusable file. Rethrows any other error, which is a bug. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code !== 'string') throw error
  return code
}

const REASONS: ReadonlyMap<string, readonly [message: string, expected: string]> = new Map([
  ['EACCES', ['this file may not be read', 'read permission for the user that runs the daemon']],
  ['EISDIR', ['this is not a regular file', 'a YAML file']],
  ['ENOTREG', ['this is not a regular file', 'a YAML file']],
  ['EFBIG', ['this file is too large', `at most ${FILE_BYTES_MAX} bytes of YAML`]],
  ['EILSEQ', ['this file is not UTF-8 text', 'YAML saved as UTF-8']],
])

function unreadable(file: string, code: string, ifMissing: string): Problem {
  if (code === 'ENOENT')
    return problemOf({ file, message: 'there is no such file', expected: ifMissing })
  const [message, expected] = REASONS.get(code) ?? [
    `this file cannot be read (${code})`,
    'a readable YAML file',
  ]
  return problemOf({ file, message, expected })
}
