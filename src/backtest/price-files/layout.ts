import { BLOCK_BYTES, type Block, blocksOf } from './blocks.ts'
import { microsOf, placesOf, type TimeForm, timeFormOf } from './cell-text.ts'
import { badTime, type Placed, PriceFileError, shownText } from './price-file-error.ts'
import { type Delimiter, placedAt, type Row, rowsOf } from './price-rows.ts'
import { type FileHead, headOf } from './round-file.ts'

export type LayoutOptions = {
  readonly file: string
  /** Bytes of the file in memory at a time. Default: 256 KiB. */
  readonly blockBytes?: number
}

const DECIMALS = 8
const DECIMALS_MAX = 18
/** Rows used to infer a file's form and the length of its bars. */
const SAMPLE_ROWS = 1_000

export type Layout = {
  readonly file: string
  readonly blockBytes: number
  readonly delimiter: Delimiter
  readonly columns: Columns
  readonly form: TimeForm
  /** Of the answers: 8, or as many up to 18 as the first prices have, unless the file's head says. */
  readonly decimals: number
  /** Time from a row until its price is known: the length of a bar, or 0. */
  readonly barMicros: number
}

/** Reads the beginning of a file. Throws PriceFileError if that does not show how to read the rest. */
export function layoutOf(options: LayoutOptions): Layout {
  const { file, blockBytes = BLOCK_BYTES } = options
  const sample: Row[] = []
  let head: FileHead | undefined
  let begun: Pick<Layout, 'delimiter' | 'columns'> | undefined
  let form: TimeForm | undefined
  for (const block of blocksOf(file, blockBytes)) {
    head ??= headOf(block)
    const delimiter = begun?.delimiter ?? delimiterOf(block)
    const rows = rowsOf(block, file, delimiter)
    const [first] = rows
    // Only comments so far.
    if (first === undefined) continue
    const place = { file, block, delimiter }
    const isBeginning = begun === undefined
    begun ??= { delimiter, columns: columnsOf(first, placedAt(0, place)) }
    const from = isBeginning && begun.columns.hasHeader ? 1 : 0
    form ??= formOf(rows[from], begun.columns, () => placedAt(from, place))
    for (const row of rows.slice(from)) sample.push(row)
    if (sample.length >= SAMPLE_ROWS) break
  }
  if (begun === undefined) throw empty(file, 'it is empty')
  if (form === undefined) throw empty(file, 'it has no row of prices')
  const { columns } = begun
  return {
    file,
    blockBytes,
    ...begun,
    form,
    decimals: head?.decimals ?? decimalsOf(sample, columns),
    barMicros: columns.isOpenTime ? barLength(sample, { columns, form, file }) : 0,
  }
}

function formOf(row: Row | undefined, { time }: Columns, place: () => Placed) {
  if (row === undefined) return undefined
  const form = timeFormOf(row[time] ?? '')
  if (form === undefined) throw badTime(row[time], place())
  return form
}

function decimalsOf(rows: readonly Row[], { price }: Columns): number {
  const most = rows.reduce((places, row) => Math.max(places, placesOf(row[price] ?? '')), DECIMALS)
  return Math.min(most, DECIMALS_MAX)
}

/**
 * Length of a bar, microseconds: the shortest distance of rows that occurs twice, so that a single misplaced row does not
 * count. Among distances of about that length it is the longest, because months differ.
 */
function barLength(
  rows: readonly Row[],
  { columns, form, file }: Pick<Layout, 'columns' | 'form' | 'file'>,
): number {
  const times = rows
    .slice(0, SAMPLE_ROWS)
    .flatMap((row) => microsOf(row[columns.time] ?? '', form) ?? [])
  const seen = new Map<number, number>()
  for (const [index, time] of times.entries()) {
    const distance = time - (times[index - 1] ?? time)
    if (distance > 0) seen.set(distance, (seen.get(distance) ?? 0) + 1)
  }
  const distances = [...seen.keys()].sort((a, b) => a - b)
  const shortest = distances.find((each) => (seen.get(each) ?? 0) > 1) ?? distances[0]
  if (shortest !== undefined) return distances.findLast((each) => each < shortest * 1.5) ?? shortest
  throw new PriceFileError({
    file,
    detail:
      'one row does not show the length of bars, and a price is known only at the end of its bar',
    remedy: 'two rows or more, or times that are those of the ends (a column close_time)',
  })
}

