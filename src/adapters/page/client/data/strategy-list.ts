import type { StrategyRow } from '../../model.ts'
import { byNumber, byText, type Direction, sorted } from '../table/sorting.ts'
import { attentionOf } from '../words/phrases.ts'

export const STRATEGY_FILTERS = [
  'all',
  'attention',
  'active',
  'paused',
  'disabled',
  'removed',
] as const
export type StrategyFilter = (typeof STRATEGY_FILTERS)[number]

export type StrategySort = 'name' | 'state' | 'next' | 'outcome' | 'skip' | 'fills' | 'lastFill'

export type StrategyChoice = {
  readonly search: string
  readonly filter: StrategyFilter
  readonly sort: StrategySort
  readonly direction: Direction
}

/** Rows by name; those of a change replace or join them. */
export function mergeStrategies(
  rows: ReadonlyMap<string, StrategyRow>,
  changed: readonly StrategyRow[],
): ReadonlyMap<string, StrategyRow> {
  if (changed.length === 0) return rows
  const merged = new Map(rows)
  for (const row of changed) merged.set(row.name, row)
  return merged
}

/** What is to be shown of all rows, in its order. Every word of the search has to be in the row. */
export function chooseStrategies(
  rows: Iterable<StrategyRow>,
  { search, filter, sort, direction }: StrategyChoice,
): readonly StrategyRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const chosen = [...rows].filter((row) => isIn(row, filter) && hasAll(row, words))
  return sorted(chosen, { by: ORDERS[sort], direction, thenBy: ORDERS.name })
}

function isIn(row: StrategyRow, filter: StrategyFilter): boolean {
  if (filter === 'all') return true
  return filter === 'attention' ? attentionOf(row) !== undefined : row.state === filter
}

function hasAll(row: StrategyRow, words: readonly string[]): boolean {
  if (words.length === 0) return true
  const { name, kind, does, schedule, lastSlot, lastSkip } = row
  const skip = lastSkip?.reason ?? ''
  const text = `${name} ${kind} ${does} ${schedule} ${lastSlot?.outcome} ${lastSlot?.reason} ${skip}`
  const searched = text.toLowerCase()
  return words.every((word) => searched.includes(word))
}

const ORDERS: Readonly<Record<StrategySort, (a: StrategyRow, b: StrategyRow) => number>> = {
  name: byText(({ name }) => name),
  state: byText(({ state, waits }) => `${state} ${waits === null ? '' : 'waits'}`),
  next: byNumber(({ nextSlotSeconds }) => nextSlotSeconds),
  outcome: byText(({ lastSlot }) => (lastSlot === null ? null : outcomeKey(lastSlot))),
  skip: byNumber(({ lastSkip }) => lastSkip?.slotSeconds ?? null),
  fills: byNumber(({ fills }) => fills),
  lastFill: byNumber(({ lastFillAtMs }) => lastFillAtMs),
}

function outcomeKey({ outcome, reason }: NonNullable<StrategyRow['lastSlot']>): string {
  return `${outcome} ${reason ?? ''}`
}
