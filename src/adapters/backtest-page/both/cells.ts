import type { Tone } from '../../page-parts/words/outcomes.ts'
import { isoText, momentText, secondsOf } from './moments.ts'

/** What stands in one place of a table. The program writes it into the page, and the page's script draws it anew: both from this. */
export type Cell = {
  readonly text: string
  /** Further lines of the same kind. */
  readonly more?: readonly string[] | undefined
  /** A line in small print below. */
  readonly small?: string | undefined
  /** What is told of it besides, where one points at it. */
  readonly title?: string | undefined
  /** The text is a state with this tone. */
  readonly tone?: Tone | undefined
  /** The text is this moment. */
  readonly iso?: string | undefined
  /** Classes. */
  readonly kind?: string | undefined
}

export type Column<Row> = {
  readonly id: string
  readonly title: string
  readonly numeric?: boolean
  cell(row: Row): Cell
}

export type Row = { readonly key: string; readonly cells: readonly Cell[] }

/** A moment, by its ISO text or by its epoch seconds. */
export function momentCell(at: string | number): Cell {
  const seconds = typeof at === 'number' ? at : secondsOf(at)
  const iso = isoText(seconds)
  return { text: momentText(seconds), iso, title: iso }
}

/** What is not known or does not apply. */
export const NONE: Cell = { text: '–', kind: 'unknown' }

/** Classes of the cell that a column has. */
export function cellClass({ id, numeric }: Pick<Column<never>, 'id' | 'numeric'>, cell?: Cell) {
  return [id, numeric && 'numeric', cell?.kind].filter(Boolean).join(' ')
}
