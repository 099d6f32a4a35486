import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { codeOf } from '../domain/errors.ts'
import { openRegular } from './regular-file.ts'

export type OutputRule = {
  /** E.g. `the report of a backtest`. */
  readonly what: string
  /** Bytes at the start of every file of this kind, which may be replaced. */
  readonly marker: string
  /** Also replaces other files, but not directories, pipes and devices. */
  readonly force: boolean
  /** Files and directory trees that are never replaced or written to. */
  readonly kept: readonly string[]
}

type OutputFault = { readonly message: string; readonly expected: string }

const HEAD_BYTES = 4_096

export function outputFault(file: string, rule: OutputRule): OutputFault | undefined {
  const dir = dirname(resolve(file))
  const parent = statSync(dir, { throwIfNoEntry: false })
  if (parent === undefined) return fault(`there is no directory ${dir}`)
  if (!parent.isDirectory()) return fault(`${dir} is no directory`)
  const place = join(realpathSync(dir), basename(resolve(file)))
  if (rule.kept.some((each) => holds(each, place)))
    return fault('the config names this as its own: a key, a state, an anchor, or itself')
  return (
    faultOfPresent(place, rule) ??
    (isWritable(dir) ? undefined : fault(`this user may not write into ${dir}`))
  )
}

function faultOfPresent(place: string, rule: OutputRule): OutputFault | undefined {
  const { what, marker, force } = rule
  const present = lstatSync(place, { throwIfNoEntry: false })
  if (present === undefined) return undefined
  if (present.isDirectory()) return fault('this is a directory')
  const isFile = present.isFile()
  if (!isFile && !present.isSymbolicLink()) return fault('this is not a regular file')
  if (force || (isFile && headOf(place).includes(marker))) return undefined
  const found = isFile ? `this is there already, and is not ${what}` : 'this is a link'
  return fault(found, 'another name, or --force to put it in the place of what is there')
}

function fault(message: string, expected = 'a file in a directory that is there'): OutputFault {
  return { message, expected }
}

/**
 * Writes a file atomically: readers see the old content or all of the new. `replaces` allows replacing a file, or a link
 * itself but never its target; otherwise fails with EEXIST. Throws disk errors.
 */
export function placeFile(
  file: string,
  text: string,
  { mode, replaces }: { readonly mode: number; readonly replaces: boolean },
): void {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const opened = openSync(temporary, 'wx', mode)
    try {
      writeFileSync(opened, text)
      fsyncSync(opened)
    } finally {
      closeSync(opened)
    }
    if (replaces) renameSync(temporary, file)
    else placeNew(temporary, file)
  } finally {
    rmSync(temporary, { force: true })
  }
}

/** Unlike a rename, neither call replaces a file that another program has just created. */
function placeNew(temporary: string, file: string): void {
  try {
    linkSync(temporary, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error
    // Not every file system has hard links.
    copyFileSync(temporary, file, constants.COPYFILE_EXCL)
  }
}

/** True if a protected path is this path or a parent of it. */
function holds(kept: string, place: string): boolean {
  const own = placeOf(resolve(kept))
  if (place === own || place.startsWith(`${own}${sep}`)) return true
  const [a, b] = [statOf(own), statOf(place)]
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino
}

/** Resolves links, even to missing targets. */
function placeOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(placeOf(parent), basename(path))
  }
}

function statOf(path: string) {
  return statSync(path, { throwIfNoEntry: false, bigint: true })
}

function isWritable(dir: string): boolean {
  try {
    accessSync(dir, constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

function headOf(file: string): string {
  const opened = openRegular(file)
  try {
    const head = Buffer.alloc(HEAD_BYTES)
    return head.toString('latin1', 0, readSync(opened, head, 0, head.length, 0))
  } finally {
    closeSync(opened)
  }
}
