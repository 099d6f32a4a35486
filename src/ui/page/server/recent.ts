import { fillIn, postingOf, type Recorded } from '../../../journal/events/registry.ts'
import { isSlotEnd, type SlotEnd, slotEndOf } from '../../../journal/events/strategy/slots.ts'
import { decodeRecord } from '../../../store/file/journal-codec.ts'
import {
  BackwardSearch,
  type JournalPlace,
  type RecordLine,
} from '../../../store/file/journal-search.ts'
import type { FillOnRecord } from './fill-rows.ts'
import { createFillSearch } from './fill-search.ts'

export const RECENT_FILLS_MAX = 500
const CHANGED_MAX = 100
const UNDONE_MAX = 1_000

/** `revision`: when it was added or undone. */
type KeptFill = { readonly entry: FillOnRecord; readonly revision: number }

/** The newest fills: those since the start, and before them those read back from disk. */
export class RecentFills {
  /** Oldest first. */
  #fills: readonly KeptFill[] = []
  readonly #undone = new Set<string>()
  #fromSeq: number | undefined

  /** From this record on, no fill is missing; undefined until the disk is read. */
  get fromSeq(): number | undefined {
    return this.#fromSeq
  }

  /** @returns true if the page changes */
  take(recorded: Recorded, revision: number): boolean {
    const { seq, atMs } = recorded.record
    const posting = postingOf(recorded)
    if (posting?.tag === 'undone') return this.#undo(posting.intentId, { seq, revision })
    // The disk may be read just before a record's event arrives.
    const newest = this.#fills.at(-1)?.entry.seq ?? 0
    const fill = fillIn(posting)
    if (fill === undefined || seq <= newest) return false
    const entry = { seq, atMs, undone: false, fill }
    this.#keep([...this.#fills, { entry, revision }])
    return true
  }

  /** `fromSeq`: from this record on, no fill is missing. */
  readBack(
    entries: readonly FillOnRecord[],
    { fromSeq, revision }: { readonly fromSeq: number; readonly revision: number },
  ): void {
    const known = new Set(this.#fills.map(({ entry }) => entry.seq))
    const older = entries
      .filter(({ seq }) => !known.has(seq))
      .map((entry) => ({ entry: this.asOfNow(entry), revision }))
    this.#fromSeq = fromSeq
    this.#keep([...older, ...this.#fills].sort((a, b) => a.entry.seq - b.entry.seq))
  }

  before(seq: number, strategy: string | undefined): readonly FillOnRecord[] {
    return this.#fills
      .map(({ entry }) => entry)
      .filter((entry) => entry.seq < seq)
      .filter(({ fill }) => strategy === undefined || fill.strategy === strategy)
      .reverse()
  }

  since(revision: number): readonly FillOnRecord[] {
    return this.#fills
      .filter((fill) => fill.revision > revision)
      .map(({ entry }) => entry)
      .slice(-CHANGED_MAX)
      .reverse()
  }

  /** A fill read from disk may have been undone since. */
  asOfNow(entry: FillOnRecord): FillOnRecord {
    return this.#undone.has(entry.fill.intentId) ? { ...entry, undone: true } : entry
  }

  #undo(intentId: string, { seq, revision }: { readonly seq: number; readonly revision: number }) {
    // The intent may have been filled again since.
    const at = this.#fills.findLastIndex(
      ({ entry }) => entry.fill.intentId === intentId && entry.seq < seq,
    )
    const fill = this.#fills[at]
    if (fill !== undefined) {
      this.#fills = this.#fills.with(at, { entry: { ...fill.entry, undone: true }, revision })
      return true
    }
    if (this.#undone.size >= UNDONE_MAX) this.#undone.clear()
    this.#undone.add(intentId)
    return false
  }

  #keep(fills: readonly KeptFill[]): void {
    this.#fills = fills.slice(-RECENT_FILLS_MAX)
    const isCut = this.#fills.length < fills.length
    if (isCut && this.#fromSeq !== undefined) this.#fromSeq = this.#fills[0]?.entry.seq
  }
}

/** Journal files read back after a start: a few days with many orders, months with few. */
const FILES_MAX = 8
const HEAD_BYTES = 320
const STRATEGY = /"strategy":"([a-z0-9-]{1,63})"/
const SKIPPED = '"outcome":"skipped"'

export type RecentEvents = Awaited<ReturnType<typeof readRecentEvents>>

/**
 * The last events before this process started. Reads the newest files backwards until everything wanted is found, or
 * `FILES_MAX` are read. From `fromSeq` on, no fill is missing. `skips`: the strategies' last skipped slots are wanted, too.
 */
export async function readRecentEvents(
  journal: JournalPlace,
  wanted: {
    readonly fills: number
    readonly strategies: readonly string[]
    readonly skips: boolean
  },
) {
  const search = new BackwardSearch({ ...journal, filesMax: FILES_MAX })
  const query = { limit: wanted.fills, before: undefined, strategy: undefined }
  const fills = createFillSearch(query)
  const ends = slotEndsOf(wanted.strategies, wanted.skips ? wanted.strategies : [])
  for await (const { lines } of search.batches()) {
    fills.take(lines)
    for (const line of lines) ends.take(line)
    if (fills.isDone() && ends.isDone()) break
  }
  const reached = search.isWhole ? 1 : search.reachedSeq
  const fromSeq = fills.isFull() ? fills.lastSeq() : reached
  return { fills: fills.entries(), fromSeq: fromSeq ?? 1, slots: ends.found }
}

/** Collects the last slot and the last skip of each strategy. Takes lines newest first. */
function slotEndsOf(strategies: readonly string[], skipping: readonly string[]) {
  const found: SlotEnd[] = []
  const withoutSlot = new Set(strategies)
  const withoutSkip = new Set(skipping)
  return {
    found,
    isDone: (): boolean => withoutSlot.size === 0 && withoutSkip.size === 0,
    take({ type, line }: RecordLine): void {
      if (!isSlotEnd({ type })) return
      const strategy = STRATEGY.exec(line.toString('latin1', 0, HEAD_BYTES))?.[1] ?? ''
      const isLast = withoutSlot.delete(strategy)
      const isLastSkip = line.includes(SKIPPED) && withoutSkip.delete(strategy)
      const slot = isLast || isLastSkip ? slotEndOf(decodeRecord(line).event) : undefined
      if (slot !== undefined) found.push(slot)
    },
  }
}
