import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { JournalRecord } from '../../domain/book/journal.ts'
import type { StateCorruptError } from '../../domain/errors.ts'
import { openRegular } from '../../files/regular-file.ts'
import type { JournalKey } from '../keys/journal-key.ts'
import {
  type CheckedLine,
  checkLine,
  decodeRecord,
  foreign,
  GENESIS,
  type JournalHead,
  LINE_BYTES_MAX,
  type LineFault,
  predecessorOf,
} from './journal-codec.ts'
import type { Segment } from './segments.ts'
import { damagedJournal, foreignJournal, unreadableState } from './state-faults.ts'

const CHUNK_BYTES = 1024 * 1024
/** For whoever reads beside orders: checking what is read at once takes two milliseconds, and not thirty. */
const SLICE_BYTES = 64 * 1024
const NEWLINE = 0x0a

/** Where a file of the journal begins. */
export type ChainStart = {
  readonly seq: number
  /** Undefined where the records before are not at hand: then the first one is believed to follow what it names. */
  readonly hash: JournalHead['hash'] | undefined
}

export type ChainOptions = {
  /** Without it only the structure is checked. */
  readonly key?: JournalKey | undefined
  /** Whether the records before carry MACs; undefined when there are none. */
  readonly hasMacs?: boolean | undefined
}

export type PushedLines = {
  readonly lines: readonly CheckedLine[]
  readonly fault: StateCorruptError | undefined
}

/** Follows the chain through one file's bytes, in whatever pieces they come. Holds one chunk and one line at most. */
export class ChainReader {
  readonly #segment: Segment
  readonly #key: JournalKey | undefined
  #rest: Buffer = Buffer.alloc(0)
  #head: ChainStart
  #batchHead: ChainStart
  #bytes = 0
  #batchBytes = 0
  #hasMacs: boolean | undefined

  constructor(segment: Segment, start: ChainStart, options: ChainOptions = {}) {
    this.#segment = segment
    this.#head = start
    this.#batchHead = start
    this.#key = options.key
    this.#hasMacs = options.hasMacs
  }

  /** Last record of the last append that is complete. */
  get head(): ChainStart {
    return this.#batchHead
  }

  /** Length of the file up to and with that record; what follows is an append cut short. */
  get bytes(): number {
    return this.#batchBytes
  }

  /** Whether the lines carry MACs; undefined before the first. */
  get hasMacs(): boolean | undefined {
    return this.#hasMacs
  }

