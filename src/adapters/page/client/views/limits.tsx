import { useMemo, useState } from 'preact/hooks'
import { count, fullAmount, shareText, shortAmount } from '../../../page-parts/words/amounts.ts'
import type { LimitRow } from '../../model.ts'
import { Empty } from '../parts/card.tsx'
import { Meter } from '../parts/meter.tsx'
import { Command, Unknown, Until } from '../parts/words.tsx'
import { strategyHash } from '../route.ts'
import { usePage } from '../shell/page-context.ts'
import { type Column, VirtualTable } from '../table/virtual-table.tsx'
import { shareTone, windowText } from '../words/phrases.ts'

/** More are not told. */
const TOLD_MAX = 60

const COLUMNS: readonly Column<LimitRow>[] = [
  { id: 'name', title: 'Whose', cell: (limit) => <Whose limit={limit} /> },
  {
    id: 'cap',
    title: 'Cap',
    cell: (limit) => (
      <span class="line" title={`${fullAmount(limit.cap)} ${limit.token}`}>
        {shortAmount(limit.cap)} <span class="token">{limit.token}</span> {windowText(limit.window)}
      </span>
    ),
  },
  { id: 'full', title: 'How full', cell: (limit) => <HowFull limit={limit} /> },
  { id: 'used', title: 'Used', numeric: true, cell: (limit) => <Used limit={limit} /> },
  { id: 'frees', title: 'Frees', numeric: true, cell: (limit) => <Frees limit={limit} /> },
]

function limitKey({ strategy, token, window }: LimitRow): string {
  return `${strategy ?? ''}:${token}:${window}`
}

/** The fullest first: what will stop something soon is on top. */
export function byFullness(limits: readonly LimitRow[]): readonly LimitRow[] {
  return limits.toSorted((a, b) => b.share - a.share || byKey(limitKey(a), limitKey(b)))
}

function byKey(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

function Whose({ limit: { strategy } }: { limit: LimitRow }) {
  if (strategy === null) return <span class="line strong">Account</span>
  return (
    <a class="line strong" href={strategyHash(strategy)} title={strategy}>
      {strategy}
    </a>
  )
}

function HowFull({ limit }: { limit: LimitRow }) {
  const { strategy, token, window, share } = limit
  return (
    <span class="line how-full">
      <Meter
        share={share}
        tone={shareTone(limit)}
        label={`${strategy ?? 'Account'}, ${token} ${windowText(window)}`}
      />
      <span class="share">{shareText(limit)}</span>
    </span>
  )
}

function Used({ limit: { used, token } }: { limit: LimitRow }) {
  return (
    <span class="amount" title={`${fullAmount(used)} ${token}`}>
      {shortAmount(used)} <span class="token">{token}</span>
    </span>
  )
}

function Frees({ limit: { freesAtMs, used } }: { limit: LimitRow }) {
  if (freesAtMs !== null) return <Until atMs={freesAtMs} />
  return <Unknown>{/^0(\.0*)?$/.test(used) ? 'nothing used' : 'not by time'}</Unknown>
}

/** Every cap and how much of it is used. */
export function Limits({ strategy }: { strategy: string | undefined }) {
  const { store } = usePage()
  const [typed, setTyped] = useState<string>()
  const search = typed ?? strategy ?? ''
  const limits = store.overview?.limits ?? []
  const rows = useMemo(
    () => byFullness(limits.filter((limit) => matches(limit, search.toLowerCase()))),
    [limits, search],
  )
  if (limits.length === 0) return <Empty>Neither the config nor a strategy sets a cap.</Empty>
  return (
    <>
      <search class="choices">
        <label class="field search">
          <span>Search</span>
          <input
            type="search"
            value={search}
            placeholder="Strategy, token, window"
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
        <p class="shown" role="status">
          {rows.length === limits.length
            ? `${count(limits.length)} caps`
            : `${count(rows.length)} of ${count(limits.length)} caps`}
        </p>
      </search>
      {rows.length === 0 && <Empty>No cap is like that.</Empty>}
      <LimitTable rows={rows} />
      {limits.length >= TOLD_MAX && (
        <p class="end">
          The account’s caps and the fullest of the strategies’. <Command>tranched status</Command>{' '}
          tells all.
        </p>
      )}
    </>
  )
}

function LimitTable({ rows }: { rows: readonly LimitRow[] }) {
  return (
    <VirtualTable
      label="Caps"
      kind="limits"
      columns={COLUMNS}
      count={rows.length}
      at={(index) => rows[index]}
      keyOf={limitKey}
      indexOf={(key) => rows.findIndex((row) => limitKey(row) === key)}
    />
  )
}

function matches({ strategy, token, window }: LimitRow, search: string): boolean {
  return `${strategy ?? 'account'} ${token} ${windowText(window)}`.toLowerCase().includes(search)
}
