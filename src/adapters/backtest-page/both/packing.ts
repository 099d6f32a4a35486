/** Texts that come again and again, each of them once. */
export class Words {
  readonly all: string[] = []
  readonly #places = new Map<string, number>()

  /** Where a text stands among all. */
  placeOf(text: string): number {
    const known = this.#places.get(text)
    if (known !== undefined) return known
    const place = this.all.push(text) - 1
    this.#places.set(text, place)
    return place
  }
}

/** A float of a chart with as many digits as can be seen. */
export function seen(number: number): number {
  return Number(number.toPrecision(7))
}
