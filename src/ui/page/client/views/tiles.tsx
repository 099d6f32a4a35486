import type { ComponentChildren } from 'preact'
import { roughDurationText } from '../../../../domain/text/duration.ts'
import { Unknown } from '../../../parts/elements.tsx'
import {
  changeText,
  count,
  extentOf,
  fullAmount,
  roughMoney,
  shortAmount,
  signedMoney,
} from '../../../parts/wording/amounts.ts'
import { lateText } from '../../../parts/wording/times.ts'
import type { GasTankRow, Overview } from '../../model.ts'
import type { Store } from '../data/store.ts'
import { Ago, AsOf, Until } from '../parts/values.tsx'
import { useNow, usePage } from '../shell/context.tsx'
import { type View, viewHash } from '../shell/route.ts'
import { isLow, runwayText } from './holdings.tsx'

type Tile = {
  readonly title: string
  readonly view?: View
  readonly figure: ComponentChildren
  readonly note: ComponentChildren
  readonly tone?: 'bad' | 'warn' | false
}

export function Tiles({ overview }: { overview: Overview }) {
  const { store } = usePage()
  const now = useNow()
  const { counts, gasTank } = overview
  const tiles: readonly Tile[] = [
    valueTile(overview, store, now),
    {
      title: 'Strategies',
      view: 'strategies',
      figure: count(counts.active),
      note: `${overview.halted === null ? 'active' : 'halted'}${inactiveText(counts)}`,
      tone: overview.halted !== null && 'bad',
    },
    ...profitTiles(overview),
    nextTile(store, now),
    fillsTile(overview, store),
    {
      title: 'Open orders',
      view: 'orders',
      figure: count(counts.unresolved),
      note: openText(counts),
      tone: counts.overdue > 0 && 'bad',
    },
    ...(gasTank === null ? [] : [gasTankTile(gasTank)]),
  ]
  return (
    <dl class="tiles">
      {tiles.map(({ title, view, figure, note, tone }) => (
        <div key={title} class={`tile ${tone || ''}`}>
          <dt>{view === undefined ? title : <a href={viewHash(view)}>{title}</a>}</dt>
          <dd class="figure">{figure}</dd>
          <dd class="note-line">{note}</dd>
        </div>
      ))}
    </dl>
  )
}

/** The wallet is read once a minute. */
const READ_MS_MAX = 90_000

function valueTile(overview: Overview, store: Store, now: number | undefined): Tile {
  const { totalValue, valueToken: token, readAtMs, ready } = overview
  const title = token === null ? 'Total value' : `Total value, ${token}`
  if (totalValue === null || readAtMs === null)
    return { title, view: 'holdings', figure: <Unknown />, note: 'partly unknown' }
  const isCurrent = now !== undefined && ready.ok && now - readAtMs <= READ_MS_MAX
  return {
    title,
    view: 'holdings',
    figure: (
      <span class={isCurrent ? '' : 'muted'} title={`${fullAmount(totalValue)} ${token ?? ''}`}>
        {roughMoney(totalValue)}
      </span>
    ),
    note: isCurrent ? dayChange(totalValue, store) : <AsOf atMs={readAtMs} />,
  }
}

/** Change since the first known value of the last day, which may be only an hour ago. */
function dayChange(totalValue: string, store: Store): string {
  const series = store.series('day')?.series
  const extent = series && extentOf(series.value)
  const change = extent && changeText(extent.first, Number(totalValue))
  const fromSeconds = series?.atSeconds[extent?.from ?? -1]
  if (fromSeconds === undefined || change === undefined) return 'at the last prices'
  return `${change} in ${roughDurationText(store.daemonNow() - fromSeconds * 1_000)}`
}

function inactiveText({ strategies, active, finished, paused }: Overview['counts']): string {
  const off = strategies - active - finished - paused
  return [
    finished > 0 && `, ${count(finished)} finished`,
    paused > 0 && `, ${count(paused)} paused`,
    off > 0 && `, ${count(off)} off`,
  ]
    .filter(Boolean)
    .join('')
}

function profitTiles({ profit }: Overview): readonly Tile[] {
  if (profit === null || (profit.cost === '0' && profit.realised === '0')) return []
  const { token, realised, unrealised } = profit
  const figureOf = (amount: string, after = '') => (
    <span title={`${fullAmount(amount)} ${token}, at average cost`}>
      {signedMoney(amount)}
      {after}
    </span>
  )
  return [
    {
      title: 'Realised (average)',
      view: 'holdings',
      figure: figureOf(realised),
      note: unrealised === null ? 'holdings without a price' : figureOf(unrealised, ' unrealised'),
    },
  ]
}

function nextTile({ strategies, overview }: Store, now: number | undefined): Tile {
  const [next] = [...strategies.values()]
    .flatMap(({ name, nextSlotSeconds, state }) =>
      nextSlotSeconds === null || state !== 'active'
        ? []
        : [{ name, atMs: nextSlotSeconds * 1_000 }],
    )
    .sort((a, b) => a.atMs - b.atMs)
  const title = 'Next slot'
  if (overview?.halted)
    return { title, figure: <Unknown>none</Unknown>, note: 'halted', tone: 'bad' }
  if (next === undefined)
    return { title, figure: <Unknown>none</Unknown>, note: 'nothing is scheduled' }
  const late = now && lateText(next.atMs, now)
  return {
    title,
    figure: late ? 'waits' : <Until atMs={next.atMs} />,
    note: (
      <span class="line" title={next.name}>
        {late ? `${late}, ${next.name}` : next.name}
      </span>
    ),
  }
}

function fillsTile({ counts }: Overview, store: Store): Tile {
  const last = store.fills.loaded.at(0)
  const ago = last && (
    <>
      last <Ago atMs={last.atMs} />
    </>
  )
  return { title: 'Fills', view: 'fills', figure: count(counts.fills), note: ago ?? 'none yet' }
}

function openText({ unresolved, overdue }: Overview['counts']): string {
  if (overdue > 0) return `${count(overdue)} overdue`
  return unresolved === 0 ? 'nothing is open' : 'orders, all in time'
}

function gasTankTile(tank: GasTankRow): Tile {
  const { available, unknown } = tank
  const [title, view] = ['GasTank', 'holdings'] as const
  const tone = (isLow(tank) || unknown !== null) && 'warn'
  if (available === null) return { title, view, tone, figure: <Unknown />, note: 'see the problem' }
  const figure = (
    <>
      {shortAmount(available, 4)} <small>ETH</small>
    </>
  )
  const runway = runwayText(tank)
  return { title, view, tone, figure, note: runway === undefined ? 'available' : `lasts ${runway}` }
}