  /**
   * Complete lines in `chunk`, checked, up to the first that is not as it was written. They refer to its memory. After a
   * fault there is nothing more to read.
   */
  push(chunk: Buffer): PushedLines {
    const lines: CheckedLine[] = []
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    let start = 0
    for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, start)) {
      const followed = this.#follow(data.subarray(start, end))
      if ('fault' in followed) return { lines, fault: this.#bad(followed) }
      lines.push(followed)
      start = end + 1
    }
    this.#rest = data.subarray(start)
    if (this.#rest.length <= LINE_BYTES_MAX) return { lines, fault: undefined }
    return { lines, fault: this.#bad({ fault: 'is longer than any record', isForeign: false }) }
  }

  #follow(line: Buffer): CheckedLine | LineFault {
    const { seq, hash = predecessorOf(line) ?? GENESIS.hash } = this.#head
    const checked = checkLine({ seq, hash }, line, this.#key)
    if ('fault' in checked) return checked
    // Anybody sees this much without the key.
    this.#hasMacs ??= checked.hasMac
    if (checked.hasMac !== this.#hasMacs)
      return foreign(
        checked.hasMac
          ? 'it carries a MAC, and what was written before carries none'
          : 'it carries no MAC, and what was written before does',
      )
    this.#head = checked.head
    this.#bytes += line.length + 1
    if (!checked.more) {
      this.#batchHead = this.#head
      this.#batchBytes = this.#bytes
    }
    return checked
  }

  #bad({ fault, isForeign }: LineFault): StateCorruptError {
    const where = placeOf(this.#segment, this.#head.seq + 1)
    const make = isForeign ? foreignJournal : damagedJournal
    return make(this.#segment.file, `${where} ${fault}`)
  }
}

/** Where a record stands in its file, for an editor and for the journal's own numbers. Lines count from 1. */
export function placeOf({ firstSeq }: Segment, seq: number): string {
  const line = seq - firstSeq + 1
  return line === seq ? `line ${line}` : `line ${line} (record ${seq})`
}

/** Records that stand in no file that is here. Both ends are inclusive. */
export type MissingRecords = { readonly from: number; readonly to: number }

export type WalkOptions = ChainOptions & {
  readonly start: ChainStart
  /** Hears of records that no file here holds; without it they are a fault. */
  readonly onMissing?: ((missing: MissingRecords) => void) | undefined
  /** How much of the last file is read; the rest is being written. */
  readonly lastBytes?: number | undefined
  /** Reads in small slices, so that the loop turns in between. */
  readonly isBeside?: boolean | undefined
}

/** How far a walk came in its last file. */
export type WalkEnd = {
  readonly segment: Segment
  /** Length of its complete appends. */
  readonly bytes: number
  /** Length that was read; more than `bytes` if the last append was cut short. */
  readonly fileBytes: number
}

/** Follows the chain from file to file. Throws StateCorruptError for what is not as it was written. */
export class JournalWalk {
  readonly #segments: readonly Segment[]
  readonly #options: WalkOptions
  #head: ChainStart
  #hasMacs: boolean | undefined
  #end: WalkEnd | undefined

  constructor(segments: readonly Segment[], options: WalkOptions) {
    this.#segments = segments
    this.#options = options
    this.#head = options.start
    this.#hasMacs = options.hasMacs
  }

  /** Last record of the last append that is complete. */
  get head(): ChainStart {
    return this.#head
  }

  get hasMacs(): boolean | undefined {
    return this.#hasMacs
  }

  /** Undefined when there was no file. */
  get end(): WalkEnd | undefined {
    return this.#end
  }

  /** Every line in order, checked, as many at a time as a chunk holds. Read it once, to its end. */
  async *lines(): AsyncGenerator<readonly CheckedLine[]> {
    for (const [index, segment] of this.#segments.entries()) {
      this.#step(segment)
      const isLast = index === this.#segments.length - 1
      const { key, isBeside } = this.#options
      const reader = new ChainReader(segment, this.#head, { key, hasMacs: this.#hasMacs })
      let fileBytes = 0
      for await (const chunk of readChunks(
        segment.file,
        isLast ? this.#options.lastBytes : undefined,
        isBeside === true ? SLICE_BYTES : CHUNK_BYTES,
      )) {
        fileBytes += chunk.length
        const { lines, fault } = reader.push(chunk)
        yield lines
        if (fault !== undefined) throw fault
      }
      if (!isLast && fileBytes !== reader.bytes)
        throw damagedJournal(
          segment.file,
          `it ends in the middle of the append after ${placeOf(segment, reader.head.seq)}, and there is a later file`,
        )
      this.#head = reader.head
      this.#hasMacs = reader.hasMacs
      this.#end = { segment, bytes: reader.bytes, fileBytes }
    }
  }

  /** From the end of one file to the beginning of the next. */
  #step(segment: Segment): void {
    const { firstSeq, file } = segment
    const missing = { from: this.#head.seq + 1, to: firstSeq - 1 }
    if (missing.to === missing.from - 1) return
    if (missing.to < missing.from)
      throw damagedJournal(
        file,
        `its name says record ${firstSeq}, and the file before it ends with ${missing.from - 1}`,
      )
    if (this.#options.onMissing === undefined)
      throw damagedJournal(
        file,
        `the file before it is not here: records ${missing.from} to ${missing.to} are missing`,
      )
    this.#options.onMissing(missing)
    this.#head = { seq: missing.to, hash: undefined }
  }
}

/** A file's bytes in chunks, up to `bytes` or to its end. */
async function* readChunks(
  file: string,
  bytes = Infinity,
  highWaterMark = CHUNK_BYTES,
): AsyncGenerator<Buffer> {
  if (bytes === 0) return
  try {
    const options = { fd: openRegular(file), start: 0, end: bytes - 1, highWaterMark }
    yield* createReadStream(file, options)
  } catch (error) {
    throw unreadableState(file, error)
  }
}

/**
 * Records of some files, oldest first, each checked. `bytes` of the last one were read before. Throws StateCorruptError.
 */
export async function* readRecords(
  segments: readonly Segment[],
  {
    bytes,
    ...options
  }: ChainOptions & Pick<WalkOptions, 'onMissing' | 'start' | 'isBeside'> & { bytes: number },
): AsyncGenerator<JournalRecord> {
  const walk = new JournalWalk(segments, { ...options, lastBytes: bytes })
  for await (const lines of walk.lines()) {
    for (const { line } of lines) yield decodeRecord(line)
  }
  const { end } = walk
  if (end !== undefined && end.bytes !== bytes)
    throw damagedJournal(
      end.segment.file,
      `it ends at byte ${end.bytes} of ${bytes} that were read before`,
    )
}

/** Enough for the number and the time of a record, which begin its line. */
const LINE_HEAD_BYTES = 64
const LINE_HEAD = /^\{"seq":\d+,"atMs":(\d+),/

/**
 * Those of some segments, oldest first, that may hold records from a number or a time on, and the one before them: what they go on
 * with was mostly begun there. By time the files are asked from the newest back: clocks are set, and one that was ahead for a while
 * must not hide what came before it.
 */
export async function segmentsSince(
  segments: readonly Segment[],
  { seq, atMs }: { readonly seq?: number; readonly atMs?: number },
): Promise<readonly Segment[]> {
  const bySeq =
    seq === undefined ? 0 : segments.findLastIndex(({ firstSeq }) => firstSeq <= Math.max(seq, 1))
  let first = segments.length - 1
  if (atMs === undefined) first = 0
  else while (first > 0 && !(await beginsBefore(segments[first], atMs))) first -= 1
  return segments.slice(Math.max(0, Math.max(bySeq, first) - 1))
}

/** Whether the first record of a file was made before some time; false for a file that has none yet. */
async function beginsBefore(segment: Segment | undefined, atMs: number): Promise<boolean> {
  if (segment === undefined) return false
  const handle = await open(segment.file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(LINE_HEAD_BYTES))
    const made = LINE_HEAD.exec(buffer.toString('latin1', 0, bytesRead))?.[1]
    return made !== undefined && Number(made) < atMs
  } finally {
    await handle.close()
  }
}
