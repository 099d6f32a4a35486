/** What is to be done at some moment. Of one moment, in the order in which it was entered. */
export type Entry<What> = { readonly atMs: number; readonly what: What }

/** A short list of things ahead, soonest first: orders in flight are few. */
export class Agenda<What> {
  readonly #entries: Entry<What>[] = []

  get nextMs(): number {
    return this.#entries[0]?.atMs ?? Number.POSITIVE_INFINITY
  }

  add(atMs: number, what: What): void {
    let at = this.#entries.length
    while (at > 0 && (this.#entries[at - 1]?.atMs ?? 0) > atMs) at -= 1
    this.#entries.splice(at, 0, { atMs, what })
  }

  /** Takes out what is due at a moment, or before it. */
  takeDue(nowMs: number): What | undefined {
    return this.nextMs <= nowMs ? this.#entries.shift()?.what : undefined
  }
}
