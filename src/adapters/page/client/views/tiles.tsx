import type { ComponentChildren } from 'preact'
import {
  changeText,
  count,
  fullAmount,
  roughMoney,
  shortAmount,
  signedMoney,
} from '../../../page-parts/words/amounts.ts'
import { spanText } from '../../../page-parts/words/times.ts'
import type { GasTankRow, Overview, StrategyRow } from '../../model.ts'
import { coursesOf, extentOf } from '../chart/course.ts'
import { isLow, runwayText } from '../parts/gas-tank.tsx'
import { Ago, Unknown, Until } from '../parts/words.tsx'
import { viewHash } from '../route.ts'
import { usePage } from '../shell/page-context.ts'

/** The figures that one looks for first. */
export function Tiles({ overview }: { overview: Overview }) {
  const { counts, gasTank } = overview
  return (
    <dl class="tiles">
      <ValueTile overview={overview} />
      <Tile title="Strategies" href={viewHash('strategies')} figure={count(counts.active)}>
        active{others(counts)}
      </Tile>
      <ProfitTile overview={overview} />
      <NextTile />
      <FillsTile fills={counts.fills} />
      <Tile
        title="Under way"
        href={viewHash('orders')}
        figure={count(counts.unresolved)}
        tone={counts.overdue > 0 ? 'bad' : ''}
      >
        {counts.overdue > 0 ? `${count(counts.overdue)} overdue` : openText(counts.unresolved)}
      </Tile>
      {gasTank !== null && (
        <Tile
          title="GasTank"
          href={viewHash('holdings')}
          tone={isLow(gasTank) || gasTank.unknown !== null ? 'warn' : ''}
          figure={
            gasTank.available === null ? (
              <Unknown />
            ) : (
              <>
                {shortAmount(gasTank.available, 4)} <small>ETH</small>
              </>
            )
          }
        >
          {fundsText(gasTank)}
        </Tile>
      )}
    </dl>
  )
}

function fundsText(gasTank: GasTankRow): string {
  if (gasTank.available === null) return 'see what is wrong'
  const runway = runwayText(gasTank)
  return runway === undefined ? 'available' : `lasts ${runway}`
}

function others({ strategies, active, paused }: Overview['counts']): string {
  const off = strategies - active - paused
  const parts = [paused > 0 ? `${count(paused)} paused` : '', off > 0 ? `${count(off)} off` : '']
  return parts
    .filter(Boolean)
    .map((part) => `, ${part}`)
    .join('')
}

function openText(unresolved: number): string {
  return unresolved === 0 ? 'nothing is open' : 'orders, all in time'
}

function Tile(props: {
  title: string
  href?: string
  figure: ComponentChildren
  tone?: 'bad' | 'warn' | ''
  children: ComponentChildren
}) {
  return (
    <div class={`tile ${props.tone ?? ''}`}>
      <dt>{props.href === undefined ? props.title : <a href={props.href}>{props.title}</a>}</dt>
      <dd class="figure">{props.figure}</dd>
      <dd class="note-line">{props.children}</dd>
    </div>
  )
}

function ValueTile({ overview: { totalValue, valueToken } }: { overview: Overview }) {
  return (
    <Tile
      title={valueToken === null ? 'Total value' : `Total value, ${valueToken}`}
      href={viewHash('holdings')}
      figure={
        totalValue === null ? (
          <Unknown />
        ) : (
          <span title={`${fullAmount(totalValue)} ${valueToken ?? ''}`}>
            {roughMoney(totalValue)}
          </span>
        )
      }
    >
      <DayChange totalValue={totalValue} />
    </Tile>
  )
}

/** Since the first figure of the last day that is known, which may be an hour ago. */
function DayChange({ totalValue }: { totalValue: string | null }) {
  const { store } = usePage()
  const series = store.series('day')?.series
  const value = series === undefined ? undefined : coursesOf({ ...series, tokens: [] })[0]
  const extent = value === undefined ? undefined : extentOf(value)
  if (totalValue === null) return <>not all of it is known</>
  const change = extent === undefined ? undefined : changeText(extent.first, Number(totalValue))
  if (extent === undefined || change === undefined) return <>by the last prices</>
  const passedMs = store.daemonNow() - extent.fromSeconds * 1_000
  return (
    <>
      {change} in {spanText(passedMs)}
    </>
  )
}

/** What orders have brought so far, and what more there would be by today's prices. */
function ProfitTile({ overview: { profit } }: { overview: Overview }) {
  if (profit === null || (profit.cost === '0' && profit.realised === '0')) return null
  const { token, realised, unrealised } = profit
  return (
    <Tile
      title={`Realised, ${token}`}
      href={viewHash('holdings')}
      figure={
        <span title={`${fullAmount(realised)} ${token}, by the average cost`}>
          {signedMoney(realised)}
        </span>
      }
    >
      {unrealised === null ? (
        'what is held has no price'
      ) : (
        <span title={`${fullAmount(unrealised)} ${token}, by the average cost`}>
          {signedMoney(unrealised)} unrealised
        </span>
      )}
    </Tile>
  )
}

function NextTile() {
  const { store } = usePage()
  const next = nextOf(store.strategies.values())
  return (
    <Tile
      title="Next slot"
      figure={next === undefined ? <Unknown>none</Unknown> : <Until atMs={next.atMs} />}
    >
      {next === undefined ? 'nothing is scheduled' : <span class="line">{next.name}</span>}
    </Tile>
  )
}

function nextOf(rows: Iterable<StrategyRow>): { name: string; atMs: number } | undefined {
  let next: { name: string; atMs: number } | undefined
  for (const { name, nextSlotSeconds, state } of rows) {
    if (nextSlotSeconds === null || state !== 'active') continue
    const atMs = nextSlotSeconds * 1_000
    if (next === undefined || atMs < next.atMs) next = { name, atMs }
  }
  return next
}

function FillsTile({ fills }: { fills: number }) {
  const { store } = usePage()
  const last = store.fills.book.at(0)
  return (
    <Tile title="Fills" href={viewHash('fills')} figure={count(fills)}>
      {last === undefined ? (
        'none yet'
      ) : (
        <>
          last <Ago atMs={last.atMs} />
        </>
      )}
    </Tile>
  )
}
