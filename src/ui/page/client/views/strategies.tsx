import { useMemo, useState } from 'preact/hooks'
import { Search, Select, Shown } from '../../../parts/choices.tsx'
import { Command, Empty, Unknown } from '../../../parts/elements.tsx'
import { count } from '../../../parts/wording/amounts.ts'
import type { StrategyRow } from '../../model.ts'
import { attentionOf } from '../parts/labels.ts'
import { LastSkip, LastSlot, NextSlot, State, StrategyName, TwoLines } from '../parts/rows.tsx'
import { Ago, Said } from '../parts/values.tsx'
import { usePage } from '../shell/context.tsx'
import { type Column, column, VirtualTable } from './virtual-table.tsx'

const FILTERS = {
  all: 'All',
  attention: 'Needs attention',
  active: 'Active',
  finished: 'Finished',
  paused: 'Paused',
  disabled: 'Disabled',
  removed: 'Removed',
} as const

const KEYS = {
  name: ({ name }) => name,
  state: ({ state, waits }) => `${state} ${waits === null ? '' : 'waits'}`,
  next: ({ nextSlotSeconds }) => nextSlotSeconds,
  outcome: ({ lastSlot }) => lastSlot && `${lastSlot.outcome} ${lastSlot.reason ?? ''}`,
  skip: ({ lastSkip }) => lastSkip?.slotSeconds ?? null,
  fills: ({ fills }) => fills,
  lastFill: ({ lastFillAtMs }) => lastFillAtMs,
} as const satisfies Readonly<Record<string, (row: StrategyRow) => string | number | null>>
type StrategySort = keyof typeof KEYS

export type StrategyChoice = {
  readonly search: string
  readonly filter: keyof typeof FILTERS
  readonly sort: StrategySort
  readonly direction: 'ascending' | 'descending'
}

/** Sorts unknown keys last in both directions, and equal ones by name. A row matches if it contains every word. */
export function chooseStrategies(
  rows: Iterable<StrategyRow>,
  { search, filter, sort, direction }: StrategyChoice,
): readonly StrategyRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const keyOf: (row: StrategyRow) => string | number | null = KEYS[sort]
  const sign = direction === 'ascending' ? 1 : -1
  return [...rows]
    .filter((row) => isIn(row, filter) && hasAll(row, words))
    .sort((one, other) => {
      const [a, b] = [keyOf(one), keyOf(other)]
      if (a === b) return one.name < other.name ? -1 : 1
      if (a === null || b === null) return a === null ? 1 : -1
      return a < b ? -sign : sign
    })
}

function isIn(row: StrategyRow, filter: StrategyChoice['filter']): boolean {
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

const COLUMNS: readonly Column<StrategyRow, StrategySort>[] = [
  column('name', 'Strategy', (row) => <StrategyName row={row} />, 'name'),
  column('state', 'State', (row) => <State row={row} />, 'state'),
  column('does', 'What it does', ({ does, schedule }) => (
    <TwoLines first={<Said text={does} />} title={does} second={schedule} secondTitle={schedule} />
  )),
  column('next', 'Next slot', (row) => <NextSlot row={row} />, 'next'),
  column('outcome', 'Last slot', (row) => <LastSlot row={row} />, 'outcome'),
  column('skip', 'Last skip', (row) => <LastSkip row={row} />, 'skip'),
  column('count numeric', 'Fills', ({ fills }) => count(fills), 'fills'),
  column(
    'last numeric',
    'Last fill',
    ({ lastFillAtMs: atMs }) => (atMs === null ? <Unknown>none</Unknown> : <Ago atMs={atMs} />),
    'lastFill',
  ),
]

const SORTS = COLUMNS.flatMap(({ sort, title }) =>
  sort === undefined ? [] : [[sort, title] as const],
)

/** Keeps the choice across views while the page is open. */
const chosen: { current: StrategyChoice } = {
  current: { search: '', filter: 'all', sort: 'name', direction: 'ascending' },
}

export function Strategies() {
  const { store } = usePage()
  const [choice, setChoice] = useState(chosen.current)
  function choose(part: Partial<StrategyChoice>) {
    chosen.current = { ...choice, ...part }
    setChoice(chosen.current)
  }
  const rows = useMemo(
    () => chooseStrategies(store.strategies.values(), choice),
    [store.strategies, choice],
  )
  if (store.strategies.size === 0) return <NoStrategies />
  const isUp = choice.direction === 'ascending'
  return (
    <>
      <search class="choices">
        <Search
          value={choice.search}
          placeholder="Name, token, reason"
          search={(search) => choose({ search })}
        />
        <Select
          title="Show"
          options={Object.entries(FILTERS)}
          value={choice.filter}
          choose={(filter) => choose({ filter: filter as StrategyChoice['filter'] })}
        />
        <Select
          title="Sort by"
          kind="narrow-only"
          options={SORTS}
          value={choice.sort}
          choose={(sort) => choose({ sort })}
        />
        <Shown rows={rows.length} of={store.strategies.size} what="strategies" />
      </search>
      {rows.length === 0 && <Empty>No strategy matches.</Empty>}
      <VirtualTable
        label="Strategies"
        kind="strategies"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ name }) => name}
        rowClass={({ state }) => (state === 'disabled' || state === 'removed' ? 'muted' : '')}
        order={{
          sort: choice.sort,
          direction: choice.direction,
          choose: (sort) =>
            choose({ sort, direction: sort === choice.sort && isUp ? 'descending' : 'ascending' }),
        }}
      />
    </>
  )
}

export function NoStrategies() {
  return (
    <Empty>
      There is no strategy yet. Write one as a file in the strategies folder;{' '}
      <Command>tranched init my-bot</Command> creates an example, and{' '}
      <Command>tranched validate</Command> lists every mistake.
    </Empty>
  )
}
