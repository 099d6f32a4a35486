import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Search, Select } from '../../parts/choices.tsx'
import { Table } from '../../parts/table.tsx'
import { count } from '../../parts/wording/amounts.ts'
import { capitalised, plain } from '../../parts/wording/outcomes.ts'
import {
  type Page,
  pagesOf,
  type RowTable,
  rangeText,
  STATIC_ROWS_MAX,
} from '../data/long-tables.ts'

const SIZES = ['25', '100', '500'] as const

/** Values by field: choices, the searched text, and the rows per page. */
type Query = Readonly<Record<string, string>>

/** Without `live`, shows what readers without scripts get: the first rows, and no controls. */
export function Rows<Row>({ table, live = false }: { table: RowTable<Row>; live?: boolean }) {
  const { id, title, rows, columns, choices } = table
  const form = useRef<HTMLElement>(null)
  const [query, setQuery] = useState<Query>({})
  const [turned, turn] = useState(0)
  const find = useMemo(() => finderOf(table), [table])
  const found = find(query)
  const size = live ? Number(query['size'] ?? SIZES[0]) : STATIC_ROWS_MAX
  const shown = found.slice(turned * size, (turned + 1) * size)
  function search() {
    setQuery(queryIn(form.current))
    turn(0)
  }
  // The browser may restore choices when it returns to the page.
  useLayoutEffect(search, [])
  function showAll() {
    for (const field of fieldsIn(form.current))
      if (field.dataset['field'] !== 'size') field.value = ''
    search()
    form.current?.querySelector<HTMLInputElement>('input')?.focus()
  }
  return (
    <>
      <search class="choices needs-script" id={`${id}-choices`} ref={form} onInput={search}>
        {choices.map((choice) => (
          <Select
            key={choice}
            title={capitalised(choice)}
            field={choice}
            options={[['', 'all'], ...(live ? valuesOf(rows, choice) : [])]}
          />
        ))}
        <Search title="Text" field="text" placeholder="Any text" />
        <Select
          title="Rows"
          kind="size"
          field="size"
          options={SIZES.map((size) => [size, size] as const)}
        />
      </search>
      <Pager
        id={id}
        page={{ page: turned, size }}
        found={found.length}
        of={rows.length}
        turn={turn}
      />
      {!live && rows.length > shown.length && (
        <noscript>
          <p class="note warn">
            These are the first {shown.length} of {count(rows.length)} rows; the page’s own script,
            which is disabled, shows the others.
          </p>
        </noscript>
      )}
      <Table
        id={`${id}-table`}
        label={title}
        kind={`of-${id}`}
        columns={columns}
        rows={shown}
        hidden={shown.length === 0}
      />
      <p class="empty" id={`${id}-none`} hidden={shown.length > 0}>
        No row matches.{' '}
        <button type="button" class="quiet" onClick={showAll}>
          Show all rows
        </button>
      </p>
    </>
  )
}

function Pager(props: {
  id: string
  page: Page
  found: number
  of: number
  turn(page: number): void
}) {
  const { page } = props.page
  const last = pagesOf(props.page, props.found) - 1
  const turns = [
    ['first', 'First', 0],
    ['previous', 'Previous', Math.max(0, page - 1)],
    ['next', 'Next', Math.min(last, page + 1)],
    ['last', 'Last', last],
  ] as const
  return (
    <div class="pager needs-script" id={`${props.id}-pager`}>
      <p role="status">{rangeText(props.page, props.found, props.of)}</p>
      <span class="turns">
        {turns.map(([name, text, to]) => (
          <button
            key={name}
            type="button"
            class="quiet"
            data-turn={name}
            disabled={to === page}
            onClick={() => props.turn(to)}
          >
            {text}
          </button>
        ))}
      </span>
    </div>
  )
}

function fieldsIn(form: HTMLElement | null) {
  return [...(form?.querySelectorAll<HTMLInputElement | HTMLSelectElement>('[data-field]') ?? [])]
}

function queryIn(form: HTMLElement | null): Query {
  return Object.fromEntries(
    fieldsIn(form).map((field) => [field.dataset['field'] ?? '', field.value]),
  )
}

/** The first search builds the searched texts. */
function finderOf<Row>({ rows, choices, textOf }: RowTable<Row>) {
  let texts: readonly string[] | undefined
  return (query: Query): readonly Row[] => {
    const text = (query['text'] ?? '').trim().toLowerCase()
    const chosen = choices.filter((choice) => (query[choice] ?? '') !== '')
    if (chosen.length === 0 && text === '') return rows
    if (text !== '') texts ??= rows.map(textOf)
    return rows.filter(
      (row, index) =>
        chosen.every((choice) => row[choice] === query[choice]) &&
        (text === '' || texts?.[index]?.includes(text)),
    )
  }
}

function valuesOf<Row>(rows: readonly Row[], choice: keyof Row) {
  const values = [...new Set(rows.map((row) => String(row[choice])))].sort()
  return values.map((value) => [value, choice === 'strategy' ? value : plain(value)] as const)
}
