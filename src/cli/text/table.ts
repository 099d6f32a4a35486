import { briefDecimal } from '../../domain/money/units.ts'
import type { AmountData } from '../json/shapes.ts'

export type Column<Row> = {
  readonly title: string
  readonly cell: (row: Row) => string
  /** Right-aligned. */
  readonly right?: boolean
  /** Dropped from a table that is too wide. */
  readonly optional?: boolean
  /** Truncated in a table that is too wide. At most one per table. */
  readonly gives?: boolean
  /** Moved to lines below, uncut, if the table is too wide. Only for the last column. */
  readonly below?: boolean
}

/** Minimum width, even on a narrower terminal. */
const WIDTH_MIN = 60
const GAP = '  '
const INDENT = '  '
/** Minimum width of a truncated column. */
const LEFT_MIN = 8

type Filled = Pick<Column<never>, 'right' | 'optional' | 'gives' | 'below'> & {
  /** Title first. */
  readonly texts: readonly string[]
  readonly width: number
}

/**
 * Lines of a table with a heading; empty without rows. Omits columns without text. `width` is the terminal's. Columns that
 * do not fit side by side continue on an indented line below.
 */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): readonly string[] {
  if (rows.length === 0) return []
  const room = Math.max(width, WIDTH_MIN)
  const filled = columns.flatMap((column): readonly Filled[] => {
    const cells = rows.map(column.cell)
    const texts = [column.title, ...cells]
    const most = texts.reduce((longest, { length }) => Math.max(longest, length), 0)
    return cells.every((text) => text === '') ? [] : [{ ...column, texts, width: most }]
  })
  const last = filled.at(-1)
  const below = last?.below === true && fitted(filled, room) === undefined ? last : undefined
  const upper = below === undefined ? filled : filled.slice(0, -1)
  const parts = folded(fitted(upper, room) ?? squeezed(upper, room), room)
  return ['', ...rows].flatMap((_, at) => {
    const lines = parts
      .map((part, line) => `${line === 0 ? '' : INDENT}${cellsOf(part, at)}`.trimEnd())
      .filter((line, index) => index === 0 || line !== '')
    const text = below?.texts[at] ?? ''
    if (text === '') return lines
    // The title stays beside the others if it fits.
    const end = `${lines.at(-1) ?? ''}${GAP}${text}`
    if (at === 0 && end.length <= room) return [...lines.slice(0, -1), end]
    return [...lines, ...wrapped([`${INDENT}${text}`], room)]
  })
}

function cellsOf(part: readonly Filled[], at: number): string {
  const cells = part.map(({ texts, width, right }) => {
    const text = texts[at] ?? ''
    const shown = text.length <= width ? text : `${text.slice(0, width - 1)}…`
    return right === true ? shown.padStart(width) : shown.padEnd(width)
  })
  return cells.join(GAP)
}

/** The columns as they fit; undefined if no column can be truncated enough. */
function fitted(columns: readonly Filled[], room: number): readonly Filled[] | undefined {
  const gaps = GAP.length * (columns.length - 1)
  const over = columns.reduce((sum, { width }) => sum + width, gaps) - room
  if (over <= 0) return columns
  const giving = columns.find(({ gives }) => gives === true)
  if (giving === undefined || giving.width - over < LEFT_MIN) return undefined
  return columns.map((each) => (each === giving ? { ...each, width: each.width - over } : each))
}

/** Drops optional columns, then truncates the `gives` column as far as needed or possible. */
function squeezed(columns: readonly Filled[], room: number): readonly Filled[] {
  const left = columns.filter(({ optional }) => optional !== true)
  const narrow = (each: Filled): Filled =>
    each.gives === true ? { ...each, width: Math.min(each.width, LEFT_MIN) } : each
  return fitted(left, room) ?? left.map(narrow)
}

