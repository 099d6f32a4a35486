import { type FileHandle, open } from 'node:fs/promises'
import { ifThere } from '../../system/durable-file.ts'
import { LINE_BYTES_MAX } from './journal-codec.ts'
import { listSegments, type Segment, withArchive } from './segments.ts'

/**
 * Searches a journal beside its writer without reading all of it. Scans one block between two disk reads, and parses only
 * matching records, so the event loop stays responsive. The hash chain is not verified here: code that signs reads the
 * journal through JournalWalk.
 */

const BLOCK_BYTES = 128 * 1024
const NEWLINE = 0x0a
const HEAD_BYTES = 112
const HEAD = /^\{"seq":(\d{1,15}),"atMs":(\d{1,15}),"event":\{"type":"([a-z-]{1,40})"/

/** A line parsed up to its record type. Valid until the next batch. */
export type RecordLine = {
  readonly seq: number
  readonly atMs: number
  readonly type: string
  readonly line: Buffer
}

/** Lines of one file, and the file's first record. */
export type LineBatch = { readonly firstSeq: number; readonly lines: readonly RecordLine[] }

export type JournalPlace = {
  readonly dir: string
  /** Directory of archived files, if any. */
  readonly archive: string | undefined
}

type SearchOptions = JournalPlace & {
  readonly filesMax: number
}

/** Walks backwards from the newest record. Read `batches` once; each holds its newest line first. */
export class BackwardSearch {
  readonly #options: SearchOptions & { readonly before?: number | undefined }
  /** True if it reached the journal's first record. */
  isWhole = false
  /** The oldest record returned so far. */
  reachedSeq: number | undefined

  /** With `before`, starts at the file that holds the preceding record. */
  constructor(options: SearchOptions & { readonly before?: number | undefined }) {
    this.#options = options
  }

  async *batches(): AsyncGenerator<LineBatch> {
    const { before = Infinity, filesMax } = this.#options
    const segments = await filesOf(this.#options)
    const from = segments.filter(({ firstSeq }) => firstSeq < before)
    for (const { file, firstSeq } of from.slice(-filesMax).reverse()) {
      for await (const lines of linesOf(file, backward)) {
        this.reachedSeq = lines.at(-1)?.seq ?? this.reachedSeq
        yield { firstSeq, lines }
      }
    }
    this.isWhole = from.length <= filesMax && (from[0]?.firstSeq ?? 1) === 1
  }
}

/** Walks forward in time. Read `batches` once; each holds its oldest line first. */
export class ForwardSearch {
  readonly #options: SearchOptions & { readonly fromMs: number }
  /** True if it reached the newest record without a missing file. */
  isWhole = false

  /** Starts at the file that was being written at `fromMs`, by record times. */
  constructor(options: SearchOptions & { readonly fromMs: number }) {
    this.#options = options
  }

  async *batches(): AsyncGenerator<LineBatch> {
    const { fromMs, filesMax } = this.#options
    const segments = await filesOf(this.#options)
    const from = await startingAt(segments, fromMs)
    for (const { file, firstSeq } of segments.slice(from, from + filesMax)) {
      for await (const lines of linesOf(file, forward)) yield { firstSeq, lines }
    }
    const isThere = from > 0 || (segments[0]?.firstSeq ?? 1) === 1
    this.isWhole = isThere && from + filesMax >= segments.length
  }
}

async function filesOf({ dir, archive }: JournalPlace): Promise<readonly Segment[]> {
  return withArchive(await listSegments(dir), archive)
}

/** The last file that begins at or before a time, or the first file. Binary search. */
async function startingAt(segments: readonly Segment[], fromMs: number): Promise<number> {
  let low = 0
  let high = segments.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    const beganMs = await firstTimeOf(segments[middle])
    // An empty or missing file counts as later than any time.
    if (beganMs === undefined || beganMs > fromMs) high = middle - 1
    else low = middle
  }
  return Math.max(0, low)
}

/** Time of a file's first record; undefined for an empty or missing file. */
export async function firstTimeOf(segment: Segment | undefined): Promise<number | undefined> {
  const handle = segment && (await ifThere(open(segment.file, 'r')))
  if (handle === undefined) return undefined
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return headOf(buffer.subarray(0, bytesRead))?.atMs
  } finally {
    await handle.close()
  }
}

/** Reads one block of a file, with the previous remainder. The buffer is reused, so lines are valid until the next block. */
class Blocks {
  readonly #handle: FileHandle
  #memory = Buffer.allocUnsafe(2 * BLOCK_BYTES)

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

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

type Lines = AsyncGenerator<readonly RecordLine[]>

async function* linesOf(file: string, read: (blocks: Blocks, size: number) => Lines): Lines {
  const handle = await ifThere(open(file, 'r'))
  // Archived since the listing.
  if (handle === undefined) return
  try {
    yield* read(new Blocks(handle), (await handle.stat()).size)
  } finally {
    await handle.close()
  }
}

async function* forward(blocks: Blocks, size: number): Lines {
  let rest: Buffer = EMPTY
  for (let at = 0; at < size; at += BLOCK_BYTES) {
    const data = await blocks.read(at, Math.min(BLOCK_BYTES, size - at), { before: rest })
    const end = data.lastIndexOf(NEWLINE) + 1
    if (end > 0) yield linesIn(data.subarray(0, end))
    rest = Buffer.from(data.subarray(end))
    // Missing newlines must not accumulate the whole file.
    if (rest.length > LINE_BYTES_MAX) return
  }
}

async function* backward(blocks: Blocks, size: number): Lines {
  let start = size
  /** The end of a line that begins before `start`; undefined until the file's last newline is found. */
  let rest: Buffer | undefined
  while (start > 0) {
    const length = Math.min(BLOCK_BYTES, start)
    start -= length
    const read = await blocks.read(start, length, rest === undefined ? {} : { after: rest })
    // Bytes after the last newline are an append in progress.
    const data = rest === undefined ? read.subarray(0, read.lastIndexOf(NEWLINE) + 1) : read
    if (data.length === 0) continue
    const cut = start === 0 ? 0 : data.indexOf(NEWLINE) + 1
    rest = Buffer.from(data.subarray(0, cut))
    if (cut < data.length) yield linesIn(data.subarray(cut)).reverse()
    if (rest.length > LINE_BYTES_MAX) return
  }
}

/** Skips lines that are not records; startup reports their faults. */
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
