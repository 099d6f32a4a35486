import type { ComponentChildren } from 'preact'
import type { BacktestResult, FiguresResult } from '../../../backtest/report/result.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { Empty } from '../../parts/elements.tsx'
import {
  differenceOf,
  exactText,
  money,
  plainPercent,
  signedPercent,
} from '../../parts/wording/amounts.ts'
import { isoText, momentText, secondsOf } from '../../parts/wording/times.ts'
import { counted, givenText, listed } from '../data/labels.ts'
import { fillRows, fillTable, type RowTable, slotTable } from '../data/long-tables.ts'
import type { PageData } from '../data/page-data.ts'
import { Assumptions } from './assumptions.tsx'
import { Charts } from './charts.tsx'
import { Definitions, Figures } from './figures.tsx'
import { Rows } from './rows.tsx'
import { About, Island } from './section.tsx'
import { Strategies } from './strategies.tsx'
import { Sweep } from './sweep.tsx'

type Part = {
  readonly id: string
  /** For the table of contents, and above the part unless it has its own heading. */
  readonly title: string
  readonly heading?: string
  readonly content: ComponentChildren
}

export function Report(props: { result: BacktestResult; data: PageData; version: string }) {
  const { result, data, version } = props
  const parts = partsOf(result, data)
  return (
    <>
      <a class="skip-link" href="#figures">
        To the key figures
      </a>
      <main>
        <Head result={result} />
        <nav class="contents" aria-label="Parts of the report">
          <ul>
            {parts.map(({ id, title }) => (
              <li key={id}>
                <a href={`#${id}`}>{title}</a>
              </li>
            ))}
          </ul>
        </nav>
        {parts.map(({ id, title, heading = title, content }) => (
          <section key={id} id={id} aria-labelledby={`${id}-title`}>
            <h2 id={`${id}-title`}>{heading}</h2>
            {content}
          </section>
        ))}
      </main>
      <footer>
        Made by tranched {version}. Times are UTC. A backtest shows what would have happened, not
        what will.
      </footer>
    </>
  )
}

function partsOf(result: BacktestResult, data: PageData): readonly Part[] {
  const { sweep, meanings } = data
  const swept = sweep === null || sweep.axes.length === 0 ? [] : [<Sweep sweep={sweep} />]
  const charts = (
    <Island name="charts">
      <Charts data={data} />
    </Island>
  )
  return [
    { id: 'figures', title: 'Key figures', content: <Figures result={result} /> },
    ...swept.map((content) => ({ id: 'sweep', title: 'Sweep', content })),
    { id: 'charts', title: 'Over time', content: charts },
    {
      id: 'strategies',
      title: 'Strategies',
      content: <Strategies strategies={result.strategies} meanings={meanings} />,
    },
    {
      id: 'slots',
      title: 'Slots',
      content: (
        <LongTable
          table={slotTable(data.slots, meanings)}
          leftOut={result.slotsLeftOut}
          empty="No slot was due in the period."
        >
          The outcome of each slot. Consecutive slots of one strategy that ended alike share one
          row.
        </LongTable>
      ),
    },
    {
      id: 'fills',
      title: 'Fills',
      content: (
        <LongTable
          table={fillTable(fillRows(data.fills))}
          leftOut={result.fillsLeftOut}
          empty="Nothing was filled in the period."
        >
          What was paid and received, and the price of the feed at that moment.
        </LongTable>
      ),
    },
    {
      id: 'model',
      title: 'Model',
      heading: 'Assumptions of the model',
      content: <Assumptions result={result} />,
    },
    { id: 'notes', title: 'Notes', content: <Notes notes={result.notes} /> },
    { id: 'definitions', title: 'Definitions', content: <Definitions /> },
  ]
}

function LongTable<Row>(props: {
  table: RowTable<Row>
  leftOut: number
  empty: string
  children: string
}) {
  const { table, leftOut, empty, children } = props
  const more = `${counted(leftOut, 'further row')} exceed the size of a report and are left out.`
  return (
    <>
      <About>{leftOut > 0 ? `${children} ${more}` : children}</About>
      {table.rows.length === 0 ? (
        <Empty>{empty}</Empty>
      ) : (
        <Island name={table.id}>
          <Rows table={table} />
        </Island>
      )}
    </>
  )
}

function Notes({ notes }: Pick<BacktestResult, 'notes'>) {
  if (notes.length === 0) return <Empty>No notes.</Empty>
  return (
    <ul class="notes">
      {notes.map((note, at) => (
        <li key={at}>{note}</li>
      ))}
    </ul>
  )
}

export function titleOf({ strategies }: Pick<BacktestResult, 'strategies'>): string {
  if (strategies.length === 0) return 'Backtest'
  return `Backtest of ${listed(strategies.map(({ name }) => name))}`
}

function Head({ result }: { result: BacktestResult }) {
  const { fromAt, untilAt, valueToken, figures } = result
  const lasted = Math.max(0, secondsOf(untilAt) - secondsOf(fromAt)) * 1_000
  return (
    <header class="head">
      <h1>{titleOf(result)}</h1>
      <p class="muted">
        <Moment iso={fromAt} /> to <Moment iso={untilAt} /> UTC, {durationText(lasted)},{' '}
        {valueToken === null ? 'nothing is valued' : `valued in ${valueToken}`}
      </p>
      {figures === null || valueToken === null ? (
        <Unvalued result={result} />
      ) : (
        <Valued result={result} figures={figures} token={valueToken} />
      )}
    </header>
  )
}

function Moment({ iso }: { iso: string }) {
  const seconds = secondsOf(iso)
  return (
    <time dateTime={iso} title={isoText(seconds)}>
      {momentText(seconds)}
    </time>
  )
}

function Valued(props: { result: BacktestResult; figures: FiguresResult; token: string }) {
  const { result, figures, token } = props
  const { begin, end, against } = result
  const holding = against.find(({ name }) => name === 'holding')
  if (begin.value === null || end.value === null) return <Unvalued result={result} />
  return (
    <p class="headline">
      <strong>
        {givenText(begin)} became{' '}
        <span title={exactText(end.value)}>
          {money(end.value.amount)} {token}
        </span>
      </strong>{' '}
      ({signedPercent(figures.returnPercent)})
      {holding !== undefined && ahead(differenceOf(end.value.amount, holding.value.amount), token)}.{' '}
      {holding !== undefined && (
        <span class="muted">
          Held as it was, it would have become {money(holding.value.amount)} {token}.
        </span>
      )}
    </p>
  )
}

function ahead(difference: string, token: string): ComponentChildren {
  const size = money(difference.replace('-', ''))
  if (size === '0.00' || size === '<0.01') return ', as much as holding'
  const isLess = difference.startsWith('-')
  return (
    <>
      ,{' '}
      <span class={isLess ? 'bad' : 'good'}>
        {size} {token} {isLess ? 'less' : 'more'} than holding
      </span>
    </>
  )
}

function Unvalued({ result: { valueToken, strategies } }: { result: BacktestResult }) {
  const slots = strategies.reduce((sum, strategy) => sum + strategy.slots, 0)
  const filled = strategies.reduce((sum, strategy) => sum + strategy.filled, 0)
  const share = slots === 0 ? '' : ` (${plainPercent((filled / slots) * 100)})`
  return (
    <p class="headline">
      <strong>
        {filled} of {slots} slots were filled{share}.
      </strong>{' '}
      <span class="muted">
        {valueToken === null
          ? 'The config names no price feed, so holdings have no value: returns and costs are unknown.'
          : 'A holding had no price, so the total has no value: returns and costs are unknown.'}
      </span>
    </p>
  )
}
