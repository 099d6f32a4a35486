/** Which rows of a long list are drawn. */

export type WindowInput = {
  readonly count: number
  readonly rowHeight: number
  /** Distance of the list's first row from the top of what is seen; below zero once it is scrolled past. */
  readonly top: number
  /** Height of what is seen. */
  readonly seen: number
  /** Rows drawn beyond what is seen, on each side. */
  readonly spare: number
}

export type Window = { readonly first: number; readonly end: number }

/** Windows begin and end at multiples of this many rows, so that not every scrolled pixel draws anew. */
const STEP = 8

/** The rows `first` up to, not including, `end`. */
export function windowOf({ count, rowHeight, top, seen, spare }: WindowInput): Window {
  if (count === 0 || rowHeight <= 0) return { first: 0, end: 0 }
  const above = Math.floor(-top / rowHeight) - spare
  const below = Math.ceil((seen - top) / rowHeight) + spare
  const first = clamp(Math.floor(above / STEP) * STEP, count)
  const end = clamp(Math.ceil(below / STEP) * STEP, count)
  // Scrolled past either end there is still one step of rows, for a screen reader and for focus to go to.
  if (end > first) return { first, end }
  return first === 0
    ? { first, end: clamp(STEP, count) }
    : { first: clamp(count - STEP, count), end: count }
}

function clamp(row: number, count: number): number {
  return Math.max(0, Math.min(count, row))
}

/** How far to scroll so that a row stays where it is seen, when others came above it; 0 while the list's top is seen. */
export function shiftFor(rows: {
  before: number
  now: number
  rowHeight: number
  top: number
}): number {
  if (rows.top >= 0 || rows.before < 0 || rows.now < 0) return 0
  return (rows.now - rows.before) * rows.rowHeight
}
