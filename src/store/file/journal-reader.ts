import { createReadStream } from 'node:fs'
import type { StateCorruptError } from '../../domain/errors.ts'
import type { JournalRecord } from '../../journal/events/registry.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { openRegular } from '../../system/regular-file.ts'
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
import { firstTimeOf } from './journal-search.ts'
import type { Segment } from './segments.ts'
import { damagedJournal, foreignJournal, unreadableState } from './state-faults.ts'

const CHUNK_BYTES = 1024 * 1024
/** Slice size for reads beside orders: one slice blocks the event loop for 2 ms instead of 30. */
const SLICE_BYTES = 64 * 1024
const NEWLINE = 0x0a

export type ChainStart = {
  readonly seq: number
  /** Undefined if earlier records are unavailable; the first record's `prev` is then accepted. */
  readonly hash: JournalHead['hash'] | undefined
}

type ChainOptions = {
  /** Without a key only the structure is checked. */
  readonly key?: JournalKey | undefined
  /** True if earlier records have MACs; undefined if there are none. */
  readonly hasMacs?: boolean | undefined
}

type PushedLines = {
  readonly lines: readonly CheckedLine[]
  readonly fault: StateCorruptError | undefined
}

/** Verifies the chain through one file's bytes. Holds at most one chunk and one line. */
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

  /** Last record of the last complete append. */
  get head(): ChainStart {
    return this.#batchHead
  }

  /** File length up to that record; the rest is a torn append. */
  get bytes(): number {
    return this.#batchBytes
  }

  /** True if records have MACs; undefined before the first line. */
  get hasMacs(): boolean | undefined {
    return this.#hasMacs
  }

  /** Verified complete lines of `chunk`, up to the first invalid one. They share its memory. Reading ends at a fault. */
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
    // Visible even without the key.
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

/** A record's location for messages. Lines count from 1. */
export function placeOf({ firstSeq }: Segment, seq: number): string {
  const line = seq - firstSeq + 1
  return line === seq ? `line ${line}` : `line ${line} (record ${seq})`
}

/** Records without a file here. Both ends are inclusive. */
export type MissingRecords = { readonly from: number; readonly to: number }

type WalkOptions = ChainOptions & {
  readonly start: ChainStart
  /** Called for records without a file; without this callback they are a fault. */
  readonly onMissing?: ((missing: MissingRecords) => void) | undefined
  /** Length of the last file to read; the rest is being written. */
  readonly lastBytes?: number | undefined
  /** Reads in small slices, to keep the event loop responsive. */
  readonly isBeside?: boolean | undefined
}

export type WalkEnd = {
  readonly segment: Segment
  /** Length of its complete appends. */
  readonly bytes: number
  /** Length read; greater than `bytes` if the last append was torn. */
  readonly fileBytes: number
}

/** Verifies the chain across files. Throws StateCorruptError for any damage. */
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

  /** Last record of the last complete append. */
  get head(): ChainStart {
    return this.#head
  }

  get hasMacs(): boolean | undefined {
    return this.#hasMacs
  }

  get end(): WalkEnd | undefined {
    return this.#end
  }

  /** All verified lines in order, one chunk at a time. Iterate once, to the end. */
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

type ReadOptions = ChainOptions &
  Pick<WalkOptions, 'onMissing' | 'start' | 'isBeside'> & {
    /** Length of the last file, as it was read earlier. */
    readonly bytes: number
  }

/** Verified records of some files, oldest first. Throws StateCorruptError. */
export async function* readRecords(
  segments: readonly Segment[],
  options: ReadOptions,
): AsyncGenerator<JournalRecord> {
  for await (const lines of readLines(segments, options))
    for (const { line } of lines) yield decodeRecord(line)
}

/** Their lines, a chunk at a time: to wait for each record takes longer than to read it. */
export async function* readLines(
  segments: readonly Segment[],
  { bytes, ...options }: ReadOptions,
): AsyncGenerator<readonly CheckedLine[]> {
  const walk = new JournalWalk(segments, { ...options, lastBytes: bytes })
  yield* walk.lines()
  const { end } = walk
  if (end !== undefined && end.bytes !== bytes)
    throw damagedJournal(
      end.segment.file,
      `it ends at byte ${end.bytes} of ${bytes} that were read before`,
    )
}

/**
 * The segments, oldest first, that may hold records from a number or time on, plus the one before, where most of their
 * orders began. By time, files are checked from the newest back, so that a clock that was temporarily ahead does not hide
 * earlier records.
 */
export async function segmentsSince(
  segments: readonly Segment[],
  { seq, atMs }: { readonly seq?: number; readonly atMs?: number },
): Promise<readonly Segment[]> {
  const bySeq =
    seq === undefined ? 0 : segments.findLastIndex(({ firstSeq }) => firstSeq <= Math.max(seq, 1))
  let first = segments.length - 1
  if (atMs === undefined) first = 0
  else while (first > 0 && ((await firstTimeOf(segments[first])) ?? atMs) >= atMs) first -= 1
  return segments.slice(Math.max(0, Math.max(bySeq, first) - 1))
}
