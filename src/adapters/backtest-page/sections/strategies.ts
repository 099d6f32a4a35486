import type {
  BacktestResult,
  OutcomeResult,
  StrategyResult,
  TradesResult,
} from '../../../backtest/report/result.ts'
import { count } from '../../page-parts/words/amounts.ts'
import { outcomeTone, plain } from '../../page-parts/words/outcomes.ts'
import { type Cell, type Column, NONE } from '../both/cells.ts'
import { amountText, betterPercent, betterText, exactly, partText, priceOf } from '../both/words.ts'
import { type DrawnColumn, html, type Markup, tableMarkup } from '../markup.ts'
import { barMarkup } from './bar.ts'

export function strategiesSection(
  { strategies }: BacktestResult,
  meanings: Readonly<Record<string, string>>,
): Markup {
  return html`<section id="strategies" aria-labelledby="strategies-title">
<h2 id="strategies-title">Strategies</h2>
${strategies.length === 0 ? html`<p class="empty">No strategy was run.</p>` : tablesOf(strategies, meanings)}
</section>`
}

function tablesOf(
  strategies: readonly StrategyResult[],
  meanings: Readonly<Record<string, string>>,
): Markup {
  const table = { label: 'Strategies', kind: 'of-strategies', columns: COLUMNS, rows: strategies }
  return html`${tableMarkup(table)}
<h3 class="table-title">How their slots ended</h3>
${tableMarkup({
  label: 'How slots ended',
  kind: 'of-outcomes',
  columns: outcomeColumns(meanings),
  rows: strategies.flatMap((strategy) =>
    strategy.outcomes.map((outcome) => ({ ...outcome, strategy })),
  ),
})}`
}

const COUNTS = [
  ['slots', 'Slots'],
  ['filled', 'Filled'],
  ['skipped', 'Skipped'],
  ['failed', 'Failed'],
  ['missed', 'Missed'],
  ['open', 'Open'],
] as const satisfies readonly (readonly [keyof StrategyResult, string])[]

const COLUMNS: readonly Column<StrategyResult>[] = [
  {
    id: 'name',
    title: 'Strategy',
    cell: ({ name, kind, calls }) => ({
      text: name,
      small: calls === 0 ? kind : `${kind}, ${count(calls)} calls`,
    }),
  },
  ...COUNTS.map(
    ([key, title]): Column<StrategyResult> => ({
      id: 'count',
      title,
      numeric: true,
      cell: (strategy) => ({ text: count(strategy[key]) }),
    }),
  ),
  {
    id: 'sold',
    title: 'Sold',
    numeric: true,
    cell: ({ trades }) => ofTrades(trades, ({ sold }) => [amountText(sold), exactly(sold)]),
  },
  {
    id: 'bought',
    title: 'Bought',
    numeric: true,
    cell: ({ trades }) => ofTrades(trades, ({ bought }) => [amountText(bought), exactly(bought)]),
  },
  {
    id: 'price',
    title: 'Average price',
    numeric: true,
    cell: ({ trades }) => ofTrades(trades, (trade) => priceTold(trade, trade.averagePrice)),
  },
  {
    id: 'period',
    title: 'Period’s price',
    numeric: true,
    cell: ({ trades }) => ofTrades(trades, periodTold),
  },
  {
    id: 'stopped',
    title: 'Stopped',
    cell: ({ stopped }) => (stopped === null ? NONE : { text: stopped, kind: 'stopped' }),
  },
]

type Told = readonly [text: string, title: string]

/** One line for each pair of tokens. */
function ofTrades(trades: readonly TradesResult[], told: (trade: TradesResult) => Told): Cell {
  const lines = trades.map(told)
  const [first, ...others] = lines
  if (first === undefined) return NONE
  const title = lines.map(([, each]) => each).join('\n')
  return { text: first[0], more: others.map(([text]) => text), title }
}

function priceTold({ sold, bought, averagePrice }: TradesResult, told: string | null): Told {
  if (told === null) return ['–', 'not known']
  const price = Number(told)
  const trade = { price, paid: sold.token, received: bought.token }
  const { number, unit } = priceOf(trade, Number(averagePrice ?? told))
  return [number, `${number} ${unit}`]
}

function periodTold(trade: TradesResult): Told {
  const { averagePrice, periodPrice } = trade
  const [text, title] = priceTold(trade, periodPrice)
  if (averagePrice === null || periodPrice === null) return [text, title]
  return [
    text,
    `${title}: the average price is ${betterText(betterPercent(Number(averagePrice), Number(periodPrice)))}`,
  ]
}

type OutcomeRow = OutcomeResult & { readonly strategy: StrategyResult }

function outcomeColumns(
  meanings: Readonly<Record<string, string>>,
): readonly DrawnColumn<OutcomeRow>[] {
  return [
    { id: 'strategy', title: 'Strategy', cell: ({ strategy }) => ({ text: strategy.name }) },
    {
      id: 'outcome',
      title: 'Outcome',
      cell: ({ outcome }) => ({ text: outcome, tone: outcomeTone(outcome) }),
    },
    {
      id: 'reason',
      title: 'Reason',
      cell: ({ reason, outcome }) => ({
        text: reason === outcome ? '' : plain(reason),
        title: meanings[reason],
      }),
    },
    {
      id: 'count',
      title: 'Slots',
      numeric: true,
      cell: (row) => ({ text: count(row.count) }),
    },
    {
      id: 'share',
      title: 'Share',
      numeric: true,
      cell: ({ count: slots, strategy }) => shareCell(slots, strategy.slots),
      drawn: ({ count: slots, strategy }) =>
        barMarkup(slots, { lowest: 0, highest: strategy.slots }),
    },
  ]
}

function shareCell(part: number, all: number): Cell {
  return all > 0 ? { text: partText(part, all) } : NONE
}
