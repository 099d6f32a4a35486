import { closeSync, readSync } from 'node:fs'
import { codeOf } from '../../domain/errors.ts'
import { openRegular } from '../../system/regular-file.ts'
import { PriceFileError } from './price-file-error.ts'

/** Bytes in memory for a file of any size. A megabyte took longer and a third more memory. */
export const BLOCK_BYTES = 256 * 1024

/** Complete lines of a file. */
export type Block = {
  /** Valid until the next block is read. */
  readonly bytes: Buffer
  /** Counted from 1. */
  readonly firstLine: number
}

const NEWLINE = 0x0a

/** A file's lines in blocks. Throws PriceFileError for an unreadable file and for a line longer than a block. */
export function* blocksOf(file: string, blockBytes = BLOCK_BYTES): Generator<Block> {
  const opened = orUnreadable(file, () => openRegular(file))
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
      if (end === 0)
        throw new PriceFileError({
          file,
          line: firstLine,
          detail: `the line is longer than ${blockBytes} bytes`,
          remedy: 'one row of prices a line, with line ends of LF or CRLF',
        })
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

/** Reads until the buffer is full or the file ends. Returns the number of bytes in the buffer. */
function fill(
  opened: number,
  { buffer, held, file }: { readonly buffer: Buffer; readonly held: number; readonly file: string },
): number {
  return orUnreadable(file, () => {
    let length = held
    while (length < buffer.length) {
      const count = readSync(opened, buffer, length, buffer.length - length, null)
      if (count === 0) break
      length += count
    }
    return length
  })
}

function orUnreadable(file: string, read: () => number): number {
  try {
    return read()
  } catch (error) {
    const code = codeOf(error) ?? String(error)
    const unknown = [`it cannot be read (${code})`, 'a file that may be read'] as const
    const [detail, remedy] = UNREADABLE[code] ?? unknown
    throw new PriceFileError({ file, detail, remedy })
  }
}

const UNREADABLE: Readonly<Record<string, readonly [detail: string, remedy: string]>> = {
  ENOENT: ['there is no such file', 'a CSV file of prices; `tranched backtest fetch` makes them'],
  EISDIR: ['this is a directory', 'a CSV file of prices'],
  ENOTREG: [
    'this is not a regular file',
    'a CSV file of prices: write what comes from a pipe or a device into one first',
  ],
}

const BEGINNINGS: readonly (readonly [readonly number[], string, string])[] = [
  [[0xff, 0xfe], 'its text is UTF-16', 'text in UTF-8: save it as such'],
  [[0xfe, 0xff], 'its text is UTF-16', 'text in UTF-8: save it as such'],
  [[0x1f, 0x8b], 'it is compressed', 'plain text: unpack it first, with `gunzip`'],
  [[0x50, 0x4b], 'it is an archive', 'plain text: unpack it first, with `unzip`'],
]

/** Refuses common formats of price files that are not plain text, which would otherwise look like a faulty first line. */
function refuseOtherKinds(bytes: Buffer, file: string): void {
  for (const [beginning, detail, remedy] of BEGINNINGS)
    if (beginning.every((byte, index) => bytes[index] === byte))
      throw new PriceFileError({ file, detail, remedy })
}

function newlinesIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count += 1
  return count
}
