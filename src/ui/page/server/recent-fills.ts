import { fillIn, postingOf, type Recorded } from '../../../journal/events/registry.ts'
import type { FillOnRecord } from './fill-rows.ts'

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

  #undo(
    intentId: string,
    { seq, revision }: { readonly seq: number; readonly revision: number },
  ): boolean {
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
