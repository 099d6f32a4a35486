import { colourOf } from '../../../page-parts/browser/drawing.ts'

/** Colours of the style sheet as a canvas takes them; asked for once, until they change. */
export class Palette {
  readonly #known = new Map<string, string>()

  of(name: string): string {
    const known = this.#known.get(name) ?? colourOf(document.body, name)
    this.#known.set(name, known)
    return known
  }

  forget(): void {
    this.#known.clear()
  }
}
