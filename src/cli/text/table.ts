import { stripVTControlCharacters } from 'node:util'
import { briefDecimal } from '../../domain/text/grouped.ts'
import type { AmountData } from '../json/shapes.ts'

export type Column<Row> = {
  readonly title: string
  readonly cell: (row: Row) => string
  readonly right?: boolean
  /** Dropped from a table that is too wide. */
  readonly optional?: boolean
  /** Moved to lines below if the table is too wide. Only for the last column. */
  readonly below?: boolean
}

/** Minimum width, even on a narrower terminal. */
const WIDTH_MIN = 60
const GAP = '  '
const INDENT = '  '

type Filled = Pick<Column<never>, 'title' | 'right' | 'optional' | 'below'> & {
  /** Title first. */
  readonly texts: readonly string[]
  readonly width: number
}

/**
 * Lines of a table with a heading; empty without rows. Omits columns without text, and cuts nothing. `width` is the
 * terminal's. If the columns do not fit side by side, each row becomes a block with one line per column.
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
  const below = last?.below === true && !isFitting(filled, room) ? last : undefined
  const upper = below === undefined ? filled : filled.slice(0, -1)
  const shown = [upper, upper.filter(({ optional }) => optional !== true)].find((each) =>
    isFitting(each, room),
  )
  if (shown === undefined) return rows.flatMap((_, at) => blockOf(filled, at + 1, room))
  return ['', ...rows].flatMap((_, at) => {
    const line = cellsOf(shown, at)
    const text = below?.texts[at] ?? ''
    if (text === '') return [line]
    // The title stays beside the others if it fits.
    const end = `${line}${GAP}${text}`
    return at === 0 && end.length <= room ? [end] : [line, ...wrapped([`${INDENT}${text}`], room)]
  })
}

function isFitting(columns: readonly Filled[], room: number): boolean {
  const gaps = GAP.length * (columns.length - 1)
  return columns.reduce((sum, { width }) => sum + width, gaps) <= room
}

function cellsOf(columns: readonly Filled[], at: number): string {
  const cells = columns.map(({ texts, width, right }) => {
    const text = texts[at] ?? ''
    return right === true ? text.padStart(width) : text.padEnd(width)
  })
  return cells.join(GAP).trimEnd()
}

/** A row as lines: the first column's text, then the other columns' titles and texts. */
function blockOf(
  [first, ...others]: readonly Filled[],
  at: number,
  room: number,
): readonly string[] {
  const titled = others.filter(({ texts }) => texts[at] !== '')
  const width = titled.reduce((longest, { title }) => Math.max(longest, title.length), 0)
  const head = first?.texts[at] ?? ''
  return [
    ...(head === '' ? [] : [`${first?.title ?? ''} ${head}`.trim()]),
    ...titled.flatMap(({ title, texts }) =>
      beside(`${INDENT}${title.padEnd(width)}${GAP}`, texts[at] ?? '', room),
    ),
  ]
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

/** A label and the gap after it, or a line's indent. */
const LABEL = /^ *(?:\S+(?: \S+){0,2} {2,})?/
const LABEL_MAX = 24

/** A command to copy: a shell would take its second line as another one. */
const CODE = /^ {4}\S/

/** Wraps lines between words to a terminal's width; continuation lines are indented, or begin below the text of a label. */
export function wrapped(lines: readonly string[], width: number): readonly string[] {
  if (width === Number.POSITIVE_INFINITY) return lines
  return lines.flatMap((line) => {
    if (stripVTControlCharacters(line).length <= Math.max(width, WIDTH_MIN) || CODE.test(line))
      return [line]
    const label = LABEL.exec(line)?.[0] ?? ''
    const isWide =
      label.length > LABEL_MAX ||
      (line.slice(label.length).match(WORDS) ?? []).some(
        (word) => word.length > width - label.length,
      )
    const own = isWide ? (/^ */.exec(line)?.[0] ?? '') : label
    const below = own === '' ? INDENT : ' '.repeat(own.length)
    return filledLines(own, below, { text: line.slice(own.length), width })
  })
}

/** A command in backquotes, and a number with its unit, are one word. */
const WORDS = /(?:`[^`]*`|(?<![^\s(])[-\u2212+]?[\d.,/]+%? (?=[\w/]{1,12}(?:[^\w/]|$))|[^\s`]|`)+/g
/** A word of this length, such as a hash, may stand alone on a line. */
const LONG_WORD = 20

function filledLines(
  head: string,
  below: string,
  { text, width }: { readonly text: string; readonly width: number },
): readonly string[] {
  const room = Math.max(width, WIDTH_MIN)
  const lines: string[][] = [[]]
  let length = head.length
  for (const word of text.match(WORDS) ?? []) {
    const line = lines.at(-1) ?? []
    if (line.length > 0 && length + 1 + word.length > room) {
      lines.push([word])
      length = below.length + word.length
    } else {
      length += (line.length === 0 ? 0 : 1) + word.length
      line.push(word)
    }
  }
  joinOrphan(lines, room - below.length)
  return lines.map((words, at) => `${at === 0 ? head : below}${words.join(' ')}`.trimEnd())
}

/** Moves a word down to a last line that would have only one short word. */
function joinOrphan(lines: string[][], room: number): void {
  const [before = [], last] = lines.slice(-2)
  if (last === undefined) return
  const [orphan = '', ...others] = last
  const joined = before.at(-1) ?? ''
  if (others.length > 0 || orphan.length >= LONG_WORD || before.length < 3) return
  if (joined.length + 1 + orphan.length <= room) last.unshift(before.pop() ?? '')
}

const BARS = '▁▂▃▄▅▆▇█'
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
