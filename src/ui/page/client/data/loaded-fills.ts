import type { FillRow, FillsPage } from '../../model.ts'

/** A longer list restarts at the newest fills. 100,000 rows take some 60 MB. */
export const FILLS_MAX = 120_000

/** The fills loaded so far, newest first. Two lists that grow at their ends keep insertion cheap at any size. */
export class LoadedFills {
  /** Fills since the first page, oldest first. */
  #recent: FillRow[] = []
  /** Fills from the first page on, newest first. */
  #older: FillRow[] = []
  /** Position of each fill relative to the first older one: negative for recent fills. It never changes. */
  readonly #places = new Map<string, number>()
  /** Cursor of the next older fills; null if there are none, undefined before the first page. */
  next: string | null | undefined

  get size(): number {
    return this.#recent.length + this.#older.length
  }

  at(index: number): FillRow | undefined {
    const place = index - this.#recent.length
    return place < 0 ? this.#recent[-1 - place] : this.#older[place]
  }

  indexOf(intentId: string): number {
    const place = this.#places.get(intentId)
    return place === undefined ? -1 : this.#recent.length + place
  }

  /** Merges the newest page after a gap. Starts over if the page does not overlap the list, or comes from another daemon. */
  renew(page: FillsPage, sameDaemon: boolean): void {
    const reaches = page.fills.some(({ intentId }) => this.#places.has(intentId))
    if (sameDaemon && reaches) {
      this.merge(page.fills)
      return
    }
    this.#recent = []
    this.#older = []
    this.#places.clear()
    this.next = undefined
    this.append(page)
  }

  append({ fills, next }: FillsPage): void {
    for (const fill of fills) {
      if (this.#replace(fill)) continue
      this.#places.set(fill.intentId, this.#older.length)
      this.#older.push(fill)
    }
    this.next = next
  }

  /** Merges the rows of a change, newest first. @returns the new ones */
  merge(fills: readonly FillRow[]): readonly FillRow[] {
    const fresh = fills.filter((fill) => !this.#replace(fill) && !this.#liesBeyond(fill))
    for (const fill of fresh.toReversed()) {
      this.#places.set(fill.intentId, -1 - this.#recent.length)
      this.#recent.push(fill)
    }
    return fresh
  }

  #replace(fill: FillRow): boolean {
    const place = this.#places.get(fill.intentId)
    if (place === undefined) return false
    if (place < 0) this.#recent[-1 - place] = fill
    else this.#older[place] = fill
    return true
  }

  /** True if the fill is older than all loaded ones and more can be loaded: it arrives with its page. */
  #liesBeyond({ atMs }: FillRow): boolean {
    const oldest = this.at(this.size - 1)
    return typeof this.next === 'string' && oldest !== undefined && atMs < oldest.atMs
  }
}
