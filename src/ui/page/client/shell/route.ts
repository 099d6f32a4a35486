/** What the part of the address behind `#` shows: a view, and over it at most one panel. */

export const VIEWS = ['overview', 'strategies', 'orders', 'fills', 'holdings', 'limits'] as const
export type View = (typeof VIEWS)[number]

export type Panel =
  | { readonly tag: 'why'; readonly strategy: string; readonly slotSeconds: number }
  | { readonly tag: 'strategy'; readonly strategy: string }

export type Place =
  | { readonly tag: 'view'; readonly view: View; readonly strategy: string | undefined }
  | { readonly tag: 'panel'; readonly panel: Panel }

/** The daemon alone knows which names there are; it is asked by whatever stands here. */
const WHY = /^why=(.{1,128}?):(\d{1,12})(?::\d{1,3})?$/
const STRATEGY = /^strategy=(.{1,128})$/
const OF_ONE = /^(fills|limits)=(.{1,128})$/

/** Whatever is not understood is the overview. */
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
