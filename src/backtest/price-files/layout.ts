import { BLOCK_BYTES, blocksOf } from './blocks.ts'
import { type Columns, columnsOf, delimiterOf } from './columns.ts'
import { badTime, type Placed, PriceFileError } from './price-file-error.ts'
import { type Delimiter, placedAt, type Row, rowsOf } from './price-rows.ts'
import { placesOf } from './price-text.ts'
import { type FileHead, headOf } from './round-file.ts'
import { microsOf, type TimeForm, timeFormOf } from './times.ts'

export type LayoutOptions = {
  readonly file: string
  /** Decimals of the answers. Default: 8, or as many up to 18 as the first prices have. */
  readonly decimals?: number | undefined
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
    decimals: options.decimals ?? head?.decimals ?? decimalsOf(sample, columns),
    barMicros: columns.isOpenTime ? barLength(sample, { columns, form, file }) : 0,
  }
}

function formOf(
  row: Row | undefined,
  { time }: Columns,
  place: () => Placed,
): TimeForm | undefined {
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
