import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Direction } from './sorting.ts'
import { shiftFor, type Window, windowOf } from './window.ts'

export type Column<Row, Sort extends string = string> = {
  /** Names the cell's place on a narrow screen, too. */
  readonly id: string
  readonly title: string
  readonly numeric?: boolean
  readonly sort?: Sort
  cell(row: Row): ComponentChildren
}

export type TableProps<Row, Sort extends string> = {
  readonly label: string
  /** A class, by which the style sheet knows the columns' widths. */
  readonly kind: string
  readonly columns: readonly Column<Row, Sort>[]
  readonly count: number
  at(index: number): Row | undefined
  keyOf(row: Row): string
  /** Where a row is now; -1 for one that is gone. */
  indexOf(key: string): number
  /** Whether what is read stays where it is seen when rows come above it: for lists that only grow. */
  readonly steady?: boolean
  rowClass?(row: Row): string
  readonly order?: {
    readonly sort: Sort
    readonly direction: Direction
    choose(sort: Sort): void
  }
  /** Called while the end is near. */
  nearEnd?(): void
}

const SPARE_ROWS = 8
const ROW_HEIGHT_GUESS = 52
const NEAR_END_ROWS = 40

/** A table of any length of which only those rows are drawn that are seen. It scrolls with the page. */
export function VirtualTable<Row, Sort extends string>(props: TableProps<Row, Sort>) {
  const { columns, count, order } = props
  const body = useRef<HTMLTableSectionElement>(null)
  const { rowHeight, drawn } = useDrawn(body, props)
  const [focused, setFocused] = useState<string>()
  const indexes = indexesOf(drawn, focusedIndex(props, focused), count)
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
        onFocusIn={(event) => setFocused(keyUnder(event.target))}
        onFocusOut={() => setFocused(undefined)}
      >
        {indexes.map((index) => {
          const row = props.at(index)
          if (row === undefined) return null
          const key = props.keyOf(row)
          return (
            <Line
              key={key}
              name={key}
              row={row}
              columns={columns}
              index={index}
              top={index * rowHeight}
              kind={props.rowClass?.(row)}
            />
          )
        })}
      </tbody>
    </table>
  )
}

/** A row. Its cells are made once: rows are never changed, only replaced, and most are only moved. */
function Line<Row, Sort extends string>(props: {
  name: string
  row: Row
  columns: readonly Column<Row, Sort>[]
  index: number
  top: number
  kind: string | undefined
}) {
  const { row, columns } = props
  const cells = useMemo(
    () =>
      columns.map((column) => (
        <td
          role="cell"
          key={column.id}
          class={`${column.id}${column.numeric ? ' numeric' : ''}`}
          data-label={column.title}
        >
          {column.cell(row)}
        </td>
      )),
    [row, columns],
  )
  return (
    <tr
      role="row"
      data-key={props.name}
      aria-rowindex={props.index + 2}
      class={props.kind}
      style={{ transform: `translateY(${props.top}px)` }}
    >
      {cells}
    </tr>
  )
}

function Heading<Row, Sort extends string>(props: {
  column: Column<Row, Sort>
  order: TableProps<Row, Sort>['order']
}) {
  const { id, title, numeric, sort } = props.column
  const kind = `${id}${numeric ? ' numeric' : ''}`
  if (sort === undefined || props.order === undefined)
    return (
      <th role="columnheader" scope="col" class={kind}>
        {title}
      </th>
    )
  const { order } = props
  const isBy = order.sort === sort
  return (
    <th role="columnheader" scope="col" class={kind} aria-sort={isBy ? order.direction : 'none'}>
      <button type="button" class="sort" onClick={() => order.choose(sort)}>
        {title}
      </button>
    </th>
  )
}

/** Which rows are drawn, by where the table is seen; and how high a row is, by the first that is drawn. */
function useDrawn<Row, Sort extends string>(
  body: { readonly current: HTMLTableSectionElement | null },
  props: TableProps<Row, Sort>,
): { readonly rowHeight: number; readonly drawn: Window } {
  const [rowHeight, setRowHeight] = useState(ROW_HEIGHT_GUESS)
  const [drawn, setDrawn] = useState<Window>({ first: 0, end: 16 })
  const anchor = useRef<{ key: string; index: number } | undefined>(undefined)
  const look = useRef(() => {})
  look.current = () => {
    if (body.current === null) return
    const { top } = body.current.getBoundingClientRect()
    const { count } = props
    const next = windowOf({ count, rowHeight, top, seen: innerHeight, spare: SPARE_ROWS })
    if (next.first !== drawn.first || next.end !== drawn.end) setDrawn(next)
    const index = Math.max(0, Math.floor(-top / rowHeight))
    const row = props.at(index)
    anchor.current = row === undefined ? undefined : { key: props.keyOf(row), index }
    if (next.end > count - NEAR_END_ROWS) props.nearEnd?.()
  }
  useEffect(() => {
    const onChange = () => look.current()
    addEventListener('scroll', onChange, { passive: true })
    addEventListener('resize', onChange)
    return () => {
      removeEventListener('scroll', onChange)
      removeEventListener('resize', onChange)
    }
  }, [])
  useLayoutEffect(() => {
    const height = body.current?.querySelector('tr')?.offsetHeight
    if (height !== undefined && height > 0 && height !== rowHeight) setRowHeight(height)
    const { current } = anchor
    if (props.steady && current !== undefined && body.current !== null) {
      const { top } = body.current.getBoundingClientRect()
      const now = props.indexOf(current.key)
      const shift = shiftFor({ before: current.index, now, rowHeight, top })
      if (shift !== 0) scrollBy({ top: shift, behavior: 'instant' })
    }
    look.current()
  })
  return { rowHeight, drawn }
}

/** The row that has the focus is drawn wherever it is: else the focus would be lost with it. */
function indexesOf({ first, end }: Window, focused: number, count: number): readonly number[] {
  const indexes = Array.from(
    { length: Math.max(0, Math.min(end, count) - first) },
    (_, at) => first + at,
  )
  if (focused < 0 || focused >= count) return indexes
  if (focused < first) return [focused, ...indexes]
  return focused >= end ? [...indexes, focused] : indexes
}

function focusedIndex<Row, Sort extends string>(
  { indexOf }: TableProps<Row, Sort>,
  key: string | undefined,
): number {
  return key === undefined ? -1 : indexOf(key)
}

function keyUnder(target: EventTarget | null): string | undefined {
  if (!(target instanceof HTMLElement)) return undefined
  return target.closest('tr')?.dataset['key']
}
