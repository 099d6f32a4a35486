import type { Block } from './blocks.ts'
import { type Placed, PriceFileError, shownText } from './price-file-error.ts'
import type { Delimiter, Row } from './price-rows.ts'

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
