import type { PlacedFact } from '../state/journal-file.ts'
import { type FillEntry, isFill } from './fill-rows.ts'

/** Fills that are known without asking the disk. */
export const RECENT_FILLS_MAX = 500
/** Fills that one change brings at the most. */
const CHANGED_MAX = 100
/** Intents whose fills were taken back lately. */
const UNDONE_MAX = 1_000

/** A fill, with the revision at which it came or was taken back. */
type KeptFill = { readonly entry: FillEntry; readonly revision: number }

/** The newest fills: those that were told since the start, and before them those that were read back from the disk. */
export class RecentFills {
  /** Oldest first. */
  #fills: readonly KeptFill[] = []
  /** Not all of them are here. */
  readonly #undone = new Set<string>()
  #fromSeq: number | undefined

  /** The record from which on no fill is missing; undefined until the disk was asked. */
  get fromSeq(): number | undefined {
    return this.#fromSeq
  }

  /** Whether it changes what is shown. */
  told({ seq, atMs, fact }: PlacedFact, revision: number): boolean {
    if (fact.type === 'fill-reopened') return this.#undo(fact.intentId, { seq, revision })
    // What is on disk may be read back just before it is told.
    const newest = this.#fills.at(-1)?.entry.seq ?? 0
    if (!isFill(fact) || seq <= newest) return false
    const entry = { seq, atMs, undone: false, fill: fact }
    this.#keep([...this.#fills, { entry, revision }])
    return true
  }

  /** What the disk has, of which none is missing from `fromSeq` on. */
  readBack(
    entries: readonly FillEntry[],
    { fromSeq, revision }: { readonly fromSeq: number; readonly revision: number },
  ): void {
    const told = new Set(this.#fills.map(({ entry }) => entry.seq))
    const older = entries
      .filter(({ seq }) => !told.has(seq))
      .map((entry) => ({ entry: this.asOfNow(entry), revision }))
    this.#fromSeq = fromSeq
    this.#keep([...older, ...this.#fills].sort((a, b) => a.entry.seq - b.entry.seq))
  }

  /** Those before a record, newest first; of one strategy where it is named. */
  before(seq: number, strategy: string | undefined): readonly FillEntry[] {
    return this.#fills
      .map(({ entry }) => entry)
      .filter((entry) => entry.seq < seq)
      .filter(({ fill }) => strategy === undefined || fill.strategy === strategy)
      .reverse()
  }

  /** Those that came or were taken back after a revision, newest first. */
  since(revision: number): readonly FillEntry[] {
    return this.#fills
      .filter((fill) => fill.revision > revision)
      .map(({ entry }) => entry)
      .slice(-CHANGED_MAX)
      .reverse()
  }

  /** A fill from the disk, by what was told since it was written. */
  asOfNow(entry: FillEntry): FillEntry {
    return this.#undone.has(entry.fill.intentId) ? { ...entry, undone: true } : entry
  }

  #undo(
    intentId: string,
    { seq, revision }: { readonly seq: number; readonly revision: number },
  ): boolean {
    // It may have been proven again before this is told.
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
