import {
  defaultRangeExtractor,
  observeWindowOffset,
  observeWindowRect,
  type Range,
  Virtualizer,
  windowScroll,
} from '@tanstack/virtual-core'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks'

export type Column<Row, Sort extends string = string> = {
  /** Class names of the column's cells, which also place them on a narrow screen. */
  readonly id: string
  readonly title: string
  cell(row: Row): ComponentChildren
  readonly sort?: Sort | undefined
}

export function column<Row, Sort extends string>(
  id: string,
  title: string,
  cell: (row: Row) => ComponentChildren,
  sort?: Sort,
): Column<Row, Sort> {
  return { id, title, cell, sort }
}

type RowSource<Row> = {
  readonly size: number
  at(index: number): Row | undefined
  /** -1 if the row no longer exists. */
  indexOf(key: string): number
}

type TableProps<Row, Sort extends string> = {
  readonly label: string
  /** Class name that sets column widths. */
  readonly kind: string
  readonly columns: readonly Column<Row, Sort>[]
  readonly rows: readonly Row[] | RowSource<Row>
  keyOf(row: Row): string
  /** Keeps rows in place while others are added above them. */
  readonly steady?: boolean
  rowClass?(row: Row): string
  readonly order?: {
    readonly sort: Sort
    readonly direction: 'ascending' | 'descending'
    choose(sort: Sort): void
  }
  nearEnd?(): void
}

const SPARE_ROWS = 8
const ROW_HEIGHT_GUESS = 52
const NEAR_END_ROWS = 40

