import { closeSync, readSync } from 'node:fs'
import { openRegular } from '../../files/regular-file.ts'
import { PriceFileError } from './price-file-error.ts'

/** Bytes read at a time: what is in memory of a file of whatever size. A megabyte took longer, and a third more memory. */
export const BLOCK_BYTES = 256 * 1024

/** Whole lines of a file. */
export type Block = {
  /** Good until the next block is asked for. */
  readonly bytes: Buffer
  /** Of the file, from 1. */
  readonly firstLine: number
}

const NEWLINE = 0x0a

/** A file's lines in blocks, in order. Throws PriceFileError for what cannot be read, and for a line longer than a block. */
export function* blocksOf(file: string, blockBytes = BLOCK_BYTES): Generator<Block> {
  const opened = open(file)
  try {
    const buffer = Buffer.allocUnsafe(blockBytes)
    let firstLine = 1
    let held = 0
    for (;;) {
      const length = fill(opened, { buffer, held, file })
      const bytes = buffer.subarray(0, length)
      if (firstLine === 1) refuseOtherKinds(bytes, file)
      if (length < blockBytes) {
        if (length > 0) yield { bytes, firstLine }
        return
      }
      const end = bytes.lastIndexOf(NEWLINE) + 1
      if (end === 0) throw endlessLine(file, firstLine, blockBytes)
      const whole = bytes.subarray(0, end)
      const lines = newlinesIn(whole)
      yield { bytes: whole, firstLine }
      firstLine += lines
      buffer.copyWithin(0, end)
      held = length - end
    }
  } finally {
    closeSync(opened)
  }
}

function open(file: string): number {
  try {
    return openRegular(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}

/** Reads until the buffer is full or the file is over; gives how many bytes it holds then. */
function fill(
  opened: number,
  { buffer, held, file }: { readonly buffer: Buffer; readonly held: number; readonly file: string },
): number {
  let length = held
  try {
    while (length < buffer.length) {
      const count = readSync(opened, buffer, length, buffer.length - length, null)
      if (count === 0) break
      length += count
    }
  } catch (error) {
    throw unreadable(file, error)
  }
  return length
}

function unreadable(file: string, error: unknown): PriceFileError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  if (code === 'ENOENT')
    return new PriceFileError({
      file,
      detail: 'there is no such file',
      remedy: 'a CSV file of prices; `tranched backtest fetch` makes them',
    })
  if (code === 'EISDIR')
    return new PriceFileError({
      file,
      detail: 'this is a directory',
      remedy: 'a CSV file of prices',
    })
  if (code === 'ENOTREG')
    return new PriceFileError({
      file,
      detail: 'this is no regular file',
      remedy: 'a CSV file of prices: write what comes from a pipe or a device into one first',
    })
  return new PriceFileError({
    file,
    detail: `it cannot be read (${code})`,
    remedy: 'a file that may be read',
  })
}

const BEGINNINGS: readonly (readonly [readonly number[], string, string])[] = [
  [[0xff, 0xfe], 'its text is UTF-16', 'text in UTF-8: save it as such'],
  [[0xfe, 0xff], 'its text is UTF-16', 'text in UTF-8: save it as such'],
  [[0x1f, 0x8b], 'it is compressed', 'plain text: unpack it first, with `gunzip`'],
  [[0x50, 0x4b], 'it is an archive', 'plain text: unpack it first, with `unzip`'],
]

/** What prices are often handed out in and is no plain text would else be told as a mistake in its first line. */
function refuseOtherKinds(bytes: Buffer, file: string): void {
  for (const [beginning, detail, remedy] of BEGINNINGS)
    if (beginning.every((byte, index) => bytes[index] === byte))
      throw new PriceFileError({ file, detail, remedy })
}

function endlessLine(file: string, line: number, blockBytes: number): PriceFileError {
  return new PriceFileError({
    file,
    line,
    detail: `the line is longer than ${blockBytes} bytes`,
    remedy: 'one row of prices a line, with line ends of LF or CRLF',
  })
}

function newlinesIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1
  return count
}
