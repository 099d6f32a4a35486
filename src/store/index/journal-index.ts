import type { Token } from '../../domain/money/token.ts'
import { Description } from '../../journal/describe.ts'
import type { SlotRange } from '../../journal/events/event.ts'
import type { ReadRecord } from '../../journal/events/registry.ts'
import { sharingTokens } from '../../journal/ledger/entry.ts'
import { Ledger, LedgerBase, type LedgerImage } from '../../journal/ledger/ledger.ts'
import type { CostMethod, PositionsImage } from '../../journal/ledger/positions.ts'
import { type Posted, SegmentSummary, type SlotMark } from '../../journal/segment-summary.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import { emptyState, restoreState, type StateImage } from '../../journal/state/state-image.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { fileSize } from '../../system/durable-file.ts'
import { type CheckedLine, decodeRecord, GENESIS } from '../file/journal-codec.ts'
import { type MissingRecords, readLines } from '../file/journal-reader.ts'
import type { Segment } from '../file/segments.ts'
import {
  imageIn,
  type PartName,
  readPart,
  readSideFile,
  type SideFile,
  UnfitSideFileError,
} from './side-file.ts'
import { about, byStrategy, overlaps, runsOf, type Wanted } from './wanted-slots.ts'

/** Files of a journal. */
export type IndexFiles = {
  /** Oldest first, archived ones included. */
  readonly segments: readonly Segment[]
  /** Length of the last file to read. */
  readonly bytes: number
  /** The state that all records together produce. */
  readonly now: DaemonState
  /** Without a key only the structure of records and side files is checked. */
  readonly key?: JournalKey | undefined
}

export type IndexOptions = IndexFiles & {
  /** Version of the program. */
  readonly madeBy: string
  /** Called once for records without a file; without it they are a fault. */
  readonly onMissing?: ((missing: MissingRecords) => void) | undefined
  /** Reads in small slices, to keep the event loop responsive. */
  readonly isBeside?: boolean | undefined
}

/** Records after the last indexed file, and what they come to. */
type Rest = {
  readonly summary: SegmentSummary
  /** Undefined if they are too many to keep. */
  readonly reads: readonly ReadRecord[] | undefined
}

/** A record, and the state and the summary that it leads to. */
type Summarised = {
  readonly read: ReadRecord
  readonly state: DaemonState
  readonly summary: SegmentSummary
}

type LedgerQuery = { readonly valueToken: Token | undefined; readonly sinceMs?: number | undefined }

/** Files of records that are kept after their summary. */
const FILES_KEPT_MAX = 2

/**
 * Answers questions about the journal from side files, and reads only records that an answer shows. From the first file on
 * whose side file is missing or does not fit, the records themselves are read: answers are the same, and take longer.
 */
export class JournalIndex {
  readonly #options: IndexOptions
  /** Of the oldest files in a row. */
  readonly sides: SideFile[]
  #rest: Promise<Rest> | undefined
  #isWhole = true
  /** First missing records that `onMissing` knows. */
  readonly #reported = new Set<number>()

  private constructor(options: IndexOptions, sides: SideFile[]) {
    this.#options = options
    this.sides = sides
  }

  static async open(options: IndexOptions): Promise<JournalIndex> {
    const { segments } = options
    // The last file is being written.
    const finished = segments.slice(0, -1)
    const read = await Promise.all(finished.map((each) => readSideFile(each, options)))
    const sides: SideFile[] = []
    for (const side of read) {
      const { lastSeq, hash } = sides.at(-1) ?? { lastSeq: GENESIS.seq, hash: GENESIS.hash }
      const next = segments[sides.length + 1]
      if (side?.firstSeq !== lastSeq + 1 || side.prev !== hash) break
      if (next?.firstSeq !== side.lastSeq + 1) break
      sides.push(side)
    }
    return new JournalIndex(options, sides)
  }

