import type { FillRow, FillsPage } from '../../model.ts'

/** Rows that are kept; beyond, the page begins again with the newest. 100,000 of them take some 60 MB. */
export const FILLS_MAX = 120_000

/**
 * Fills that are known here, newest first, as far back as older ones were asked for. What comes in costs as much as there is new of it,
 * however many there are: new ones are put at the end of one list, older ones at the end of another.
 */
export class FillBook {
  /** Came in since the first page; oldest first. */
  #recent: FillRow[] = []
  /** Newest first. */
  #older: FillRow[] = []
  readonly #places = new Map<string, { readonly recent: boolean; readonly index: number }>()
  /** For the next older ones; null where there are none, undefined before anything was loaded. */
  #next: string | null | undefined = undefined

  get size(): number {
    return this.#recent.length + this.#older.length
  }

  get next(): string | null | undefined {
    return this.#next
  }

  /** By its distance from the newest. */
  at(index: number): FillRow | undefined {
    const recent = this.#recent.length
    return index < recent ? this.#recent[recent - 1 - index] : this.#older[index - recent]
  }

  /** Distance from the newest; -1 for one that is not here. */
  indexOf(intentId: string): number {
    const place = this.#places.get(intentId)
    if (place === undefined) return -1
    return place.recent ? this.#recent.length - 1 - place.index : this.#recent.length + place.index
  }

  /**
   * Takes the newest page after a time without news. Where it reaches what is here, what is here stays; where it does not, or the daemon
   * is another, everything begins with it.
   */
  renew(page: FillsPage, sameDaemon: boolean): void {
    const reaches = page.fills.some(({ intentId }) => this.#places.has(intentId))
    if (sameDaemon && reaches) {
      this.merge(page.fills)
      return
    }
    this.#recent = []
    this.#older = []
    this.#places.clear()
    this.#next = undefined
    this.append(page)
  }

  /** Puts the page that follows the oldest one behind it. */
  append({ fills, next }: FillsPage): void {
    for (const fill of fills) {
      if (this.#replace(fill)) continue
      this.#places.set(fill.intentId, { recent: false, index: this.#older.length })
      this.#older.push(fill)
    }
    this.#next = next
  }

  /** Takes rows of a change, newest first: they replace those of the same name. Returns those that were not here before. */
  merge(fills: readonly FillRow[]): readonly FillRow[] {
    const fresh = fills.filter((fill) => !this.#replace(fill) && !this.#liesBeyond(fill))
    for (const fill of fresh.toReversed()) {
      this.#places.set(fill.intentId, { recent: true, index: this.#recent.length })
      this.#recent.push(fill)
    }
    return fresh
  }

  #replace(fill: FillRow): boolean {
    const place = this.#places.get(fill.intentId)
    if (place === undefined) return false
    const list = place.recent ? this.#recent : this.#older
    list[place.index] = fill
    return true
  }

  /** Older than everything here, with more to be loaded: it comes with its page. */
  #liesBeyond({ atMs }: FillRow): boolean {
    const oldest = this.at(this.size - 1)
    return typeof this.#next === 'string' && oldest !== undefined && atMs < oldest.atMs
  }
}
