/** The part of the address after `#` names a view, and over it at most one panel. */

export const VIEWS = ['overview', 'strategies', 'orders', 'fills', 'holdings', 'limits'] as const
export type View = (typeof VIEWS)[number]

export type Panel =
  | { readonly tag: 'why'; readonly strategy: string; readonly slotSeconds: number }
  | { readonly tag: 'strategy'; readonly strategy: string }

export type Shown = {
  readonly view: View
  readonly strategy: string | undefined
  readonly panel: Panel | undefined
}

// Any name is accepted: only the daemon knows which exist.
const WHY = /^why=(.{1,128}?):(\d{1,12})(?::\d{1,3})?$/
const STRATEGY = /^strategy=(.{1,128})$/
const OF_ONE = /^(fills|limits)=(.{1,128})$/

/** A view, or a panel over the view that is shown. */
export function placeOf(hash: string): Shown | Pick<Shown, 'panel'> {
  const text = decoded(hash.replace(/^#/, ''))
  const [, ofSlot, seconds] = WHY.exec(text) ?? []
  if (ofSlot !== undefined)
    return { panel: { tag: 'why', strategy: ofSlot, slotSeconds: Number(seconds) } }
  const one = STRATEGY.exec(text)?.[1]
  if (one !== undefined) return { panel: { tag: 'strategy', strategy: one } }
  const [, name = text, strategy] = OF_ONE.exec(text) ?? []
  return { view: VIEWS.find((view) => view === name) ?? 'overview', strategy, panel: undefined }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function viewHash(view: View, strategy?: string): string {
  return strategy === undefined ? `#${view}` : `#${view}=${encodeURIComponent(strategy)}`
}

export function whyHash(strategy: string, slotSeconds: number): string {
  return `#why=${encodeURIComponent(strategy)}:${slotSeconds}`
}

export function strategyHash(strategy: string): string {
  return `#strategy=${encodeURIComponent(strategy)}`
}

/** Follows the address. A panel lies over the view that was shown last, which stays as it was. */
export class Router {
  shown: Shown
  readonly #changed: (before: Shown) => void
  /** Entries of the browser's history between the panel and its view; 0 if the page was opened with the panel. */
  #depth = rememberedDepth() ?? 0

  constructor(changed: (before: Shown) => void) {
    this.#changed = changed
    const first: Shown = { view: 'overview', strategy: undefined, panel: undefined }
    this.shown = { ...first, ...placeOf(location.hash) }
    // The page itself remembers where each view was left.
    history.scrollRestoration = 'manual'
    addEventListener('hashchange', () => this.#follow())
  }

  #follow(): void {
    const before = this.shown
    this.shown = { ...before, ...placeOf(location.hash) }
    if (this.shown.panel !== undefined) this.#remember(before.panel !== undefined)
    this.#changed(before)
  }

  /** A known entry has its depth; a new one lies above the one that was shown. */
  #remember(overPanel: boolean): void {
    const known = rememberedDepth()
    const isRooted = !overPanel || this.#depth > 0
    this.#depth = known ?? (isRooted ? (overPanel ? this.#depth : 0) + 1 : 0)
    if (known === undefined) history.replaceState({ depth: this.#depth }, '')
  }

  closePanel(): void {
    if (this.shown.panel === undefined) return
    if (this.#depth > 0) history.go(-this.#depth)
    else location.replace(viewHash(this.shown.view, this.shown.strategy))
  }
}

function rememberedDepth(): number | undefined {
  const state: unknown = history.state
  if (typeof state !== 'object' || state === null || !('depth' in state)) return undefined
  return typeof state.depth === 'number' ? state.depth : undefined
}