  /** All records that concern these slots or end their strategy's program, or simply all, oldest first. */
  async *records(slots?: readonly SlotRange[]): AsyncGenerator<ReadRecord> {
    if (slots === undefined) {
      for await (const reads of this.#described(0)) yield* reads
      return
    }
    const wanted = byStrategy(slots)
    const files = await this.#fitting(async () => {
      const found: number[] = []
      for (const at of this.sides.keys()) if (await this.#concerns(at, wanted)) found.push(at)
      return found
    })
    for (const [from, until] of runsOf(files)) yield* about(this.#described(from, until), wanted)
    const { reads } = await this.#restOf()
    yield* about(reads === undefined ? this.#described(this.sides.length) : [reads], wanted)
  }

  /**
   * The last slots that began, of all strategies or of one, in order. Undefined if records are missing, and with them what
   * began.
   */
  lastSlots(limit: number, strategy?: string): Promise<readonly SlotRange[] | undefined> {
    return this.#fitting(() => this.#lastSlots(limit, strategy))
  }

  async #lastSlots(limit: number, strategy?: string): Promise<readonly SlotRange[] | undefined> {
    const { summary } = await this.#restOf()
    if (!this.#isWhole) return undefined
    const found: SlotRange[] = []
    const take = (marks: readonly SlotMark[]): void => {
      for (const [name, firstSeconds, lastSeconds, begins] of marks.toReversed())
        if (begins && name === (strategy ?? name) && found.length < limit)
          found.push({ strategy: name, firstSeconds, lastSeconds })
    }
    take(summary.marks)
    for (let at = this.sides.length - 1; at >= 0 && found.length < limit; at -= 1) {
      const names = this.sides[at]?.strategies ?? []
      if (strategy === undefined || names.some(([name]) => name === strategy))
        take(await this.#marks(at))
    }
    return found.reverse()
  }

  /** Changes to the ledger, oldest first, after the first `from` files. */
  async *posted(from = 0): AsyncGenerator<Posted> {
    try {
      yield* this.#postedInSides(from)
    } catch (error) {
      // Each part is checked before its first line, so the rest begins right after what was read.
      this.#ignore(error)
    }
    yield* (await this.#restOf()).summary.posted
  }

  /** The ledger. With `sinceMs`, entries before that time may be left out, but for what they leave to cost bases. */
  async ledger({ valueToken, sinceMs = Number.NEGATIVE_INFINITY }: LedgerQuery): Promise<Ledger> {
    const { files, image } = await this.#fitting(async () => {
      const later = this.sides.findIndex(({ untilMs }) => untilMs >= sinceMs)
      const most = this.#filesOfLedger(later === -1 ? this.sides.length : later, valueToken)
      return { files: most, image: await this.#ledgerImage(most) }
    })
    const ledger = new Ledger(image)
    for await (const [, posting] of this.posted(files)) ledger.post(posting)
    return ledger
  }

  /** What the ledger up to the last side file leaves to later entries. */
  async ledgerBase(valueToken: Token): Promise<LedgerBase> {
    const files = this.#filesOfLedger(this.sides.length, valueToken)
    const base = new LedgerBase(valueToken, await this.#ledgerImage(files))
    for await (const [, posting] of this.#postedInSides(files)) base.post(posting)
    return base
  }

  async *#postedInSides(from: number): AsyncGenerator<Posted> {
    const tokens = new Map<string, Token>()
    for (let at = from; at < this.sides.length; at += 1)
      for await (const line of this.#part(at, 'posted'))
        for (const [seq, posting] of line as readonly Posted[])
          yield [seq, sharingTokens(posting, tokens)]
  }

  /** Most files, of the first `files`, whose ledger is kept. Any value token will do if none is given. */
  #filesOfLedger(files: number, valueToken: Token | undefined): number {
    const keeps = ({ ledgerIn }: SideFile): boolean =>
      ledgerIn !== undefined && (valueToken?.address ?? ledgerIn) === ledgerIn
    return this.sides.slice(0, files).findLastIndex(keeps) + 1
  }

  async #ledgerImage(files: number): Promise<LedgerImage | undefined> {
    const at = files - 1
    const own = await imageIn<Omit<LedgerImage, CostMethod>>(this.#part(at, 'ledger'))
    const fifo = await imageIn<PositionsImage>(this.#part(at, 'fifo'))
    const average = await imageIn<PositionsImage>(this.#part(at, 'average'))
    return own && fifo && average && { ...own, fifo, average }
  }

  /**
   * Reads the records after the first `from` files with their state, and a summary that begins anew where `begins` says so.
   * The first ones read may be earlier. Iterate each part once, in order.
   */
  async *summarised(
    from: number,
    begins: (seq: number) => boolean,
  ): AsyncGenerator<Iterable<Summarised>> {
    const state = emptyState()
    const files = await this.#restore(state, from)
    let summary = SegmentSummary.after(state)
    function* summarise(reads: Iterable<ReadRecord>): Generator<Summarised> {
      for (const read of reads) {
        if (begins(read.record.seq)) summary = summary.next()
        if (read.context !== undefined) summary.take(read)
        yield { read, state, summary }
      }
    }
    for await (const reads of this.#reduced(state, files)) yield summarise(reads)
  }

  /** The records of the files from `from` until `until`, by number. */
  async *#described(from: number, until?: number): AsyncGenerator<Iterable<ReadRecord>> {
    const state = emptyState()
    const files = await this.#restore(state, from)
    const firstSeq = this.#firstSeqOf(from)
    function* later(reads: Iterable<ReadRecord>): Generator<ReadRecord> {
      for (const read of reads) if (read.record.seq >= firstSeq) yield read
    }
    for await (const reads of this.#reduced(state, files, until)) yield later(reads)
  }

  /** Records after the first `files` files, whose state is given. */
  async *#reduced(
    state: DaemonState,
    files: number,
    until?: number,
  ): AsyncGenerator<Iterable<ReadRecord>> {
    const { segments, now, key, isBeside, onMissing } = this.#options
    const before = this.sides[files - 1]
    const start = before === undefined ? GENESIS : { seq: before.lastSeq, hash: before.hash }
    const read = segments.slice(files, until)
    const last = until === undefined ? undefined : read.at(-1)
    const bytes = last === undefined ? this.#options.bytes : ((await fileSize(last.file)) ?? 0)
    const miss = (missing: MissingRecords): void => {
      this.#isWhole = false
      if (!this.#reported.has(missing.from)) onMissing?.(missing)
      this.#reported.add(missing.from)
    }
    const description = new Description(now, state, start.seq)
    function* describe(lines: readonly CheckedLine[]): Generator<ReadRecord> {
      for (const { line } of lines) yield description.take(decodeRecord(line))
    }
    const options = { key, start, bytes, isBeside, onMissing: onMissing && miss }
    for await (const lines of readLines(read, options)) yield describe(lines)
  }

  /** Restores the last state kept within that many files. Returns how many it includes. */
  async #restore(state: DaemonState, files: number): Promise<number> {
    for (let at = files - 1; at >= 0; at -= 1) {
      const image = await imageIn<StateImage>(this.#part(at, 'state')).catch(unlessUnfit)
      if (image === undefined) continue
      restoreState(state, image)
      return at + 1
    }
    return 0
  }

  /** Answers again without a side file that turns out not to fit. */
  async #fitting<Answer>(answer: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        return await answer()
      } catch (error) {
        this.#ignore(error)
      }
    }
  }

  /** Ignores side files from the one that does not fit on. */
  #ignore(error: unknown): void {
    if (!(error instanceof UnfitSideFileError)) throw error
    this.sides.splice(this.sides.findIndex(({ file }) => file === error.file))
    this.#rest = undefined
  }

  #restOf(): Promise<Rest> {
    this.#rest ??= this.#readRest()
    return this.#rest
  }

  async #readRest(): Promise<Rest> {
    const from = this.sides.length
    const isKept = this.#options.segments.length - from <= FILES_KEPT_MAX
    const firstSeq = this.#firstSeqOf(from)
    const reads: ReadRecord[] = []
    let rest: SegmentSummary | undefined
    const begins = (seq: number): boolean => rest === undefined && seq >= firstSeq
    for await (const part of this.summarised(from, begins)) {
      for (const { read, summary } of part) {
        if (read.record.seq < firstSeq) continue
        rest = summary
        if (isKept) reads.push(read)
      }
    }
    const summary = rest ?? new SegmentSummary(new Map())
    return { summary, reads: isKept ? reads : undefined }
  }

  #firstSeqOf(file: number): number {
    return this.#options.segments[file]?.firstSeq ?? 1
  }

  async #concerns(at: number, wanted: Wanted): Promise<boolean> {
    const side = this.sides[at]
    if (!side?.strategies.some((each) => overlaps(wanted, each))) return false
    return (await this.#marks(at)).some((mark) => overlaps(wanted, mark))
  }

  async #marks(at: number): Promise<readonly SlotMark[]> {
    const marks: SlotMark[] = []
    for await (const line of this.#part(at, 'marks')) marks.push(...(line as readonly SlotMark[]))
    return marks
  }

  async *#part(at: number, name: PartName): AsyncGenerator<unknown> {
    const side = this.sides[at]
    if (side !== undefined) yield* readPart(side, name)
  }
}

function unlessUnfit(error: unknown): undefined {
  if (!(error instanceof UnfitSideFileError)) throw error
}