function empty(file: string, detail: string): PriceFileError {
  return new PriceFileError({ file, detail, remedy: 'rows of times and prices' })
}

export type Columns = {
  readonly time: number
  readonly price: number
  readonly hasHeader: boolean
  /** True if the rows are bars with their opening times; a bar's price is known only at its end. */
  readonly isOpenTime: boolean
}

/** In order of preference. */
const TIME_NAMES = [
  ...['unix', 'time', 'timestamp', 'open_time', 'datetime', 'date'],
  ...['updated_at', 'updatedat', 'close_time'],
] as const
const PRICE_NAMES = ['price', 'answer', 'value', 'close'] as const
const BAR_NAMES = ['open', 'high', 'low'] as const

const HEADER = `a time (${TIME_NAMES.join(', ')}) and a price (${PRICE_NAMES.join(', ')}, or open, high, low and close)`
const WITHOUT_HEADER =
  'a first line that names the columns; without one either two columns, time and price, or six and more: time, open, high, low, close, volume'
const BAR_COLUMNS_MIN = 6
const BAR_CLOSE = 4

const BLANK_OR_COMMENT = /^\s*(?:#.*)?$/

/** Infers the delimiter from the first line that is neither blank nor a comment. */
export function delimiterOf({ bytes }: Block): Delimiter {
  const lines = bytes.toString('utf8').replace('\ufeff', '').split('\n')
  const first = lines.find((line) => !BLANK_OR_COMMENT.test(line)) ?? ''
  return (['\t', ';'] as const).find((delimiter) => first.includes(delimiter)) ?? ','
}

/** Reads the first row of a file. Throws PriceFileError if it identifies no time or no price. */
export function columnsOf(first: Row, place: Pick<Placed, 'file' | 'line'>): Columns {
  // `Open time` is `open_time`.
  const names = first.map((cell) => cell.toLowerCase().replace(/[\s-]+/g, '_'))
  const named = { time: indexOfAny(names, TIME_NAMES), price: priceIndex(names) }
  if (named.time < 0 && named.price < 0 && first.every(isFigure))
    return columnsByCount(first, place)
  if (named.time < 0 || named.price < 0) {
    const missing = Object.entries(named).flatMap(([what, index]) => (index < 0 ? [what] : []))
    throw new PriceFileError({
      ...place,
      detail: `no column is a ${missing.join(', and none a ')}; there are: ${shownText(first.join(', '))}`,
      remedy: `columns with the names of ${HEADER}; or ${WITHOUT_HEADER}`,
      text: first.join(','),
    })
  }
  const isOpenTime = names[named.price] === 'close' && names[named.time] !== 'close_time'
  return { ...named, hasHeader: true, isOpenTime }
}

function columnsByCount(first: Row, place: Pick<Placed, 'file' | 'line'>): Columns {
  const { length } = first
  if (length === 2) return { time: 0, price: 1, hasHeader: false, isOpenTime: false }
  if (length >= BAR_COLUMNS_MIN)
    return { time: 0, price: BAR_CLOSE, hasHeader: false, isOpenTime: true }
  throw new PriceFileError({
    ...place,
    detail: `there are ${length} columns, and nothing says what they are`,
    remedy: WITHOUT_HEADER,
    text: first.join(','),
  })
}

/** A bar's close takes precedence over another column with the name of a price. */
function priceIndex(names: readonly string[]): number {
  const close = names.indexOf('close')
  const isBar = close >= 0 && BAR_NAMES.some((name) => names.includes(name))
  return isBar ? close : indexOfAny(names, PRICE_NAMES)
}

function indexOfAny(names: readonly string[], wanted: readonly string[]): number {
  const found = wanted.find((name) => names.includes(name))
  return found === undefined ? -1 : names.indexOf(found)
}

function isFigure(cell: string): boolean {
  return cell === '' || /^[-+.\d]/.test(cell)
}
