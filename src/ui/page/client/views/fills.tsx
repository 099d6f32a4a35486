import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Search } from '../../../parts/choices.tsx'
import { Amount, Empty } from '../../../parts/elements.tsx'
import { count } from '../../../parts/wording/amounts.ts'
import type { FillRow } from '../../model.ts'
import type { FillList } from '../data/store.ts'
import {
  AgainstFeed,
  fillKind,
  Marks,
  Moved,
  Proof,
  StrategyLink,
  TwoLines,
  WhyLink,
} from '../parts/rows.tsx'
import { Ago, Moment } from '../parts/values.tsx'
import { usePage } from '../shell/context.tsx'
import { viewHash } from '../shell/route.ts'
import { type Column, column, VirtualTable } from './virtual-table.tsx'

const COLUMNS: readonly Column<FillRow>[] = [
  column('when', 'When', ({ atMs }) => (
    <TwoLines first={<Moment atMs={atMs} />} second={<Ago atMs={atMs} />} />
  )),
  column('name', 'Strategy', ({ strategy }) => <StrategyLink name={strategy} />),
  column('what', 'Fill', (fill) => (
    <>
      <Moved fill={fill} />
      <span class="line small">
        {fill.venue}
        {fill.charged !== null && (
          <>
            , charged <Amount {...fill.charged} />
          </>
        )}{' '}
        <Marks fill={fill} />
      </span>
    </>
  )),
  column('feed numeric', 'Against feed', (fill) => <AgainstFeed fill={fill} />),
  column('proof', 'Transaction', (fill) => <Proof fill={fill} />),
  column('why', 'Slot', (fill) => <WhyLink fill={fill} />),
]

export function Fills({ strategy }: { strategy: string | undefined }) {
  const { store } = usePage()
  useEffect(() => store.chooseFills(strategy), [store, strategy])
  const chosen = store.chosenFills
  const list = strategy === undefined || chosen?.strategy !== strategy ? store.fills : chosen
  return (
    <>
      <FillsOrNot view="fills" strategy={strategy} />
      <StrategyChoice view="fills" strategy={strategy} />
      {list.loaded.size === 0 ? <NoFills list={list} /> : <FillTable list={list} />}
    </>
  )
}

function FillTable({ list }: { list: FillList }) {
  const { store } = usePage()
  return (
    <>
      <VirtualTable
        label="Fills"
        kind="fills"
        columns={COLUMNS}
        rows={list.loaded}
        keyOf={({ intentId }) => intentId}
        steady
        rowClass={(fill) => fillKind(fill, store)}
        nearEnd={() => {
          if (list.problem === undefined) void store.loadOlder(list)
        }}
      />
      <Older list={list} />
    </>
  )
}

/** Older fills load automatically; the button is for retries. */
function Older({ list }: { list: FillList }) {
  const { store } = usePage()
  const { loaded, problem, loading } = list
  if (loaded.next === null) {
    const all = loaded.size === 1 ? 'The only fill' : `All ${count(loaded.size)} fills`
    return <p class="end">{all} in the available journal.</p>
  }
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
  const { loaded, loading, problem, strategy } = list
  const isMore = typeof loaded.next === 'string'
  // A bounded search may end before it finds a fill.
  useEffect(() => {
    if (isMore && !loading && problem === undefined) void store.loadOlder(list)
  })
  if (problem !== undefined) return <Older list={list} />
  if (loading || isMore) return <Empty>Searching the journal.</Empty>
  return (
    <Empty>
      {strategy === undefined
        ? 'No fills yet. The first fill appears here on its own.'
        : `${strategy} has no fills.`}
    </Empty>
  )
}

type Of = { readonly view: 'fills' | 'unfilled'; readonly strategy: string | undefined }

export function FillsOrNot({ view, strategy }: Of) {
  return (
    <nav class="segments" aria-label="Outcome">
      {(['fills', 'unfilled'] as const).map((one) => (
        <a
          key={one}
          class="segment"
          href={viewHash(one, strategy)}
          aria-current={one === view ? 'true' : undefined}
        >
          <span>{one === 'fills' ? 'Filled' : 'Not filled'}</span>
        </a>
      ))}
    </nav>
  )
}

export function StrategyChoice(props: Of & { children?: ComponentChildren }) {
  const { view, strategy } = props
  const { store } = usePage()
  const [text, setText] = useState(strategy ?? '')
  useEffect(() => setText(strategy ?? ''), [strategy])
  const names = useMemo(() => [...store.strategies.keys()].sort(), [store.strategies.size])
  function choose(name: string) {
    setText(name)
    if (name === '') location.hash = viewHash(view)
    else if (store.strategies.has(name)) location.hash = viewHash(view, name)
  }
  const isUnknown = text !== '' && text !== strategy && !store.strategies.has(text)
  return (
    <search class="choices">
      <Search
        title="Strategy"
        list="strategy-names"
        placeholder="All strategies"
        value={text}
        search={choose}
      />
      <datalist id="strategy-names">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {props.children}
      <p class="shown">{isUnknown ? 'Type or choose a full name.' : ''}</p>
    </search>
  )
}
