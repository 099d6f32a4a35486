import { useEffect, useMemo, useState } from 'preact/hooks'
import { count } from '../../../page-parts/words/amounts.ts'
import type { FillRow } from '../../model.ts'
import type { FillList } from '../data/store.ts'
import { Empty } from '../parts/card.tsx'
import { AgainstFeed, Marks, Moved, Proof, WhyLink } from '../parts/fill.tsx'
import { Ago, Amount, Moment } from '../parts/words.tsx'
import { strategyHash, viewHash } from '../route.ts'
import { usePage } from '../shell/page-context.ts'
import { type Column, VirtualTable } from '../table/virtual-table.tsx'

const COLUMNS: readonly Column<FillRow>[] = [
  {
    id: 'when',
    title: 'When',
    cell: ({ atMs }) => (
      <>
        <span class="line">
          <Moment atMs={atMs} />
        </span>
        <span class="line small">
          <Ago atMs={atMs} />
        </span>
      </>
    ),
  },
  {
    id: 'name',
    title: 'Strategy',
    cell: ({ strategy }) => (
      <a class="line strong" href={strategyHash(strategy)} title={strategy}>
        {strategy}
      </a>
    ),
  },
  {
    id: 'what',
    title: 'Fill',
    cell: (fill) => (
      <>
        <Moved fill={fill} />
        <span class="line small">
          {fill.venue}
          {fill.charged !== null && (
            <>
              , charged <Amount of={fill.charged} />
            </>
          )}{' '}
          <Marks fill={fill} />
        </span>
      </>
    ),
  },
  { id: 'feed', title: 'Against feed', numeric: true, cell: (fill) => <AgainstFeed fill={fill} /> },
  { id: 'proof', title: 'Transaction', cell: (fill) => <Proof fill={fill} /> },
  { id: 'why', title: 'Slot', cell: (fill) => <WhyLink fill={fill} /> },
]

/** All fills, or those of one strategy, as far back as one scrolls. */
export function Fills({ strategy }: { strategy: string | undefined }) {
  const { store } = usePage()
  useEffect(() => store.chooseFills(strategy), [store, strategy])
  const chosen = store.chosenFills
  const list = strategy === undefined || chosen?.strategy !== strategy ? store.fills : chosen
  return (
    <>
      <OfStrategy strategy={strategy} />
      {list.book.size === 0 ? <NoFills list={list} /> : <FillTable list={list} />}
    </>
  )
}

function FillTable({ list }: { list: FillList }) {
  const { store } = usePage()
  const { book } = list
  return (
    <>
      <VirtualTable
        label="Fills"
        kind="fills"
        columns={COLUMNS}
        count={book.size}
        at={(index) => book.at(index)}
        keyOf={({ intentId }) => intentId}
        indexOf={(id) => book.indexOf(id)}
        steady
        rowClass={({ intentId, undone }) =>
          `${undone ? 'undone' : ''} ${store.fresh.has(intentId) ? 'fresh' : ''}`
        }
        nearEnd={() => {
          if (list.problem === undefined) void store.loadOlder(list)
        }}
      />
      <Older list={list} />
    </>
  )
}

/** The end of what is loaded: older ones come by themselves, and by this button where that failed. */
function Older({ list }: { list: FillList }) {
  const { store } = usePage()
  const { book, problem, loading } = list
  if (book.next === null)
    return (
      <p class="end">
        {book.size === 1
          ? 'The only fill that the journal has at hand.'
          : `All ${count(book.size)} fills that the journal has at hand.`}
      </p>
    )
  return (
    <p class="end">
      {problem !== undefined && <span class="problem">{problem} </span>}
      <button type="button" disabled={loading} onClick={() => void store.loadOlder(list)}>
        {loading ? 'Loading older fills' : 'Load older fills'}
      </button>
    </p>
  )
}

function NoFills({ list }: { list: FillList }) {
  const { store } = usePage()
  const { book, loading, problem, strategy } = list
  const isMore = typeof book.next === 'string'
  // A search may come to its bound before it has found one.
  useEffect(() => {
    if (isMore && !loading && problem === undefined) void store.loadOlder(list)
  })
  if (problem !== undefined) return <Older list={list} />
  if (loading || isMore) return <Empty>Searching the journal.</Empty>
  return (
    <Empty>
      {strategy === undefined
        ? 'Nothing has been filled yet. The first fill appears here by itself.'
        : `${strategy} has no fills.`}
    </Empty>
  )
}

function OfStrategy({ strategy }: { strategy: string | undefined }) {
  const { store } = usePage()
  const [text, setText] = useState(strategy ?? '')
  useEffect(() => setText(strategy ?? ''), [strategy])
  const names = useMemo(() => [...store.strategies.keys()].sort(), [store.strategies.size])
  function choose(name: string) {
    setText(name)
    if (name === '') location.hash = viewHash('fills')
    else if (store.strategies.has(name)) location.hash = viewHash('fills', name)
  }
  const isUnknown = text !== '' && text !== strategy && !store.strategies.has(text)
  return (
    <search class="choices">
      <label class="field search">
        <span>Strategy</span>
        <input
          type="search"
          list="strategy-names"
          placeholder="All strategies"
          value={text}
          onInput={({ currentTarget }) => choose(currentTarget.value)}
        />
      </label>
      <datalist id="strategy-names">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <p class="shown">{isUnknown ? 'Type or choose a whole name.' : ''}</p>
    </search>
  )
}
