import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../domain/errors.ts'
import { excerpt } from '../domain/text/outside-text.ts'
import type { HaltFile } from '../ports.ts'
import { isMissing, PRIVATE_FILE } from '../system/durable-file.ts'

/** This file in a state directory halts trading, regardless of author and content. */
const HALT = 'HALT'
const TEXT_BYTES_MAX = 1_024
const TEXT_LENGTH_MAX = 200

export function haltFilePath(dir: string): string {
  return join(dir, HALT)
}

/** Result of reading the file. `unknown` does not permit signing: there may be a halt. */
type HaltReading =
  | { readonly tag: 'absent' }
  | { readonly tag: 'present' | 'unknown'; readonly detail: string }

/** `seen` is the directory's earlier `identityOf`: an absent file in another directory at this path proves nothing. */
export function readHaltFile(dir: string, seen?: string, file = haltFilePath(dir)): HaltReading {
  try {
    // A dangling link counts.
    if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
      return { tag: 'present', detail: `the file ${file} is there${textOf(file)}` }
    const present = identityOf(dir)
    return seen === undefined || seen === present
      ? { tag: 'absent' }
      : { tag: 'unknown', detail: `${dir} is not the directory that it was at the start` }
  } catch (error) {
    const cause = isMissing(error) ? 'the directory is not there' : (codeOf(error) ?? String(error))
    return { tag: 'unknown', detail: `whether there is a file ${file} is unknown: ${cause}` }
  }
}

/** Tells a directory from another at its path, such as the empty mount point of an unmounted volume. */
function identityOf(dir: string): string {
  const { dev, ino } = statSync(dir, { bigint: true })
  return `${dev}:${ino}`
}

/** The state directory must exist. */
export function openHaltFile(dir: string): HaltFile & { blocked(): string | undefined } {
  const seen = identityOf(dir)
  const file = haltFilePath(dir)
  const read = (): HaltReading => readHaltFile(dir, seen, file)
  return {
    blocked() {
      const reading = read()
      return reading.tag === 'absent' ? undefined : reading.detail
    },
    status() {
      const reading = read()
      return reading.tag === 'present' ? reading.detail : undefined
    },
    lift() {
      rmSync(file, { force: true })
      syncDirectory(dir)
      const reading = read()
      if (reading.tag !== 'absent') throw new Error(reading.detail)
    },
  }
}

/**
 * Creates the file durably in an existing directory; keeps an existing file. Its presence alone counts: on a full disk it
 * exists without its text. Throws the system's error.
 */
export function writeHaltFile(dir: string, text: string): 'made' | 'present' {
  const file = haltFilePath(dir)
  let fd: number
  try {
    fd = openSync(file, 'wx', PRIVATE_FILE)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return 'present'
    throw error
  }
  try {
    writeSync(fd, `${text}\n`)
  } catch {
    // The disk is full: the halt holds without its text.
  }
  syncAndClose(fd)
  syncDirectory(dir)
  return 'made'
}

/** Synchronous, because nothing else in the process may run between a check and its result. */
function syncDirectory(dir: string): void {
  syncAndClose(openSync(dir, 'r'))
}

function syncAndClose(fd: number): void {
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** The file's first line, for the journal and the log; empty if unreadable. */
function textOf(file: string): string {
  let text: string
  try {
    const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const data = Buffer.alloc(TEXT_BYTES_MAX)
      text = data.toString('utf8', 0, readSync(fd, data, 0, data.length, 0))
    } finally {
      closeSync(fd)
    }
  } catch {
    return ''
  }
  const [line = ''] = text.split('\n', 1)
  const words = excerpt(line.trim(), TEXT_LENGTH_MAX)
  return words === '' ? '' : `: ${words}`
}
