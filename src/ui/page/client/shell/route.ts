/** The URL's fragment names a view, and at most one panel over it. */

export const NAVIGATION = [
  'overview',
  'strategies',
  'orders',
  'fills',
  'holdings',
  'limits',
] as const
/** The slots that ended without a fill lie beside the fills. */
const VIEWS = [...NAVIGATION, 'unfilled'] as const
export type View = (typeof VIEWS)[number]

export type Panel =
  | { readonly tag: 'why'; readonly strategy: string; readonly slotSeconds: number }
  | { readonly tag: 'strategy'; readonly strategy: string }

export type Shown = {
  readonly view: View
  readonly strategy: string | undefined
  readonly panel: Panel | undefined
}

// Accepts any name: only the daemon knows which exist.
const WHY = /^why=(.{1,128}?):(\d{1,12})(?::\d{1,3})?$/
const STRATEGY = /^strategy=(.{1,128})$/
const OF_ONE = /^(fills|unfilled|limits)=(.{1,128})$/

/** A view, or a panel over the current view. */
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

/** Follows the URL. A panel covers the last view, which stays unchanged. */
export function createRouter(changed: (before: Shown) => void) {
  const first: Shown = { view: 'overview', strategy: undefined, panel: undefined }
  let shown: Shown = { ...first, ...placeOf(location.hash) }
  /** History entries between the panel and its view; 0 if the page was opened with the panel. */
  let depth = rememberedDepth() ?? 0
  // The page itself restores each view's scroll position.
  history.scrollRestoration = 'manual'
  addEventListener('hashchange', () => {
    const before = shown
    shown = { ...before, ...placeOf(location.hash) }
    if (shown.panel !== undefined) remember(before.panel !== undefined)
    changed(before)
  })

  /** A known history entry has its depth; a new one lies above the previous one. */
  function remember(overPanel: boolean): void {
    const known = rememberedDepth()
    const isRooted = !overPanel || depth > 0
    depth = known ?? (isRooted ? (overPanel ? depth : 0) + 1 : 0)
    if (known === undefined) history.replaceState({ depth }, '')
  }

  return {
    shown: () => shown,
    closePanel(): void {
      if (shown.panel === undefined) return
      if (depth > 0) history.go(-depth)
      else location.replace(viewHash(shown.view, shown.strategy))
    },
  }
}

function rememberedDepth(): number | undefined {
  const state: unknown = history.state
  if (typeof state !== 'object' || state === null || !('depth' in state)) return undefined
  return typeof state.depth === 'number' ? state.depth : undefined
}
