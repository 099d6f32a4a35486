import { WIDTH_MIN, wrapped } from './wrap.ts'

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
  /** It stands in lines below, all of it, where the whole is too wide. The last of a table. */
  readonly below?: boolean
}

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
  const last = filled.at(-1)
  const below = last?.column.below === true && fitted(filled, room) === undefined ? last : undefined
  const beside = below === undefined ? filled : filled.slice(0, -1)
  const parts = folded(fitted(beside, room) ?? squeezed(beside, room), room)
  return ['', ...rows].flatMap((_, at) => {
    const lines = parts
      .map((part, line) => lineOf(part, { at, below: line }))
      .filter((line, index) => index === 0 || line !== '')
    return withText(lines, below?.texts[at] ?? '', { isTitle: at === 0, room })
  })
}

/** Lines of a row with the text that stands below them; that of a title beside the others where it has room. */
function withText(
  lines: readonly string[],
  text: string,
  { isTitle, room }: { readonly isTitle: boolean; readonly room: number },
): readonly string[] {
  if (text === '') return lines
  const end = `${lines.at(-1) ?? ''}${' '.repeat(GAP)}${text}`
  if (isTitle && end.length <= room) return [...lines.slice(0, -1), end]
  return [...lines, ...wrapped([`${INDENT}${text}`], room)]
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
