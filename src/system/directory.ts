import { mkdirSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { codeOf, OperatorError } from '../domain/errors.ts'

class DirectoryError extends OperatorError {
  override readonly name = 'DirectoryError'
  readonly means = 'failed'
  readonly code: string
  constructor(dir: string, code: string) {
    const [message, remedy] = REASONS[code] ?? [`it cannot be made (${code})`, OTHER_PLACE]
    super(`${dir}: ${message}\n  expected: ${remedy}`)
    this.code = code
  }
}

const OTHER_PLACE = 'another directory'
const REASONS: Readonly<Record<string, readonly [message: string, remedy: string]>> = {
  EACCES: ['this user may not make it', 'a directory that this user may write, or another place'],
  EPERM: ['this user may not make it', 'a directory that this user may write, or another place'],
  EROFS: ['this file system is read-only', OTHER_PLACE],
  ENOSPC: ['the disk is full', 'room on the disk, or another place'],
  ENOTDIR: ['this is not a directory', 'a directory, or a path where there is nothing yet'],
  EEXIST: ['this is not a directory', 'a directory, or a path where there is nothing yet'],
  ENOENT: ['no directory can be made there', OTHER_PLACE],
}

/**
 * Makes a directory and its parents; returns the topmost created one, undefined if all existed. Node's own `recursive` never
 * returns where the system reports a missing parent for an existing directory (`/proc`).
 *
 * @throws {DirectoryError} with the path that is in the way
 */
export function makeDirectory(dir: string, mode = 0o777): string | undefined {
  const missing: string[] = []
  const wanted = resolve(dir)
  let at = wanted
  while (!isDirectory(at, at === wanted ? 'EEXIST' : 'ENOTDIR')) {
    missing.push(at)
    at = dirname(at)
  }
  for (const each of missing.toReversed()) {
    try {
      mkdirSync(each, { mode })
    } catch (error) {
      // Another process may have created it first.
      if (codeOf(error) !== 'EEXIST' || !isDirectory(each))
        throw new DirectoryError(each, causeOf(error))
    }
  }
  return missing.at(-1)
}

/** False for a missing path or a dangling link. Throws for any existing path that is not a directory. */
function isDirectory(path: string, otherwise = 'EEXIST'): boolean {
  try {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat !== undefined && !stat.isDirectory()) throw new DirectoryError(path, otherwise)
    return stat !== undefined
  } catch (error) {
    if (error instanceof DirectoryError) throw error
    // A parent is not a directory; the loop reaches and reports it.
    if (codeOf(error) === 'ENOTDIR') return false
    throw new DirectoryError(path, causeOf(error))
  }
}

function causeOf(error: unknown): string {
  return codeOf(error) ?? String(error)
}
