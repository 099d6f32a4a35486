/** A column of a table. */
export type Column<Row> = {
  readonly title: string
  readonly cell: (row: Row) => string
  /** Numbers stand under each other by their last digit. */
  readonly right?: boolean
  /** Left out where the whole is too wide. */
  readonly optional?: boolean
  /** It gives way where the whole is too wide: cut at the end. At most one of a table. */
  readonly gives?: boolean
}

/** A table fits this many columns of a terminal, and a narrower one as if it had as many. */
const WIDTH_MIN = 60
const GAP = 2
/** Of what goes on in a line below. */
const INDENT = '  '
/** What is left of a column that gives way. */
const LEFT_MIN = 8

/**
 * Lines of a table with a heading; none for no rows. Columns without any text are left out. `width`: of the terminal. Columns
 * that do not fit beside each other whatever gives way go on in a line below, indented.
 */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): readonly string[] {
  if (rows.length === 0) return []
  const room = Math.max(width, WIDTH_MIN)
  const filled = columns
    .map((column) => filledColumn(column, rows))
    .filter(({ isEmpty }) => !isEmpty)
  const parts = folded(fitted(filled, room) ?? squeezed(filled, room), room)
  return ['', ...rows].flatMap((_, at) => parts.map((part, below) => lineOf(part, { at, below })))
}

function lineOf<Row>(
  part: readonly Filled<Row>[],
  { at, below }: { readonly at: number; readonly below: number },
): string {
  const cells = part.map(({ column, texts, width }) =>
    aligned(texts[at] ?? '', width, column.right === true),
  )
  return `${below === 0 ? '' : INDENT}${cells.join(' '.repeat(GAP))}`.trimEnd()
}

type Filled<Row> = {
  readonly column: Column<Row>
  /** The title first. */
  readonly texts: readonly string[]
  readonly width: number
  readonly isEmpty: boolean
}

function filledColumn<Row>(column: Column<Row>, rows: readonly Row[]): Filled<Row> {
  const cells = rows.map(column.cell)
  const texts = [column.title, ...cells]
  const width = texts.reduce((most, { length }) => Math.max(most, length), 0)
  return { column, texts, width, isEmpty: cells.every((text) => text === '') }
}

/** The columns as they fit; undefined where no column can give way far enough. */
function fitted<Row>(
  columns: readonly Filled<Row>[],
  room: number,
): readonly Filled<Row>[] | undefined {
  const total = columns.reduce((sum, { width }) => sum + width, 0) + GAP * (columns.length - 1)
  const over = total - room
  if (over <= 0) return columns
  const giving = columns.find(({ column }) => column.gives === true)
  if (giving === undefined || giving.width - over < LEFT_MIN) return undefined
  return columns.map((each) => (each === giving ? { ...each, width: each.width - over } : each))
}

/** Without what may be left out, and then as narrow as it goes. */
function squeezed<Row>(columns: readonly Filled<Row>[], room: number): readonly Filled<Row>[] {
  const left = columns.filter(({ column }) => column.optional !== true)
  const narrow = (each: Filled<Row>): Filled<Row> =>
    each.column.gives === true ? { ...each, width: Math.min(each.width, LEFT_MIN) } : each
  return fitted(left, room) ?? left.map(narrow)
}

/** Columns as they fit beside each other; each part but the first is a line below. */
function folded<Row>(
  columns: readonly Filled<Row>[],
  room: number,
): readonly (readonly Filled<Row>[])[] {
  const parts: Filled<Row>[][] = []
  let left = 0
  for (const each of columns) {
    const width = Math.min(each.width, room - INDENT.length)
    const part = parts.at(-1)
    if (part === undefined || left < GAP + width) {
      left = (parts.length === 0 ? room : room - INDENT.length) - width
      parts.push([{ ...each, width }])
    } else {
      left -= GAP + width
      part.push({ ...each, width })
    }
  }
  return parts
}

function aligned(text: string, width: number, right: boolean): string {
  const shown = text.length <= width ? text : `${text.slice(0, width - 1)}…`
  return right ? shown.padStart(width) : shown.padEnd(width)
}

/** Lines as they fit a terminal: what is too long goes on below, indented, between words where there are any. */
export function wrapped(lines: readonly string[], width: number): readonly string[] {
  const room = Math.max(width, WIDTH_MIN)
  return lines.flatMap((line) => (line.length <= room ? [line] : wrappedLine(line, room)))
}

function wrappedLine(line: string, room: number): readonly string[] {
  const parts: string[] = []
  let rest = line
  while (rest.length > room) {
    const at = rest.lastIndexOf(' ', room)
    const end = at > INDENT.length * 2 ? at : room
    parts.push(rest.slice(0, end))
    rest = `${INDENT}${rest.slice(end).trimStart()}`
  }
  return [...parts, rest]
}
