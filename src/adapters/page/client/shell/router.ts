import { type Panel, type Place, placeOf, type View, viewHash } from '../route.ts'

export type Shown = {
  readonly view: View
  /** The one strategy that the view is about, where it is about one. */
  readonly strategy: string | undefined
  readonly panel: Panel | undefined
}

/** Follows the address. Panels lie over the view that was shown last, which stays as it was. */
export class Router {
  shown: Shown
  readonly #changed: (before: Shown) => void
  /** How many entries of the browser's history the panel lies above its view; 0 where the page was opened with it. */
  #depth = 0

  constructor(changed: (before: Shown) => void) {
    this.#changed = changed
    this.shown = after(placeOf(location.hash), {
      view: 'overview',
      strategy: undefined,
      panel: undefined,
    })
    this.#depth = rememberedDepth() ?? 0
    // The page itself knows where each view was left.
    history.scrollRestoration = 'manual'
    addEventListener('hashchange', () => this.#follow())
  }

  #follow(): void {
    const before = this.shown
    this.shown = after(placeOf(location.hash), before)
    if (this.shown.panel !== undefined) this.#remember(before.panel !== undefined)
    this.#changed(before)
  }

  /** An entry that was there before knows its depth; a new one lies above the one that was shown. */
  #remember(overPanel: boolean): void {
    const known = rememberedDepth()
    const isRooted = !overPanel || this.#depth > 0
    this.#depth = known ?? (isRooted ? (overPanel ? this.#depth : 0) + 1 : 0)
    if (known === undefined) history.replaceState({ depth: this.#depth }, '')
  }

  /** Back to the view, over however many panels. */
  closePanel(): void {
    if (this.shown.panel === undefined) return
    if (this.#depth > 0) history.go(-this.#depth)
    else location.replace(viewHash(this.shown.view, this.shown.strategy))
  }
}

function after(place: Place, before: Shown): Shown {
  if (place.tag === 'panel') return { ...before, panel: place.panel }
  return { view: place.view, strategy: place.strategy, panel: undefined }
}

function rememberedDepth(): number | undefined {
  const state: unknown = history.state
  if (typeof state !== 'object' || state === null || !('depth' in state)) return undefined
  return typeof state.depth === 'number' ? state.depth : undefined
}
