import type { AmountResult, FillResult, SlotsResult } from '../../../backtest/report/result.ts'
import { type Cell, type Column, column, figures, momentCell, NONE } from '../../parts/table.tsx'
import { amountText, basisPoints, count } from '../../parts/wording/amounts.ts'
import { outcomeTone, plain } from '../../parts/wording/outcomes.ts'
import { isoText, momentText, secondsOf } from '../../parts/wording/times.ts'
import { amountCell, betterPercent, priceOf } from './labels.ts'

export type RowTable<Row> = {
  readonly id: 'slots' | 'fills'
  readonly title: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly choices: readonly (keyof Row & string)[]
  textOf(row: Row): string
}

export const STATIC_ROWS_MAX = 200

export type Page = { readonly page: number; readonly size: number }

export function pagesOf({ size }: Page, found: number): number {
  return Math.max(1, Math.ceil(found / size))
}

/** `1 to 25 of 312 rows, of 5,000`. */
export function rangeText({ page, size }: Page, found: number, total: number): string {
  const besides = found === total ? '' : `, of ${count(total)}`
  if (found === 0) return `No rows${besides}`
  const first = page * size + 1
  const last = Math.min(found, first + size - 1)
  return `${count(first)} to ${count(last)} of ${count(found)} rows${besides}`
}

type SlotRow = ReturnType<typeof slotRow>

function slotRow({ fromAt, untilAt, detail, ...slots }: SlotsResult) {
  return {
    fromSeconds: secondsOf(fromAt),
    untilSeconds: secondsOf(untilAt),
    ...slots,
    detail: detail ?? '',
  }
}

export function packSlots(slots: readonly SlotsResult[]): Packed {
  return pack(slots.map(slotRow), ['strategy', 'outcome', 'reason', 'detail'])
}

export function slotTable(
  slots: Packed,
  meanings: Readonly<Record<string, string>>,
): RowTable<SlotRow> {
  return {
    id: 'slots',
    title: 'Slots',
    rows: unpack<SlotRow>(slots),
    choices: ['strategy', 'outcome', 'reason'],
    textOf: ({ strategy, outcome, reason, detail }) =>
      [strategy, outcome, plain(reason), reason, detail].join('\n').toLowerCase(),
    columns: [
      column('when', 'Slot (UTC)', whenCell),
      column('strategy', 'Strategy', ({ strategy }) => strategy),
      figures('count', 'Slots', (row) => count(row.count)),
      outcomeColumn(),
      column('reason', 'Reason', (row) => ({
        ...reasonCell(row, meanings),
        ...(row.detail === '' ? {} : { small: row.detail }),
      })),
    ],
  }
}

export function outcomeColumn<Row extends { readonly outcome: string }>(): Column<Row> {
  return column('outcome', 'Outcome', ({ outcome }) => ({
    text: outcome,
    tone: outcomeTone(outcome),
  }))
}

/** Empty if the outcome says everything, as `filled` and `missed` do. */
export function reasonCell(
  { outcome, reason }: { readonly outcome: string; readonly reason: string },
  meanings: Readonly<Record<string, string>>,
): Cell {
  return { text: reason === outcome ? '' : plain(reason), title: meanings[reason] }
}

function whenCell({ fromSeconds, untilSeconds }: SlotRow): Cell {
  if (fromSeconds === untilSeconds) return momentCell(fromSeconds)
  const title = `${isoText(fromSeconds)} to ${isoText(untilSeconds)}`
  return { ...momentCell(fromSeconds), title, small: `to ${momentText(untilSeconds)}` }
}

export type FillRow = {
  readonly atSeconds: number
  readonly slotSeconds: number
  readonly strategy: string
  readonly paid: AmountResult
  readonly received: AmountResult
  readonly price: number
  readonly marketPrice: number
}

export function packFills(fills: readonly FillResult[]): Packed {
  const rows = fills.map(({ at, slotSeconds, strategy, paid, received, price, marketPrice }) => ({
    atSeconds: secondsOf(at),
    slotSeconds,
    strategy,
    paid: paid.amount,
    paidToken: paid.token,
    received: received.amount,
    receivedToken: received.token,
    price: visible(Number(price)),
    marketPrice: visible(Number(marketPrice)),
  }))
  return pack(rows, ['strategy', 'paidToken', 'receivedToken'])
}

