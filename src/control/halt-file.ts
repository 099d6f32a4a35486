import * as fs from 'node:fs'
import { join } from 'node:path'
import { excerpt } from '../domain/text/outside-text.ts'
import type { HaltFile } from '../ports.ts'
import { isMissing, PRIVATE_FILE } from '../system/durable-file.ts'

/** Its presence in a state directory is a halt, regardless of author and content. */
const HALT = 'HALT'
const WORDS_BYTES_MAX = 1_024
const WORDS_LENGTH_MAX = 200

export function haltFilePath(dir: string): string {
  return join(dir, HALT)
}

/** Result of reading the file. `unknown` does not permit signing: there may be a halt. */
type HaltReading =
  | { readonly tag: 'absent' }
  | { readonly tag: 'standing' | 'unknown'; readonly detail: string }

/** One look. `seen` is what `identityOf` said of the directory that is meant; another one at its path proves nothing. */
export function readHaltFile(dir: string, seen?: string, file = haltFilePath(dir)): HaltReading {
  try {
    // A link that leads nowhere is there as well.
    if (fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined)
      return { tag: 'standing', detail: `the file ${file} is there${wordsOf(file)}` }
    const present = identityOf(dir)
    return seen === undefined || seen === present
      ? { tag: 'absent' }
      : { tag: 'unknown', detail: `${dir} is not the directory that it was at the start` }
  } catch (error) {
    return {
      tag: 'unknown',
      detail: `whether there is a file ${file} is unknown: ${causeOf(error)}`,
    }
  }
}

/** Distinguishes a directory from another that takes its place, such as the empty one below a volume that was unmounted. */
function identityOf(dir: string): string {
  const { dev, ino } = fs.statSync(dir, { bigint: true })
  return `${dev}:${ino}`
}

/** The file of a state directory that is there. */
export function openHaltFile(dir: string): HaltFile & { blocked(): string | undefined } {
  const seen = identityOf(dir)
  const file = haltFilePath(dir)
  const look = (): HaltReading => readHaltFile(dir, seen, file)
  return {
    blocked() {
      const reading = look()
      return reading.tag === 'absent' ? undefined : reading.detail
    },
    status() {
      const reading = look()
      return reading.tag === 'standing' ? reading.detail : undefined
    },
    lift() {
      removeHaltFile(dir)
      const reading = look()
      if (reading.tag !== 'absent') throw new Error(reading.detail)
    },
  }
}

/**
 * Puts a halt into a directory that is there, durably; one that stands already is left as it is. The file alone is what
 * counts: on a disk that has no room for its words it is there all the same. Throws what the operating system says.
 */
export function writeHaltFile(dir: string, words: string): 'made' | 'standing' {
  const file = haltFilePath(dir)
  let fd: number
  try {
    fd = fs.openSync(file, 'wx', PRIVATE_FILE)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return 'standing'
    throw error
  }
  try {
    fs.writeSync(fd, `${words}\n`)
  } catch {
    // No room for words. The halt stands without them.
  }
  syncAndClose(fd)
  syncDirectory(dir)
  return 'made'
}

/** Takes it away, durably. Throws what the operating system says. */
function removeHaltFile(dir: string): void {
  fs.rmSync(haltFilePath(dir), { force: true })
  syncDirectory(dir)
}

/** At once and not later: between a look and its answer nothing else of the process may run. */
function syncDirectory(dir: string): void {
  syncAndClose(fs.openSync(dir, 'r'))
}

function syncAndClose(fd: number): void {
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Its first line, for the journal and the log. One that cannot be read is a halt as any other. */
function wordsOf(file: string): string {
  let text: string
  try {
    const fd = fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
    try {
      const data = Buffer.alloc(WORDS_BYTES_MAX)
      text = data.toString('utf8', 0, fs.readSync(fd, data, 0, data.length, 0))
    } finally {
      fs.closeSync(fd)
    }
  } catch {
    return ''
  }
  const [line = ''] = text.split('\n', 1)
  const words = excerpt(line.trim(), WORDS_LENGTH_MAX)
  return words === '' ? '' : `: ${words}`
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

function causeOf(error: unknown): string {
  if (isMissing(error)) return 'the directory is not there'
  return codeOf(error) ?? String(error)
}
