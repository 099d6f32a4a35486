import { type FileHandle, open } from 'node:fs/promises'
import { isMissing } from './durable-file.ts'
import { LINE_BYTES_MAX } from './journal-codec.ts'
import { readChunks } from './journal-reader.ts'
import { listSegments, type Segment, withArchive } from './segments.ts'

/**
 * Looks for records in a journal beside its writer, without reading all of it. A block is looked through between two reads of
 * the disk, so nothing else waits longer than that takes: what is not wanted is not even parsed. The chain is not checked
 * here; whoever signs by the journal reads it otherwise.
 */

/** Some hundred lines. */
const BLOCK_BYTES = 128 * 1024
const NEWLINE = 0x0a
const HEAD_BYTES = 112
const HEAD = /^\{"seq":(\d{1,15}),"atMs":(\d{1,15}),"event":\{"type":"([a-z-]{1,40})"/

/** A record's line, read as far as its type. It refers to the memory of its block. */
export type RecordLine = {
  readonly seq: number
  readonly atMs: number
  readonly type: string
  readonly line: Buffer
}

/** Lines of one file, with the record that it begins with. */
export type LineBatch = { readonly firstSeq: number; readonly lines: readonly RecordLine[] }

/** Where a journal's files are. */
export type JournalPlace = {
  /** The journal's own directory. */
  readonly dir: string
  /** Where finished files are moved to, if anywhere. */
  readonly archive: string | undefined
}

export type SearchOptions = JournalPlace & {
  /** Files of the journal that are looked through at most. */
  readonly filesMax: number
}

/** Walks from the newest record backwards. Read `batches` once; each holds its newest line first. */
export class BackwardSearch {
  readonly #options: SearchOptions & { readonly before?: number | undefined }
  #isWhole = false
  #reachedSeq: number | undefined

  /** With `before` it begins with the file that holds the record before that one. */
  constructor(options: SearchOptions & { readonly before?: number | undefined }) {
    this.#options = options
  }

  /** Whether it came to the journal's first record. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** The oldest record that was given; undefined before the first. */
  get reachedSeq(): number | undefined {
    return this.#reachedSeq
  }

  async *batches(): AsyncGenerator<LineBatch> {
    const { before = Infinity, filesMax } = this.#options
    const segments = await filesOf(this.#options)
    const from = segments.filter(({ firstSeq }) => firstSeq < before)
    for (const { file, firstSeq } of from.slice(-filesMax).reverse()) {
      for await (const lines of linesBackward(file)) {
        this.#reachedSeq = lines.at(-1)?.seq ?? this.#reachedSeq
        yield { firstSeq, lines }
      }
    }
    this.#isWhole = from.length <= filesMax && (from[0]?.firstSeq ?? 1) === 1
  }
}

/** Walks from a time forwards. Read `batches` once; each holds its oldest line first. */
export class ForwardSearch {
  readonly #options: SearchOptions & { readonly fromMs: number }
  #isWhole = false

  /** Begins with the file that was being written at `fromMs`, by the times of the records. */
  constructor(options: SearchOptions & { readonly fromMs: number }) {
    this.#options = options
  }

  /** Whether it came to the newest record, from a file that was there. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  async *batches(): AsyncGenerator<LineBatch> {
    const { fromMs, filesMax } = this.#options
    const segments = await filesOf(this.#options)
    const from = await startingAt(segments, fromMs)
    for (const { file, firstSeq } of segments.slice(from, from + filesMax)) {
      for await (const lines of linesForward(file)) yield { firstSeq, lines }
    }
    const isThere = from > 0 || (segments[0]?.firstSeq ?? 1) === 1
    this.#isWhole = isThere && from + filesMax >= segments.length
  }
}

async function filesOf({ dir, archive }: JournalPlace): Promise<readonly Segment[]> {
  return withArchive(await listSegments(dir), archive)
}

/** The last file that begins at or before a time; the first one where none does. Asks as many files as halving takes. */
async function startingAt(segments: readonly Segment[], fromMs: number): Promise<number> {
  let low = 0
  let high = segments.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    const segment = segments[middle]
    const beganMs = segment === undefined ? undefined : await firstTimeOf(segment)
    // A file that was begun and not written yet, or that is gone, is later than whatever is looked for.
    if (beganMs === undefined || beganMs > fromMs) high = middle - 1
    else low = middle
  }
  return Math.max(0, low)
}

async function firstTimeOf({ file }: Segment): Promise<number | undefined> {
  const handle = await openOrUndefined(file)
  if (handle === undefined) return undefined
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return headOf(buffer.subarray(0, bytesRead))?.atMs
  } finally {
    await handle.close()
  }
}

async function openOrUndefined(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'r')
  } catch (error) {
    // Moved to an archive since it was listed.
    if (isMissing(error)) return undefined
    throw error
  }
}

async function* linesForward(file: string): AsyncGenerator<readonly RecordLine[]> {
  let rest: Buffer = Buffer.alloc(0)
  try {
    for await (const chunk of readChunks(file, Infinity, BLOCK_BYTES)) {
      const data = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
      const end = data.lastIndexOf(NEWLINE) + 1
      rest = data.subarray(end)
      if (end > 0) yield linesIn(data.subarray(0, end))
      // Newlines that are gone must not gather the whole file.
      if (rest.length > LINE_BYTES_MAX) return
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}

async function* linesBackward(file: string): AsyncGenerator<readonly RecordLine[]> {
  const handle = await openOrUndefined(file)
  if (handle === undefined) return
  try {
    let start = (await handle.stat()).size
    /** The end of a line that begins before `start`. */
    let rest: Buffer | undefined
    while (start > 0) {
      const length = Math.min(BLOCK_BYTES, start)
      start -= length
      const block = await readExactly(handle, start, length)
      // What comes after the last newline of a file is an append under way.
      const data =
        rest === undefined
          ? block.subarray(0, block.lastIndexOf(NEWLINE) + 1)
          : Buffer.concat([block, rest])
      const cut = start === 0 ? 0 : data.indexOf(NEWLINE) + 1
      rest = start > 0 && cut === 0 && data.length === 0 ? undefined : data.subarray(0, cut)
      if (cut < data.length) yield linesIn(data.subarray(cut)).reverse()
      if (rest !== undefined && rest.length > LINE_BYTES_MAX) return
    }
  } finally {
    await handle.close()
  }
}

async function readExactly(handle: FileHandle, from: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(buffer, filled, length - filled, from + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

/** What is no record's line is nobody's: the daemon's own reading says what is wrong with it. */
function linesIn(data: Buffer): RecordLine[] {
  const lines: RecordLine[] = []
  let start = 0
  for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, start)) {
    const line = data.subarray(start, end)
    const head = headOf(line)
    if (head !== undefined) lines.push({ ...head, line })
    start = end + 1
  }
  return lines
}

function headOf(line: Buffer): Omit<RecordLine, 'line'> | undefined {
  const match = HEAD.exec(line.toString('latin1', 0, HEAD_BYTES))
  if (match === null) return undefined
  const [, seq = '', atMs = '', type = ''] = match
  return { seq: Number(seq), atMs: Number(atMs), type }
}
