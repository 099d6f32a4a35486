import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Search } from '../../../parts/choices.tsx'
import { Amount, Empty, Pill } from '../../../parts/elements.tsx'
import { count } from '../../../parts/wording/amounts.ts'
import { outcomeTone, plain } from '../../../parts/wording/outcomes.ts'
import type { FillRow, StrategyRow, UnfilledRow } from '../../model.ts'
import { daemon, messageOf } from '../data/daemon-requests.ts'
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
import { Ago, Moment, Said } from '../parts/values.tsx'
import { usePage } from '../shell/context.tsx'
import { viewHash, whyHash } from '../shell/route.ts'
import { type Column, column, VirtualTable } from './virtual-table.tsx'

const FILL_COLUMNS: readonly Column<FillRow>[] = [
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
        columns={FILL_COLUMNS}
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

const PAGE_ROWS = 100
const RELOAD_MS = 5_000

const UNFILLED_COLUMNS: readonly Column<UnfilledRow>[] = [
  column('when', 'When', ({ slotSeconds }) => (
    <TwoLines
      first={<Moment atMs={slotSeconds * 1_000} />}
      second={<Ago atMs={slotSeconds * 1_000} />}
    />
  )),
  column('name', 'Strategy', ({ strategy }) => <StrategyLink name={strategy} />),
  column('outcome', 'Outcome', ({ outcome, count: slots }) => (
    <TwoLines
      first={<Pill tone={outcomeTone(outcome)}>{outcome}</Pill>}
      second={slots === 1 ? undefined : `${slots === null ? 'many' : count(slots)} slots`}
    />
  )),
  column('what', 'Reason', ({ reason, detail, atMs }) => (
    <TwoLines
      first={reason === null ? '' : plain(reason)}
      second={detail === null ? undefined : <Said text={detail} nearMs={atMs} />}
      secondTitle={detail ?? ''}
    />
  )),
  column('why', 'Slot', ({ strategy, slotSeconds }) => (
    <a href={whyHash(strategy, slotSeconds)}>
      why<span class="unseen"> a slot of {strategy} was not filled</span>
    </a>
  )),
]

type Loaded = { readonly rows: readonly UnfilledRow[]; readonly next: string | null | undefined }

const NOTHING: Loaded = { rows: [], next: undefined }

/** Slots that ended without a fill, newest first: refused, failed, expired and missed ones, and skips on request. */
export function Unfilled({ strategy }: { strategy: string | undefined }) {
  const [skipped, setSkipped] = useState(false)
  const { loaded, loading, problem, load } = useUnfilled(strategy, skipped)
  const { rows, next } = loaded
  return (
    <>
      <FillsOrNot view="unfilled" strategy={strategy} />
      <StrategyChoice view="unfilled" strategy={strategy}>
        <label class="check">
          <input
            type="checkbox"
            checked={skipped}
            onChange={({ currentTarget }) => setSkipped(currentTarget.checked)}
          />{' '}
          with skipped slots
        </label>
      </StrategyChoice>
      {rows.length === 0 && !loading && next === null ? (
        <Empty>No slot was refused, failed, expired or missed.</Empty>
      ) : (
        <VirtualTable
          label="Slots without a fill"
          kind="unfilled"
          columns={UNFILLED_COLUMNS}
          rows={rows}
          keyOf={({ strategy: name, slotSeconds }) => `${name}:${slotSeconds}`}
        />
      )}
      <p class="end">
        {problem !== undefined && <span class="problem">{problem} </span>}
        {next !== null && (
          <button type="button" disabled={loading} onClick={() => void load(next)}>
            {loading ? 'Searching the journal' : 'Load older slots'}
          </button>
        )}
        {next === null && rows.length > 0 && `All ${count(rows.length)} in the available journal.`}
      </p>
    </>
  )
}

/** Loads the newest page at once, and again after changes while no older page is shown. */
function useUnfilled(strategy: string | undefined, skipped: boolean) {
  const { store } = usePage()
  const [loaded, setLoaded] = useState(NOTHING)
  const [loading, setLoading] = useState(false)
  const [problem, setProblem] = useState<string>()
  const wanted = `${strategy}:${skipped}`
  const [shown, setShown] = useState(wanted)
  async function load(before: string | undefined): Promise<void> {
    setLoading(true)
    try {
      const page = await daemon.unfilled({
        limit: PAGE_ROWS,
        ...(before === undefined ? {} : { before }),
        ...(strategy === undefined ? {} : { strategy }),
        ...(skipped ? { skipped: 'yes' } : {}),
      })
      const older = (rows: readonly UnfilledRow[]) => (before === undefined ? [] : rows)
      setLoaded(({ rows }) => ({ rows: [...older(rows), ...page.slots], next: page.next }))
      setShown(wanted)
      setProblem(undefined)
    } catch (error) {
      setProblem(messageOf(error))
    } finally {
      setLoading(false)
    }
  }
  const isFirstPage = loaded.rows.length <= PAGE_ROWS
  useEffect(() => void load(undefined), [wanted])
  const newest = newestUnfilled(store.strategies.values(), skipped)
  const known = useRef(newest)
  const latest = useRef(newest)
  latest.current = newest
  useEffect(() => {
    const timer = setInterval(() => {
      if (!isFirstPage || document.hidden || known.current === latest.current) return
      known.current = latest.current
      void load(undefined)
    }, RELOAD_MS)
    return () => clearInterval(timer)
  }, [wanted, isFirstPage])
  return { loaded: shown === wanted ? loaded : NOTHING, loading, problem, load }
}

/** Changes whenever a strategy's last slot ends without a fill. */
function newestUnfilled(rows: Iterable<StrategyRow>, skipped: boolean): number {
  let newest = 0
  for (const { lastSlot } of rows) {
    if (lastSlot === null || lastSlot.outcome === 'filled' || lastSlot.outcome === 'open') continue
    if (skipped || lastSlot.outcome !== 'skipped') newest = Math.max(newest, lastSlot.slotSeconds)
  }
  return newest
}
