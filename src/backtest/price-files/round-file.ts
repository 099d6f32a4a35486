import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { codeOf } from '../../domain/errors.ts'
import { type Address, formatAmount, parseAddress } from '../../domain/money/units.ts'
import { makeDirectory } from '../../system/directory.ts'
import { PriceFileError, shownText } from './price-file-error.ts'
import type { FeedRound } from './round-reader.ts'

const COLUMNS = 'time,price,round\n'
/** Bytes read from the end of a file for its last lines, some hundreds. */
const TAIL_BYTES = 32 * 1024
const NEWLINE = 0x0a
const LINE = /^(\d{1,12}),(\d+(?:\.\d+)?),(\d{1,25})$/

/** The first line of a file of rounds from a chain. */
export type FileHead = {
  readonly chainId: number
  readonly feed: Address
  /** Decimals of the feed's answers. */
  readonly decimals: number
}

const HEAD = /^# rounds of a feed: chain (\d{1,15}), feed (0x[0-9a-f]{40}), decimals (\d{1,2})\r?\n/

/** The first line, which is a comment to other readers. */
function headText({ chainId, feed, decimals }: FileHead): string {
  return `# rounds of a feed: chain ${chainId}, feed ${feed}, decimals ${decimals}\n`
}

/** Longer than any first line that `headText` writes. */
const HEAD_BYTES_MAX = 160

/** Undefined if the bytes do not begin with such a line. */
export function headOf({ bytes }: { readonly bytes: Buffer }): FileHead | undefined {
  const match = HEAD.exec(bytes.toString('latin1', 0, HEAD_BYTES_MAX))
  const feed = parseAddress(match?.[2] ?? '')
  if (match === null || feed === undefined) return undefined
  return { chainId: Number(match[1]), feed, decimals: Number(match[3]) }
}

export type RoundLine = { readonly id: bigint; readonly atSeconds: number; readonly text: string }

export function lineOf({ id, answer, updatedAtSeconds }: FeedRound, decimals: number): RoundLine {
  const text = `${updatedAtSeconds},${formatAmount(answer, decimals)},${id}`
  return { id, atSeconds: updatedAtSeconds, text }
}

export type RoundFile = ReturnType<typeof openRoundFile>

/**
 * Opens a file of one feed's rounds, ascending; creates it with its directory. A killed writer leaves at most one incomplete
 * line at the end, which is cut off. Throws PriceFileError for a file of another feed or another writer.
 */
export function openRoundFile(file: string, head: FileHead) {
  makeDirectory(dirname(file))
  const beginning = Buffer.from(headText(head) + COLUMNS)
  const opened = openOwn(file)
  try {
    refuseOthers(opened, { file, head, beginning })
    return roundsIn(file, opened, beginning.length)
  } catch (error) {
    closeSync(opened)
    throw error
  }
}

/** Opens without following a link. Refuses pipes and devices. */
function openOwn(file: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const refused = (detail: string): PriceFileError =>
    new PriceFileError({
      file,
      detail,
      remedy: 'a file of its own: move it away, or name another directory with --prices',
    })
  try {
    const opened = openSync(file, flags, 0o666)
    if (fstatSync(opened).isFile()) return opened
    closeSync(opened)
    throw refused('this is not a regular file')
  } catch (error) {
    const code = codeOf(error)
    if (code === 'ELOOP') throw refused('this is a link, which is never written through')
    if (code === 'EISDIR' || code === 'ENXIO') throw refused('this is not a regular file')
    if (code === 'EACCES' || code === 'EROFS') throw refused('this user may not write it')
    throw error
  }
}

