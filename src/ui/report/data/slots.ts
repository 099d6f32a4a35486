import type { SlotsResult } from '../../../backtest/report/result.ts'
import { type Cell, type Column, column, figures, momentCell } from '../../parts/table.tsx'
import { count } from '../../parts/wording/amounts.ts'
import { outcomeTone, plain } from '../../parts/wording/outcomes.ts'
import { isoText, momentText, secondsOf } from '../../parts/wording/times.ts'
import { type Packed, pack, unpack } from './packing.ts'

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
