/** Orders of rows. What is not known comes last, whichever way the others are ordered. */

export type Direction = 'ascending' | 'descending'
type Order<Row> = (a: Row, b: Row) => number

/** Marks a comparison in which only one side is known: it is not turned round. */
const UNKNOWN_LAST = 2

function missing(a: unknown, b: unknown): number | undefined {
  if (a !== null && b !== null) return undefined
  if (a === b) return 0
  return a === null ? UNKNOWN_LAST : -UNKNOWN_LAST
}

export function byNumber<Row>(of: (row: Row) => number | null): Order<Row> {
  return (left, right) => {
    const [a, b] = [of(left), of(right)]
    return missing(a, b) ?? Math.sign((a ?? 0) - (b ?? 0))
  }
}

export function byText<Row>(of: (row: Row) => string | null): Order<Row> {
  return (left, right) => {
    const [a, b] = [of(left), of(right)]
    const unknown = missing(a, b)
    if (unknown !== undefined) return unknown
    if (a === b) return 0
    return (a ?? '') < (b ?? '') ? -1 : 1
  }
}

/** A sorted copy; equal ones by `thenBy`, which is never turned round. */
export function sorted<Row>(
  rows: readonly Row[],
  order: {
    readonly by: Order<Row>
    readonly direction: Direction
    readonly thenBy: Order<Row>
  },
): readonly Row[] {
  const sign = order.direction === 'ascending' ? 1 : -1
  return rows.toSorted((a, b) => {
    const difference = order.by(a, b)
    if (difference === 0) return Math.sign(order.thenBy(a, b))
    return Math.abs(difference) === UNKNOWN_LAST ? difference : difference * sign
  })
}