/** Splits columns into parts that fit side by side; each part after the first is a line below. */
function folded(columns: readonly Filled[], room: number): readonly (readonly Filled[])[] {
  const parts: Filled[][] = []
  let left = 0
  for (const each of columns) {
    const width = Math.min(each.width, room - INDENT.length)
    const part = parts.at(-1)
    if (part === undefined || left < GAP.length + width) {
      left = (part === undefined ? room : room - INDENT.length) - width
      parts.push([{ ...each, width }])
    } else {
      left -= GAP.length + width
      part.push({ ...each, width })
    }
  }
  return parts
}

/** Names and values, one per line, with the values aligned. */
export function labelled(rows: readonly (readonly [string, string])[]): readonly string[] {
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  return rows.map(([name, value]) => `${name.padEnd(width)}${GAP}${value}`)
}

/** Joins sections with an empty line between them; omits empty ones. */
export function spaced(sections: readonly (readonly string[])[]): readonly string[] {
  return sections
    .filter((section) => section.length > 0)
    .flatMap((section, at) => (at === 0 ? section : ['', ...section]))
}

/**
 * Wraps text beside a heading, with further lines indented to match. A command in backquotes stays whole; a word longer than
 * a line gets its own line, so that it can be copied. `width` is the terminal's, including the heading.
 */
export function beside(head: string, text: string, width: number): readonly string[] {
  return filledLines(head, ' '.repeat(head.length), { text, width })
}

/** Wraps lines between words to a terminal's width; continuation lines are indented. */
export function wrapped(lines: readonly string[], width: number): readonly string[] {
  return lines.flatMap((line) => {
    if (line.length <= Math.max(width, WIDTH_MIN)) return [line]
    const text = line.trimStart()
    const own = line.slice(0, line.length - text.length)
    return filledLines(own, own === '' ? INDENT : own, { text, width })
  })
}

function filledLines(
  head: string,
  below: string,
  { text, width }: { readonly text: string; readonly width: number },
): readonly string[] {
  const room = Math.max(width, WIDTH_MIN)
  const lines: string[] = []
  let line = head
  let isEmpty = true
  for (const word of text.match(/(?:`[^`]*`|[^\s`]|`)+/g) ?? []) {
    if (!isEmpty && line.length + 1 + word.length > room) {
      lines.push(line)
      line = below
      isEmpty = true
    }
    line += isEmpty ? word : ` ${word}`
    isEmpty = false
  }
  return [...lines, line.trimEnd()]
}

const BARS = '▁▂▃▄▅▆▇█'
/** Maximum columns of a chart. */
const CHART_COLUMNS = 60

type Sample = { readonly at: string; readonly value: AmountData | null }

/** A small chart of values over time, with dates and extremes below it; empty for fewer than two values. */
export function sparkline(samples: readonly Sample[], width: number): readonly string[] {
  const columns = Math.min(width, CHART_COLUMNS)
  const known = samples.flatMap(({ at, value }) =>
    value === null ? [] : [{ atMs: Date.parse(at), figure: Number.parseFloat(value.amount) }],
  )
  const [from, until] = [samples[0]?.at, samples.at(-1)?.at]
  if (known.length < 2 || from === undefined || until === undefined) return []
  const figures = known.map(({ figure }) => figure)
  const [low, high] = [Math.min(...figures), Math.max(...figures)]
  const [fromMs, untilMs] = [Date.parse(from), Date.parse(until)]
  const at = (share: number, count: number) => Math.min(count - 1, Math.floor(share * count))
  const bars = new Array<string>(columns).fill(' ')
  for (const { atMs, figure } of known) {
    const share = untilMs === fromMs ? 0 : (atMs - fromMs) / (untilMs - fromMs)
    const height = high === low ? 0.5 : (figure - low) / (high - low)
    bars[at(share, columns)] = BARS[at(height, BARS.length)] ?? ' '
  }
  return [
    bars.join(''),
    `${from.slice(0, 10)}${' '.repeat(Math.max(1, columns - 20))}${until.slice(0, 10)}`,
    `lowest ${briefDecimal(`${low}`)}, highest ${briefDecimal(`${high}`)}`,
  ]
}
