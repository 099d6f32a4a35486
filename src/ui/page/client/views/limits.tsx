import { useMemo, useState } from 'preact/hooks'
import { Search, Shown } from '../../../parts/choices.tsx'
import { Amount, Command, Empty, Unknown } from '../../../parts/elements.tsx'
import { exactText, isNothing, shareText, shortAmount } from '../../../parts/wording/amounts.ts'
import type { LimitRow } from '../../model.ts'
import { WINDOWS } from '../parts/labels.ts'
import { LimitMeter, limitKey, StrategyLink } from '../parts/rows.tsx'
import { Until } from '../parts/values.tsx'
import { usePage } from '../shell/context.tsx'
import { type Column, column, VirtualTable } from './virtual-table.tsx'

/** The daemon sends at most this many. */
const SENT_MAX = 60

const COLUMNS: readonly Column<LimitRow>[] = [
  column('name', 'Scope', ({ strategy }) =>
    strategy === null ? <span class="line strong">Account</span> : <StrategyLink name={strategy} />,
  ),
  column('cap', 'Cap', ({ cap, token, window }) => (
    <span class="line" title={exactText({ amount: cap, token })}>
      {shortAmount(cap)} <span class="token">{token}</span> {WINDOWS[window]}
    </span>
  )),
  column('full', 'How full', (limit) => (
    <span class="line how-full">
      <LimitMeter limit={limit} />
      <span class="share">{shareText(limit)}</span>
    </span>
  )),
  column('used numeric', 'Used', ({ used, token }) => <Amount amount={used} token={token} />),
  column('frees numeric', 'Frees', ({ freesAtMs, used }) => {
    if (freesAtMs !== null) return <Until atMs={freesAtMs} />
    return <Unknown>{isNothing(used) ? 'nothing used' : 'not by time'}</Unknown>
  }),
]

export function byFullness(limits: readonly LimitRow[]): readonly LimitRow[] {
  return limits.toSorted((a, b) => b.share - a.share || (limitKey(a) < limitKey(b) ? -1 : 1))
}

export function Limits({ strategy }: { strategy: string | undefined }) {
  const { store } = usePage()
  const [typed, setTyped] = useState<string>()
  const search = typed ?? strategy ?? ''
  const limits = store.overview?.limits ?? []
  const rows = useMemo(
    () => byFullness(limits.filter((limit) => searchedIn(limit).includes(search.toLowerCase()))),
    [limits, search],
  )
  if (limits.length === 0) return <Empty>Neither the config nor a strategy sets a cap.</Empty>
  return (
    <>
      <search class="choices">
        <Search value={search} placeholder="Strategy, token, window" search={setTyped} />
        <Shown rows={rows.length} of={limits.length} what="caps" />
      </search>
      {rows.length === 0 && <Empty>No cap matches.</Empty>}
      <VirtualTable label="Caps" kind="limits" columns={COLUMNS} rows={rows} keyOf={limitKey} />
      {limits.length >= SENT_MAX && (
        <p class="end">
          The account’s caps and the fullest of the strategies’. <Command>tranched status</Command>{' '}
          lists all.
        </p>
      )}
    </>
  )
}

function searchedIn({ strategy, token, window }: LimitRow): string {
  return `${strategy ?? 'account'} ${token} ${WINDOWS[window]}`.toLowerCase()
}
