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
/** Read from the end of a file for its last lines, some hundreds. */
const TAIL_BYTES = 32 * 1024
const NEWLINE = 0x0a
const LINE = /^(\d{1,12}),(\d+(?:\.\d+)?),(\d{1,25})$/

/** The first line of a file of rounds from a chain. */
export type FileHead = {
  readonly chainId: number
  readonly feed: Address
  /** Of the feed's answers. */
  readonly decimals: number
}

const HEAD = /^# rounds of a feed: chain (\d{1,15}), feed (0x[0-9a-f]{40}), decimals (\d{1,2})\r?\n/

/** A comment for other readers. */
function headText({ chainId, feed, decimals }: FileHead): string {
  return `# rounds of a feed: chain ${chainId}, feed ${feed}, decimals ${decimals}\n`
}

/** Longer than any first line that `headText` writes. */
const HEAD_BYTES_MAX = 160

/** Undefined if the bytes begin with no such line. */
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

/** Creates the file and its directory. Throws PriceFileError for a file of another feed or of another writer. */
export function openRoundFile(file: string, head: FileHead): RoundFile {
  makeDirectory(dirname(file))
  const beginning = Buffer.from(headText(head) + COLUMNS)
  const opened = openOwn(file)
  try {
    refuseOthers(opened, { file, head, beginning })
    return new RoundFile(file, opened, beginning.length)
  } catch (error) {
    closeSync(opened)
    throw error
  }
}

/** Never writes through a link, nor into a pipe or a device. */
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

/** A file of one feed's rounds, ascending. Of a killed writer it has at most one incomplete line at its end, which is cut off here. */
export class RoundFile {
  readonly #file: string
  readonly #opened: number
  /** Bytes before the first row. */
  readonly #from: number
  /** Bytes of whole lines. */
  #length: number
  #first: RoundLine | undefined
  #tail: RoundLine[]

  constructor(file: string, opened: number, from: number) {
    this.#file = file
    this.#opened = opened
    this.#from = from
    const { tail, length } = this.#readTail()
    this.#length = length
    ftruncateSync(opened, length)
    this.#tail = tail
    this.#first = this.#readFirst()
  }

  /** Undefined while it has no round. */
  get first(): RoundLine | undefined {
    return this.#first
  }

  /** Its last rounds, ascending, some hundreds at most. */
  get tail(): readonly RoundLine[] {
    return this.#tail
  }

  append(lines: readonly RoundLine[]): void {
    const [first] = lines
    if (first === undefined) return
    this.#write(Buffer.from(lines.map(({ text }) => `${text}\n`).join('')))
    this.#first ??= first
    this.#tail = lines.slice(-1)
  }

  /** Removes the last rounds of `tail`. */
  dropLast(count: number): void {
    const gone = this.#tail.splice(this.#tail.length - count)
    this.#length -= gone.reduce((sum, { text }) => sum + text.length + 1, 0)
    ftruncateSync(this.#opened, this.#length)
  }

  /** Appends the rows of another file of the same feed. */
  appendRowsOf(file: string): void {
    const other = openSync(file, 'r')
    try {
      const buffer = Buffer.allocUnsafe(TAIL_BYTES)
      for (let at = this.#from; ; ) {
        const count = readSync(other, buffer, 0, buffer.length, at)
        if (count === 0) return
        this.#write(buffer.subarray(0, count))
        at += count
      }
    } finally {
      closeSync(other)
    }
  }

  /** Syncs, and removes a file without rounds. */
  close(): void {
    fsyncSync(this.#opened)
    closeSync(this.#opened)
    if (this.#length === this.#from) rmSync(this.#file, { force: true })
  }

  /** Refuses if another process has written too: their lines would mix. */
  #write(bytes: Buffer): void {
    if (fstatSync(this.#opened).size !== this.#length)
      throw new PriceFileError({
        file: this.#file,
        detail: 'another process has written to it',
        remedy: 'one `tranched backtest fetch` at a time',
      })
    for (let written = 0; written < bytes.length; )
      written += writeSync(this.#opened, bytes, written, undefined, this.#length + written)
    this.#length += bytes.length
  }

  #readTail(): { readonly tail: RoundLine[]; readonly length: number } {
    const { size } = fstatSync(this.#opened)
    const start = Math.max(this.#from, size - TAIL_BYTES)
    const bytes = bytesAt(this.#opened, start, size - start)
    const end = bytes.lastIndexOf(NEWLINE) + 1
    const lines = bytes.toString('latin1', 0, end).split('\n').slice(0, -1)
    // The first line is whole only at the beginning of the rows.
    const whole = start === this.#from ? lines : lines.slice(1)
    return { tail: whole.map((text) => this.#parsed(text)), length: start + end }
  }

  #readFirst(): RoundLine | undefined {
    if (this.#length === this.#from) return undefined
    const bytes = bytesAt(this.#opened, this.#from, HEAD_BYTES_MAX)
    return this.#parsed(bytes.toString('latin1').split('\n')[0] ?? '')
  }

  #parsed(text: string): RoundLine {
    const match = LINE.exec(text)
    if (match !== null) return { id: BigInt(match[3] ?? 0), atSeconds: Number(match[1]), text }
    throw new PriceFileError({
      file: this.#file,
      detail: `the line \`${shownText(text)}\` is none that \`tranched backtest fetch\` has written`,
      remedy: 'the file as it was made: correct the line, or move the file away to fetch it anew',
    })
  }
}

/** Restarts a file whose head is incomplete. */
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
