import { BLOCK_BYTES, blocksOf } from './blocks.ts'
import { type BarTime, type Columns, columnsOf, delimiterOf } from './columns.ts'
import { type FileHead, headOf } from './file-head.ts'
import { badTime, type Placed, PriceFileError } from './price-file-error.ts'
import { placesOf } from './price-text.ts'
import { type Delimiter, type Place, placedAt, type Row, rowsOf } from './rows.ts'
import { microsOf, type TimeForm, timeFormOf } from './times.ts'

/** What is known of a file before it is looked at. */
export type LayoutOptions = {
  readonly file: string
  /** Places of the answers. Left out: eight, or as many up to 18 as the prices at the beginning of the file take. */
  readonly decimals?: number | undefined
  /**
   * What the times of bars are. Left out: when each began, unless the column is called `close_time`. Of no account for prices
   * that are no bars.
   */
  readonly barTime?: BarTime | undefined
  /** Bytes of the file in memory at a time. Default 256 KiB. */
  readonly blockBytes?: number
}

const DECIMALS = 8
const DECIMALS_MAX = 18
/** Rows at the beginning by which a file's form and the length of its bars are told. */
const SAMPLE_ROWS = 1_000

/** How a file is to be read. */
export type Layout = {
  readonly file: string
  readonly blockBytes: number
  readonly delimiter: Delimiter
  readonly columns: Columns
  readonly form: TimeForm
  readonly decimals: number
  /** How long after its time a price is known: how long a bar lasts, or 0. */
  readonly barMicros: number
}

/** Reads the beginning of a file. Throws PriceFileError where it does not tell how the rest is to be read. */
export function layoutOf(options: LayoutOptions): Layout {
  const { file, decimals, blockBytes = BLOCK_BYTES } = options
  const { rows, head, form, ...begun } = sampleOf(options, blockBytes)
  if (begun.columns === undefined) throw empty(file, 'it is empty')
  if (form === undefined) throw empty(file, 'it has no row of prices')
  const { columns } = begun
  return {
    file,
    blockBytes,
    delimiter: begun.delimiter,
    columns,
    form,
    decimals: decimals ?? head?.decimals ?? decimalsOf(rows, columns),
    barMicros: columns.barTime === 'open' ? barLength(rows, { columns, form, file }) : 0,
  }
}

/** What the beginning of a file shows, as far as it does. */
type Sample = {
  readonly rows: Row[]
  head: FileHead | undefined
  delimiter: Delimiter
  columns: Columns | undefined
  form: TimeForm | undefined
}

function sampleOf({ file, barTime }: LayoutOptions, blockBytes: number): Sample {
  const sample: Sample = {
    ...{ rows: [], delimiter: ',' },
    ...{ head: undefined, columns: undefined, form: undefined },
  }
  for (const block of blocksOf(file, blockBytes)) {
    sample.head ??= headOf(block)
    if (sample.columns === undefined) sample.delimiter = delimiterOf(block)
    const rows = rowsOf(block, file, sample.delimiter)
    // Nothing but comments so far.
    if (rows.length > 0) addSample(sample, rows, { file, block, barTime })
    if (sample.rows.length >= SAMPLE_ROWS) break
  }
  return sample
}

function addSample(
  sample: Sample,
  found: readonly Row[],
  { barTime, ...at }: Omit<Place, 'delimiter'> & { readonly barTime: BarTime | undefined },
): void {
  const place = { ...at, delimiter: sample.delimiter }
  const isFirst = sample.columns === undefined
  sample.columns ??= columnsIn(found, place, barTime)
  const from = isFirst && sample.columns.hasHeader ? 1 : 0
  for (const row of found.slice(from)) sample.rows.push(row)
  const [first] = sample.rows
  if (first !== undefined)
    sample.form ??= formIn(first, sample.columns, () => placedAt(from, place))
}

function columnsIn(rows: readonly Row[], place: Place, barTime: BarTime | undefined): Columns {
  const { file, line } = placedAt(0, place)
  return columnsOf(rows[0] ?? [], { file, line, barTime })
}

function formIn(row: Row, { time }: Columns, place: () => Placed): TimeForm {
  const form = timeFormOf(row[time] ?? '')
  if (form === undefined) throw badTime(row[time], place())
  return form
}

function decimalsOf(rows: readonly Row[], { price }: Columns): number {
  const most = rows.reduce((places, row) => Math.max(places, placesOf(row[price] ?? '')), DECIMALS)
  return Math.min(most, DECIMALS_MAX)
}

/**
 * How long bars last, epoch microseconds: the shortest time between two rows that is found twice, so that a single row out of place
 * does not make them shorter than they are, or the longest of those that are about as long, as months are.
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
    detail: 'one bar alone does not tell how long it lasts, and its price is known only at its end',
    remedy: 'two rows or more, or times that are those of the ends (a column close_time)',
  })
}

function empty(file: string, detail: string): PriceFileError {
  return new PriceFileError({ file, detail, remedy: 'rows of times and prices' })
}
