import type { ComponentChildren } from 'preact'
import { Pill } from './elements.tsx'
import type { Tone } from './wording/outcomes.ts'
import { isoText, momentText, secondsOf } from './wording/times.ts'

export type Cell = {
  readonly text: ComponentChildren
  readonly more?: readonly string[]
  readonly small?: ComponentChildren
  readonly drawn?: ComponentChildren
  readonly title?: string | undefined
  readonly tone?: Tone
  readonly iso?: string
  readonly kind?: string
}

export type Column<Row> = {
  readonly id: string
  readonly title: string
  cell(row: Row): Cell | string
}

export function column<Row>(id: string, title: string, cell: Column<Row>['cell']): Column<Row> {
  return { id, title, cell }
}

export function figures<Row>(id: string, title: string, cell: Column<Row>['cell']): Column<Row> {
  return { id: `${id} numeric`, title, cell }
}

export const NONE: Cell = { text: '–', kind: 'unknown' }

/** From ISO text or epoch seconds. */
export function momentCell(at: string | number): Cell {
  const seconds = typeof at === 'number' ? at : secondsOf(at)
  const iso = isoText(seconds)
  return { text: momentText(seconds), iso, title: iso }
}

/** The first cell names its row. Explicit roles remain when a narrow screen turns rows into cards. */
export function Table<Row>(props: {
  label: string
  kind: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  foot?: readonly (Cell | string)[]
  id?: string
  hidden?: boolean
}) {
  const { label, kind, columns, rows, foot } = props
  return (
    <table
      role="table"
      class={`sheet ${kind}`}
      aria-label={label}
      id={props.id}
      hidden={props.hidden}
    >
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column, at) => (
            <th key={at} role="columnheader" scope="col" class={column.id}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row, at) => (
          <Line key={at} columns={columns} cells={columns.map((column) => column.cell(row))} />
        ))}
      </tbody>
      {foot !== undefined && (
        <tfoot role="rowgroup">
          <Line columns={columns} cells={foot} />
        </tfoot>
      )}
    </table>
  )
}

function Line(props: { columns: readonly Column<never>[]; cells: readonly (Cell | string)[] }) {
  return (
    <tr role="row">
      {props.columns.map(({ id, title }, at) => {
        const content = props.cells[at] ?? ''
        const cell = typeof content === 'string' ? { text: content } : content
        const Tag = at === 0 ? 'th' : 'td'
        return (
          <Tag
            key={at}
            role={at === 0 ? 'rowheader' : 'cell'}
            scope={at === 0 ? 'row' : undefined}
            class={cell.kind ? `${id} ${cell.kind}` : id}
            data-label={title}
            title={cell.title || undefined}
          >
            {linesOf(cell)}
            {cell.small !== undefined && <span class="small">{cell.small}</span>}
            {cell.drawn}
          </Tag>
        )
      })}
    </tr>
  )
}

function linesOf({ text, more = [], tone, iso }: Cell): ComponentChildren {
  if (tone !== undefined) return <Pill tone={tone}>{text}</Pill>
  if (iso !== undefined) return <time dateTime={iso}>{text}</time>
  if (more.length === 0) return text
  return [text, ...more].map((line, at) => (
    <span key={at} class="of-many">
      {line}
    </span>
  ))
}
