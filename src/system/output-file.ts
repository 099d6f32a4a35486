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
import { openRegular } from './regular-file.ts'

/** What an output may be put in the place of. */
export type OutputRule = {
  /** What is written, such as `the report of a backtest`. */
  readonly what: string
  /** Stands at the beginning of every file of its kind: such a file gives way. */
  readonly marker: string
  /** Whatever else is there gives way too, but for directories, pipes and devices. */
  readonly force: boolean
  /** Files, and directories with all in them, that no output is ever put in the place of or into. */
  readonly kept: readonly string[]
}

/** Why an output cannot be written, and what would be right. */
export type OutputFault = { readonly message: string; readonly expected: string }

/** Bytes of a file in which its marker stands. */
const HEAD_BYTES = 4_096

/** Undefined where the output can be written, as far as is known before. */
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

/** Why what is at a place does not give way. */
function faultOfPresent(
  place: string,
  { what, marker, force }: OutputRule,
): OutputFault | undefined {
  const present = lstatSync(place, { throwIfNoEntry: false })
  if (present === undefined) return undefined
  if (present.isDirectory()) return fault('this is a directory')
  const isFile = present.isFile()
  if (!isFile && !present.isSymbolicLink()) return fault('this is no regular file')
  if (force || (isFile && headOf(place).includes(marker))) return undefined
  const found = isFile ? `this is there already, and is not ${what}` : 'this is a link'
  return fault(found, 'another name, or --force to put it in the place of what is there')
}

function fault(message: string, expected = 'a file in a directory that is there'): OutputFault {
  return { message, expected }
}

/**
 * Puts a text where a file is to be, whole or not at all: a reader sees what was there or all of it. What is there gives way with
 * `replaces`, a link itself and never what it leads to; else it fails with EEXIST. Throws what the disk says.
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

/** Unlike a rename, neither of the two takes the place of what another program has put there meanwhile. */
function placeNew(temporary: string, file: string): void {
  try {
    linkSync(temporary, file)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw error
    // Not every file system knows hard links.
    copyFileSync(temporary, file, constants.COPYFILE_EXCL)
  }
}

/** Whether a path that is kept is this place, or a directory around it. */
function holds(kept: string, place: string): boolean {
  const own = placeOf(resolve(kept))
  if (place === own || place.startsWith(`${own}${sep}`)) return true
  const [a, b] = [statOf(own), statOf(place)]
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino
}

/** Where links lead, also to what is not there yet. */
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