/** `from`: bytes before the first row. */
function roundsIn(file: string, opened: number, from: number) {
  // `length` counts the bytes of complete lines.
  let { tail, length } = readTail()
  ftruncateSync(opened, length)
  let first = length === from ? undefined : firstLine()

  function readTail(): { tail: RoundLine[]; length: number } {
    const { size } = fstatSync(opened)
    const start = Math.max(from, size - TAIL_BYTES)
    const bytes = bytesAt(opened, start, size - start)
    const end = bytes.lastIndexOf(NEWLINE) + 1
    const lines = bytes.toString('latin1', 0, end).split('\n').slice(0, -1)
    // The first line is complete only at the beginning of the rows.
    const whole = start === from ? lines : lines.slice(1)
    return { tail: whole.map((text) => parsed(text, file)), length: start + end }
  }

  function firstLine(): RoundLine {
    const bytes = bytesAt(opened, from, HEAD_BYTES_MAX)
    return parsed(bytes.toString('latin1').split('\n')[0] ?? '', file)
  }

  /** Refuses to write if another process has also written, because their lines would mix. */
  function write(bytes: Buffer): void {
    if (fstatSync(opened).size !== length)
      throw new PriceFileError({
        file,
        detail: 'another process has written to it',
        remedy: 'one `tranched backtest fetch` at a time',
      })
    for (let written = 0; written < bytes.length; )
      written += writeSync(opened, bytes, written, undefined, length + written)
    length += bytes.length
  }

  return {
    /** Undefined without rounds. */
    get first(): RoundLine | undefined {
      return first
    },
    /** Its last rounds, ascending, some hundreds at most. */
    get tail(): readonly RoundLine[] {
      return tail
    },
    append(lines: readonly RoundLine[]): void {
      const [begun] = lines
      if (begun === undefined) return
      write(Buffer.from(lines.map(({ text }) => `${text}\n`).join('')))
      first ??= begun
      tail = lines.slice(-1)
    },
    /** Removes the last rounds of `tail`. */
    dropLast(count: number): void {
      const gone = tail.splice(tail.length - count)
      length -= gone.reduce((sum, { text }) => sum + text.length + 1, 0)
      ftruncateSync(opened, length)
    },
    /** Appends the rows of another file of the same feed. */
    appendRowsOf(other: string): void {
      const source = openSync(other, 'r')
      try {
        const buffer = Buffer.allocUnsafe(TAIL_BYTES)
        for (let at = from; ; ) {
          const count = readSync(source, buffer, 0, buffer.length, at)
          if (count === 0) return
          write(buffer.subarray(0, count))
          at += count
        }
      } finally {
        closeSync(source)
      }
    },
    /** Syncs the file, and removes it if it has no rounds. */
    close(): void {
      fsyncSync(opened)
      closeSync(opened)
      if (length === from) rmSync(file, { force: true })
    },
  }
}

function parsed(text: string, file: string): RoundLine {
  const match = LINE.exec(text)
  if (match !== null) return { id: BigInt(match[3] ?? 0), atSeconds: Number(match[1]), text }
  throw new PriceFileError({
    file,
    detail: `the line \`${shownText(text)}\` is none that \`tranched backtest fetch\` has written`,
    remedy: 'the file as it was made: correct the line, or move the file away to fetch it anew',
  })
}

/** Refuses a file with another head. Restarts a file whose head is incomplete. */
function refuseOthers(
  opened: number,
  { file, head, beginning }: { file: string; head: FileHead; beginning: Buffer },
): void {
  const { size } = fstatSync(opened)
  const found = bytesAt(opened, 0, Math.min(size, beginning.length))
  if (size < beginning.length && beginning.subarray(0, size).equals(found)) {
    ftruncateSync(opened, 0)
    writeSync(opened, beginning, 0, undefined, 0)
    return
  }
  if (found.equals(beginning)) return
  const other = headOf({ bytes: bytesAt(opened, 0, Math.min(size, HEAD_BYTES_MAX)) })
  throw new PriceFileError({
    file,
    line: 1,
    detail:
      other === undefined
        ? 'the file is not one that `tranched backtest fetch` has written'
        : `the rounds are those of the feed ${other.feed} on chain ${other.chainId} with ${other.decimals} decimals`,
    remedy: `rounds of ${head.feed} on chain ${head.chainId} with ${head.decimals} decimals; move the file away, or name another directory with --prices`,
  })
}

function bytesAt(opened: number, at: number, count: number): Buffer {
  const buffer = Buffer.alloc(count)
  return buffer.subarray(0, readSync(opened, buffer, 0, count, at))
}