/** Renders only the visible rows. Scrolls with the page. */
export function VirtualTable<Row, Sort extends string>(props: TableProps<Row, Sort>) {
  const { columns, order, keyOf } = props
  const rows = 'size' in props.rows ? props.rows : sourceOf(props.rows, keyOf)
  const count = rows.size
  const body = useRef<HTMLTableSectionElement>(null)
  const [focused, setFocused] = useState<string>()
  const { rowHeight, indexes } = useRows(body, { ...props, rows }, focused)
  return (
    <table
      role="table"
      class={`rows ${props.kind}`}
      aria-label={props.label}
      aria-rowcount={count + 1}
    >
      <thead role="rowgroup">
        <tr role="row" aria-rowindex={1}>
          {columns.map((column) => (
            <Heading key={column.id} column={column} order={order} />
          ))}
        </tr>
      </thead>
      <tbody
        role="rowgroup"
        ref={body}
        style={{ height: `${count * rowHeight}px` }}
        onFocusIn={({ target }) => setFocused(keyUnder(target))}
        onFocusOut={() => setFocused(undefined)}
      >
        {indexes.map((index) => {
          const row = rows.at(index)
          if (row === undefined) return null
          const key = keyOf(row)
          return (
            <tr
              key={key}
              role="row"
              data-key={key}
              aria-rowindex={index + 2}
              class={props.rowClass?.(row)}
              style={{ transform: `translateY(${index * rowHeight}px)` }}
            >
              <Cells row={row} columns={columns} />
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

function sourceOf<Row>(rows: readonly Row[], keyOf: (row: Row) => string): RowSource<Row> {
  return {
    size: rows.length,
    at: (index) => rows[index],
    indexOf: (key) => rows.findIndex((row) => keyOf(row) === key),
  }
}

/** Built once per row, because rows are replaced and never changed. */
function Cells<Row>({ row, columns }: { row: Row; columns: readonly Column<Row>[] }) {
  return useMemo(
    () =>
      columns.map((column) => (
        <td role="cell" key={column.id} class={column.id} data-label={column.title}>
          {column.cell(row)}
        </td>
      )),
    [row, columns],
  )
}

function Heading<Row, Sort extends string>(props: {
  column: Column<Row, Sort>
  order: TableProps<Row, Sort>['order']
}) {
  const { column, order } = props
  const { title, sort } = column
  const isSortable = sort !== undefined && order !== undefined
  const direction = order?.sort === sort ? order?.direction : 'none'
  return (
    <th
      role="columnheader"
      scope="col"
      class={column.id}
      aria-sort={isSortable ? direction : undefined}
    >
      {isSortable ? (
        <button type="button" class="sort" onClick={() => order.choose(sort)}>
          {title}
        </button>
      ) : (
        title
      )}
    </th>
  )
}

type Anchor = { readonly key: string; readonly index: number } | undefined

/** The rows to render, and their height, which is that of the first one. */
function useRows<Row, Sort extends string>(
  body: { readonly current: HTMLTableSectionElement | null },
  props: TableProps<Row, Sort> & { readonly rows: RowSource<Row> },
  focused: string | undefined,
) {
  const { rows, keyOf } = props
  const count = rows.size
  const [, draw] = useReducer((drawn: number) => drawn + 1, 0)
  const [rowHeight, setRowHeight] = useState(ROW_HEIGHT_GUESS)
  const [scrollMargin, setScrollMargin] = useState(0)
  const anchor = useRef<Anchor>(undefined)
  const focusedIndex = focused === undefined ? -1 : rows.indexOf(focused)
  const options = {
    ...rowOptions({ count, rowHeight, focusedIndex }),
    scrollMargin,
    getScrollElement: () => window,
    initialOffset: () => scrollY,
    initialRect: { width: innerWidth, height: innerHeight },
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    onChange: () => draw(undefined),
  }
  const [list] = useState(() => new Virtualizer<Window, Element>(options))
  list.setOptions(options)
  useLayoutEffect(() => list._didMount(), [list])
  useLayoutEffect(() => list.measure(), [list, rowHeight])
  useLayoutEffect(() => {
    list._willUpdate()
    const element = body.current
    if (element === null) return
    const { top } = element.getBoundingClientRect()
    setScrollMargin(Math.round(top + scrollY))
    const height = element.querySelector('tr')?.offsetHeight ?? 0
    if (height > 0) setRowHeight(height)
    const before = anchor.current
    if (props.steady && before !== undefined) {
      const now = rows.indexOf(before.key)
      const shift = shiftFor({ before: before.index, now, rowHeight, top })
      if (shift !== 0) scrollBy({ top: shift, behavior: 'instant' })
    }
    const { startIndex, endIndex } = list.range ?? { startIndex: 0, endIndex: 0 }
    anchor.current = anchorAt(startIndex)
    if (endIndex > count - NEAR_END_ROWS) props.nearEnd?.()
  })
  function anchorAt(index: number): Anchor {
    const row = rows.at(index)
    return row === undefined ? undefined : { key: keyOf(row), index }
  }
  return { rowHeight, indexes: list.getVirtualIndexes() }
}

/** Renders some rows beyond the visible ones, and always the focused one, which would otherwise lose the focus. */
export function rowOptions(of: { count: number; rowHeight: number; focusedIndex: number }) {
  const { count, rowHeight, focusedIndex } = of
  return {
    count,
    estimateSize: () => rowHeight,
    overscan: SPARE_ROWS,
    rangeExtractor(range: Range): number[] {
      const indexes = defaultRangeExtractor(range)
      if (focusedIndex < 0 || focusedIndex >= count || indexes.includes(focusedIndex))
        return indexes
      return [...indexes, focusedIndex].sort((a, b) => a - b)
    },
  }
}

/** How far to scroll so that a row stays in place when others are added above it; 0 while the top of the list is visible. */
export function shiftFor(of: Record<'before' | 'now' | 'rowHeight' | 'top', number>): number {
  if (of.top >= 0 || of.before < 0 || of.now < 0) return 0
  return (of.now - of.before) * of.rowHeight
}

function keyUnder(target: EventTarget | null): string | undefined {
  return target instanceof HTMLElement ? target.closest('tr')?.dataset['key'] : undefined
}
