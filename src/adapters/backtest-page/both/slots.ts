import type { SlotsResult } from '../../../backtest/report/result.ts'
import { count } from '../../page-parts/words/amounts.ts'
import { outcomeTone, plain } from '../../page-parts/words/outcomes.ts'
import type { Cell, Column } from './cells.ts'
import { momentCell } from './cells.ts'
import { isoText, momentText, secondsOf } from './moments.ts'
import { Words } from './packing.ts'

/** Slots that ended alike, as one row of the table. */
export type SlotRow = {
  readonly fromSeconds: number
  readonly untilSeconds: number
  readonly count: number
  readonly strategy: string
  readonly outcome: string
  readonly reason: string
  readonly detail: string
}

/** All rows, column by column: what is a text is the place of it among `words`. */
export type PackedSlots = {
  readonly words: readonly string[]
  readonly from: readonly number[]
  readonly until: readonly number[]
  readonly count: readonly number[]
  readonly strategy: readonly number[]
  readonly outcome: readonly number[]
  readonly reason: readonly number[]
  readonly detail: readonly number[]
}

export function packSlots(rows: readonly SlotsResult[]): PackedSlots {
  const words = new Words()
  const places = (of: (row: SlotsResult) => string) => rows.map((row) => words.placeOf(of(row)))
  return {
    from: rows.map(({ fromAt }) => secondsOf(fromAt)),
    until: rows.map(({ untilAt }) => secondsOf(untilAt)),
    count: rows.map((row) => row.count),
    strategy: places((row) => row.strategy),
    outcome: places((row) => row.outcome),
    reason: places((row) => row.reason),
    detail: places((row) => row.detail ?? ''),
    words: words.all,
  }
}

export function slotAt(packed: PackedSlots, index: number): SlotRow {
  const word = (places: readonly number[]) => packed.words[places[index] ?? -1] ?? ''
  return {
    fromSeconds: packed.from[index] ?? 0,
    untilSeconds: packed.until[index] ?? 0,
    count: packed.count[index] ?? 0,
    strategy: word(packed.strategy),
    outcome: word(packed.outcome),
    reason: word(packed.reason),
    detail: word(packed.detail),
  }
}

/** By the fields that can be chosen; what is found by text beside them. */
export const SLOT_CHOICES = ['strategy', 'outcome', 'reason'] as const

export function slotText({ strategy, outcome, reason, detail }: SlotRow): string {
  return [strategy, outcome, plain(reason), reason, detail].join('\n').toLowerCase()
}

/** @param meanings what a reason means, by its word. */
export function slotColumns(
  meanings: Readonly<Record<string, string>>,
): readonly Column<SlotRow>[] {
  return [
    { id: 'when', title: 'Slot (UTC)', cell: whenCell },
    { id: 'strategy', title: 'Strategy', cell: ({ strategy }) => ({ text: strategy }) },
    { id: 'count', title: 'Slots', numeric: true, cell: (row) => ({ text: count(row.count) }) },
    {
      id: 'outcome',
      title: 'Outcome',
      cell: ({ outcome }) => ({ text: outcome, tone: outcomeTone(outcome) }),
    },
    {
      id: 'reason',
      title: 'Reason',
      cell: ({ outcome, reason, detail }) => ({
        // What was filled or missed has no other reason than that.
        text: reason === outcome ? '' : plain(reason),
        title: meanings[reason],
        small: detail === '' ? undefined : detail,
      }),
    },
  ]
}

/** A row of several slots tells the last of them as well. */
function whenCell({ fromSeconds, untilSeconds }: SlotRow): Cell {
  if (fromSeconds === untilSeconds) return momentCell(fromSeconds)
  const title = `${isoText(fromSeconds)} to ${isoText(untilSeconds)}`
  return { ...momentCell(fromSeconds), title, small: `to ${momentText(untilSeconds)}` }
}
