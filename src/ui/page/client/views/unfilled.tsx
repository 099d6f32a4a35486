import { useEffect, useRef, useState } from 'preact/hooks'
import { Empty, Pill } from '../../../parts/elements.tsx'
import { count } from '../../../parts/wording/amounts.ts'
import { outcomeTone, plain } from '../../../parts/wording/outcomes.ts'
import type { StrategyRow, UnfilledRow } from '../../model.ts'
import { daemon, messageOf } from '../data/daemon-requests.ts'
import { StrategyLink, TwoLines } from '../parts/rows.tsx'
import { Ago, Moment, Said } from '../parts/values.tsx'
import { usePage } from '../shell/context.tsx'
import { whyHash } from '../shell/route.ts'
import { FillsOrNot, StrategyChoice } from './fills.tsx'
import { type Column, column, VirtualTable } from './virtual-table.tsx'

const PAGE_ROWS = 100
const RELOAD_MS = 5_000

const COLUMNS: readonly Column<UnfilledRow>[] = [
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
          columns={COLUMNS}
          rows={rows}
          keyOf={keyOf}
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

function keyOf({ strategy, slotSeconds }: UnfilledRow): string {
  return `${strategy}:${slotSeconds}`
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
