import { type FileHandle, open } from 'node:fs/promises'
import { isMissing } from './durable-file.ts'
import { LINE_BYTES_MAX } from './journal-codec.ts'
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

/** A record's line, read as far as its type. It is gone with the next batch. */
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

/**
 * One block of a file at a time, with what is left over of the one before. It is the same memory each time: who is given lines
 * of it has to be done with them before the next.
 */
class Blocks {
  readonly #handle: FileHandle
  #memory = Buffer.allocUnsafe(2 * BLOCK_BYTES)

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** The bytes of the file from `from` on, with `before` in front of them and `after` behind. */
  async read(
    from: number,
    length: number,
    { before = EMPTY, after = EMPTY }: { readonly before?: Buffer; readonly after?: Buffer },
  ): Promise<Buffer> {
    const needed = before.length + length + after.length
    if (this.#memory.length < needed) this.#memory = Buffer.allocUnsafe(2 * needed)
    let end = before.copy(this.#memory)
    const full = end + length
    while (end < full) {
      const at = from + end - before.length
      const { bytesRead } = await this.#handle.read(this.#memory, end, full - end, at)
      if (bytesRead === 0) break
      end += bytesRead
    }
    end += after.copy(this.#memory, end)
    return this.#memory.subarray(0, end)
  }
}

const EMPTY = Buffer.alloc(0)

async function* linesForward(file: string): AsyncGenerator<readonly RecordLine[]> {
  const handle = await openOrUndefined(file)
  if (handle === undefined) return
  try {
    const { size } = await handle.stat()
    const blocks = new Blocks(handle)
    let rest: Buffer = EMPTY
    for (let at = 0; at < size; at += BLOCK_BYTES) {
      const data = await blocks.read(at, Math.min(BLOCK_BYTES, size - at), { before: rest })
      const end = data.lastIndexOf(NEWLINE) + 1
      if (end > 0) yield linesIn(data.subarray(0, end))
      rest = Buffer.from(data.subarray(end))
      // Newlines that are gone must not gather the whole file.
      if (rest.length > LINE_BYTES_MAX) return
    }
  } finally {
    await handle.close()
  }
}

async function* linesBackward(file: string): AsyncGenerator<readonly RecordLine[]> {
  const handle = await openOrUndefined(file)
  if (handle === undefined) return
  try {
    let start = (await handle.stat()).size
    const blocks = new Blocks(handle)
    /** The end of a line that begins before `start`; undefined until the last line break of the file was seen. */
    let rest: Buffer | undefined
    while (start > 0) {
      const length = Math.min(BLOCK_BYTES, start)
      start -= length
      const read = await blocks.read(start, length, rest === undefined ? {} : { after: rest })
      // What comes after that line break is an append under way.
      const data = rest === undefined ? read.subarray(0, read.lastIndexOf(NEWLINE) + 1) : read
      if (data.length === 0) continue
      const cut = start === 0 ? 0 : data.indexOf(NEWLINE) + 1
      rest = Buffer.from(data.subarray(0, cut))
      if (cut < data.length) yield linesIn(data.subarray(cut)).reverse()
      if (rest.length > LINE_BYTES_MAX) return
    }
  } finally {
    await handle.close()
  }
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
