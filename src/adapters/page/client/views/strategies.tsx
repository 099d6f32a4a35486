import { useMemo, useState } from 'preact/hooks'
import { count } from '../../../page-parts/words/amounts.ts'
import type { StrategyRow } from '../../model.ts'
import {
  chooseStrategies,
  STRATEGY_FILTERS,
  type StrategyChoice,
  type StrategyFilter,
  type StrategySort,
} from '../data/strategy-list.ts'
import { Empty } from '../parts/card.tsx'
import { LastSkip, LastSlot, NextSlot, State, StrategyName } from '../parts/strategy.tsx'
import { Ago, Command, Unknown } from '../parts/words.tsx'
import { usePage } from '../shell/page-context.ts'
import { type Column, VirtualTable } from '../table/virtual-table.tsx'

const COLUMNS: readonly Column<StrategyRow, StrategySort>[] = [
  { id: 'name', title: 'Strategy', sort: 'name', cell: (row) => <StrategyName row={row} /> },
  { id: 'state', title: 'State', sort: 'state', cell: (row) => <State row={row} /> },
  {
    id: 'does',
    title: 'What it does',
    cell: ({ does, schedule }) => (
      <>
        <span class="line" title={does}>
          {does}
        </span>
        <span class="line small" title={schedule}>
          {schedule}
        </span>
      </>
    ),
  },
  { id: 'next', title: 'Next slot', sort: 'next', cell: (row) => <NextSlot row={row} /> },
  { id: 'outcome', title: 'Last slot', sort: 'outcome', cell: (row) => <LastSlot row={row} /> },
  { id: 'skip', title: 'Last skip', sort: 'skip', cell: (row) => <LastSkip row={row} /> },
  {
    id: 'count',
    title: 'Fills',
    sort: 'fills',
    numeric: true,
    cell: ({ fills }) => count(fills),
  },
  {
    id: 'last',
    title: 'Last fill',
    sort: 'lastFill',
    numeric: true,
    cell: ({ lastFillAtMs }) =>
      lastFillAtMs === null ? <Unknown>none</Unknown> : <Ago atMs={lastFillAtMs} />,
  },
]

const FILTER_NAMES: Readonly<Record<StrategyFilter, string>> = {
  all: 'All',
  attention: 'Needs a look',
  active: 'Active',
  paused: 'Paused',
  disabled: 'Disabled',
  removed: 'Removed',
}

const FIRST: StrategyChoice = { search: '', filter: 'all', sort: 'name', direction: 'ascending' }

/** What was chosen here stays while the page is open, whatever else is looked at meanwhile. */
const chosen = { current: FIRST }

/** All strategies: searched, filtered, sorted. */
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
  return (
    <>
      <Choices choice={choice} shown={rows.length} all={store.strategies.size} choose={choose} />
      {rows.length === 0 && <Empty>No strategy is like that.</Empty>}
      <VirtualTable
        label="Strategies"
        kind="strategies"
        columns={COLUMNS}
        count={rows.length}
        at={(index) => rows[index]}
        keyOf={({ name }) => name}
        indexOf={(name) => rows.findIndex((row) => row.name === name)}
        rowClass={({ state }) => (state === 'disabled' || state === 'removed' ? 'off' : '')}
        order={{
          ...choice,
          choose: (sort) => choose({ sort, direction: turned(choice, sort) }),
        }}
      />
    </>
  )
}

function turned(
  { sort, direction }: StrategyChoice,
  next: StrategySort,
): StrategyChoice['direction'] {
  return sort === next && direction === 'ascending' ? 'descending' : 'ascending'
}

function Choices(props: {
  choice: StrategyChoice
  shown: number
  all: number
  choose(part: Partial<StrategyChoice>): void
}) {
  const { choice, choose } = props
  return (
    <search class="choices">
      <label class="field search">
        <span>Search</span>
        <input
          type="search"
          value={choice.search}
          placeholder="Name, token, reason"
          onInput={({ currentTarget }) => choose({ search: currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>Show</span>
        <select
          value={choice.filter}
          onChange={({ currentTarget }) =>
            choose({ filter: currentTarget.value as StrategyFilter })
          }
        >
          {STRATEGY_FILTERS.map((filter) => (
            <option key={filter} value={filter}>
              {FILTER_NAMES[filter]}
            </option>
          ))}
        </select>
      </label>
      <label class="field narrow-only">
        <span>Sort by</span>
        <select
          value={choice.sort}
          onChange={({ currentTarget }) => choose({ sort: currentTarget.value as StrategySort })}
        >
          {COLUMNS.flatMap(({ sort, title }) =>
            sort === undefined
              ? []
              : [
                  <option key={sort} value={sort}>
                    {title}
                  </option>,
                ],
          )}
        </select>
      </label>
      <p class="shown" role="status">
        {props.shown === props.all
          ? `${count(props.all)} strategies`
          : `${count(props.shown)} of ${count(props.all)} strategies`}
      </p>
    </search>
  )
}

export function NoStrategies() {
  return (
    <Empty>
      There is no strategy yet. Write one as a file in the strategies folder;{' '}
      <Command>tranched init my-bot</Command> makes an example, and{' '}
      <Command>tranched validate</Command> tells every mistake.
    </Empty>
  )
}
