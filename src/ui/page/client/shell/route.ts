/** The part of the address after `#` names a view, and over it at most one panel. */

export const VIEWS = ['overview', 'strategies', 'orders', 'fills', 'holdings', 'limits'] as const
export type View = (typeof VIEWS)[number]

export type Panel =
  | { readonly tag: 'why'; readonly strategy: string; readonly slotSeconds: number }
  | { readonly tag: 'strategy'; readonly strategy: string }

type Place =
  | { readonly tag: 'view'; readonly view: View; readonly strategy: string | undefined }
  | { readonly tag: 'panel'; readonly panel: Panel }

// Any name is accepted: only the daemon knows which exist.
const WHY = /^why=(.{1,128}?):(\d{1,12})(?::\d{1,3})?$/
const STRATEGY = /^strategy=(.{1,128})$/
const OF_ONE = /^(fills|limits)=(.{1,128})$/

export function placeOf(hash: string): Place {
  const text = decoded(hash.replace(/^#/, ''))
  const why = WHY.exec(text)
  if (why !== null) {
    const [, strategy = '', seconds = ''] = why
    return { tag: 'panel', panel: { tag: 'why', strategy, slotSeconds: Number(seconds) } }
  }
  const one = STRATEGY.exec(text)
  if (one !== null) return { tag: 'panel', panel: { tag: 'strategy', strategy: one[1] ?? '' } }
  const ofOne = OF_ONE.exec(text)
  const view = VIEWS.find((name) => name === (ofOne?.[1] ?? text)) ?? 'overview'
  return { tag: 'view', view, strategy: ofOne?.[2] }
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

export type Shown = {
  readonly view: View
  readonly strategy: string | undefined
  readonly panel: Panel | undefined
}

/** Follows the address. A panel lies over the view that was shown last, which stays as it was. */
export class Router {
  shown: Shown
  readonly #changed: (before: Shown) => void
  /** Entries of the browser's history between the panel and its view; 0 if the page was opened with the panel. */
  #depth = rememberedDepth() ?? 0

  constructor(changed: (before: Shown) => void) {
    this.#changed = changed
    this.shown = after(location.hash, { view: 'overview', strategy: undefined, panel: undefined })
    // The page itself remembers where each view was left.
    history.scrollRestoration = 'manual'
    addEventListener('hashchange', () => this.#follow())
  }

  #follow(): void {
    const before = this.shown
    this.shown = after(location.hash, before)
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

function after(hash: string, before: Shown): Shown {
  const place = placeOf(hash)
  if (place.tag === 'panel') return { ...before, panel: place.panel }
  return { view: place.view, strategy: place.strategy, panel: undefined }
}

function rememberedDepth(): number | undefined {
  const state: unknown = history.state
  if (typeof state !== 'object' || state === null || !('depth' in state)) return undefined
  return typeof state.depth === 'number' ? state.depth : undefined
}