type FlatFill = Omit<FillRow, 'paid' | 'received'> &
  Readonly<Record<'paid' | 'paidToken' | 'received' | 'receivedToken', string>>

export function fillRows(fills: Packed): readonly FillRow[] {
  return unpack<FlatFill>(fills).map(({ paid, paidToken, received, receivedToken, ...row }) => ({
    ...row,
    paid: { amount: paid, token: paidToken },
    received: { amount: received, token: receivedToken },
  }))
}

export function fillTable(rows: readonly FillRow[]): RowTable<FillRow> {
  return {
    id: 'fills',
    title: 'Fills',
    rows,
    choices: ['strategy'],
    textOf: ({ strategy, paid, received }) =>
      [strategy, paid.token, received.token, paid.amount, received.amount].join('\n').toLowerCase(),
    columns: COLUMNS,
  }
}

const COLUMNS: readonly Column<FillRow>[] = [
  column('when', 'Filled (UTC)', ({ atSeconds, slotSeconds }) => ({
    ...momentCell(atSeconds),
    title: `${isoText(atSeconds)}, slot ${slotSeconds} (${isoText(slotSeconds)})`,
  })),
  column('strategy', 'Strategy', ({ strategy }) => strategy),
  figures('paid', 'Paid', ({ paid }) => amountCell(paid)),
  figures('received', 'Received', ({ received }) => amountCell(received)),
  figures('price', 'Price', (row) => priceCell(row, row.price)),
  figures('market', 'Market’s price', (row) => priceCell(row, row.marketPrice)),
  figures('against', 'Against market', ({ price, marketPrice }) =>
    marketPrice > 0 ? basisPoints(betterPercent(price, marketPrice) * 100) : NONE,
  ),
]

function priceCell({ price: like, paid, received }: FillRow, price: number): Cell {
  if (!(price > 0)) return NONE
  const { number, unit } = priceOf({ price, paid: paid.token, received: received.token }, like)
  return { text: number, title: `${number} ${unit}` }
}

/** `paid 25 USDC for 0.0083 WETH at 3,011.24 USDC per WETH`. */
export function markText({ paid, received, price }: FillRow): string {
  const { number, unit } = priceOf({ price, paid: paid.token, received: received.token })
  return `paid ${amountText(paid)} for ${amountText(received)} at ${number} ${unit}`
}

type Flat = Readonly<Record<string, string | number>>

/** Rows of a long table, column by column. Recurring texts are stored once. */
export type Packed = {
  readonly words: readonly string[]
  /** Values are indexes into `words`. */
  readonly coded: Readonly<Record<string, readonly number[]>>
  readonly plain: Readonly<Record<string, readonly (string | number)[]>>
}

export function pack<Row extends Flat>(
  rows: readonly Row[],
  recurring: readonly (keyof Row & string)[],
): Packed {
  const places = new Map<string | number, number>()
  const placeOf = (text: string | number): number => {
    const place = places.get(text) ?? places.size
    places.set(text, place)
    return place
  }
  const column = (name: keyof Row & string) => rows.map((row) => row[name] ?? '')
  const plain = Object.keys(rows[0] ?? {}).filter((name) => !recurring.includes(name))
  return {
    coded: Object.fromEntries(recurring.map((name) => [name, column(name).map(placeOf)])),
    plain: Object.fromEntries(plain.map((name) => [name, column(name)])),
    words: [...places.keys()].map(String),
  }
}

export function unpack<Row extends Flat>({ words, coded, plain }: Packed): readonly Row[] {
  const texts = Object.entries(coded).map(
    ([name, places]) => [name, places.map((place) => words[place] ?? '')] as const,
  )
  const columns = [...texts, ...Object.entries(plain)]
  const count = columns[0]?.[1].length ?? 0
  return Array.from(
    { length: count },
    (_, index) => Object.fromEntries(columns.map(([name, values]) => [name, values[index]])) as Row,
  )
}

/** Rounds to the digits visible in a chart. */
export function visible(number: number): number {
  return Number(number.toPrecision(7))
}
