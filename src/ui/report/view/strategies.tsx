import type {
  BacktestResult,
  OutcomeResult,
  StrategyResult,
  TradesResult,
} from '../../../backtest/report/result.ts'
import { Empty } from '../../parts/elements.tsx'
import { type Column, column, figures, NONE, Table } from '../../parts/table.tsx'
import { amountText, count, exactText } from '../../parts/wording/amounts.ts'
import { betterPercent, betterText, partText, priceOf } from '../data/labels.ts'
import { outcomeColumn, reasonCell } from '../data/long-tables.ts'
import { Bar } from './section.tsx'

export function Strategies(props: {
  strategies: BacktestResult['strategies']
  meanings: Readonly<Record<string, string>>
}) {
  const { strategies, meanings } = props
  const outcomes = strategies.flatMap((strategy) =>
    strategy.outcomes.map((outcome) => ({ ...outcome, strategy })),
  )
  if (strategies.length === 0) return <Empty>No strategy was run.</Empty>
  return (
    <>
      <Table label="Strategies" kind="of-strategies" columns={COLUMNS} rows={strategies} />
      <h3 class="table-title">How their slots ended</h3>
      <Table
        label="How slots ended"
        kind="of-outcomes"
        columns={outcomeColumns(meanings)}
        rows={outcomes}
      />
    </>
  )
}

const COUNTS = [
  ['slots', 'Slots'],
  ['filled', 'Filled'],
  ['skipped', 'Skipped'],
  ['failed', 'Failed'],
  ['missed', 'Missed'],
  ['open', 'Open'],
] as const

const COLUMNS: readonly Column<StrategyResult>[] = [
  column('name', 'Strategy', ({ name, kind, calls }) => ({
    text: name,
    small: calls === 0 ? kind : `${kind}, ${count(calls)} calls`,
  })),
  ...COUNTS.map(([key, title]) =>
    figures<StrategyResult>('count', title, (strategy) => count(strategy[key])),
  ),
  tradesColumn('sold', 'Sold', ({ sold }) => [amountText(sold), exactText(sold)]),
  tradesColumn('bought', 'Bought', ({ bought }) => [amountText(bought), exactText(bought)]),
  tradesColumn('price', 'Average price', (trade) => priceLine(trade, trade.averagePrice)),
  tradesColumn('muted', 'Period’s price', periodLine),
  column('stopped', 'Stopped', ({ stopped }) => stopped ?? NONE),
]

type Line = readonly [text: string, title: string]

function tradesColumn(
  id: string,
  title: string,
  lineOf: (trade: TradesResult) => Line,
): Column<StrategyResult> {
  return figures(id, title, ({ trades }) => {
    const lines = trades.map(lineOf)
    const [first, ...others] = lines.map(([text]) => text)
    if (first === undefined) return NONE
    return { text: first, more: others, title: lines.map(([, each]) => each).join('\n') }
  })
}

function priceLine({ sold, bought, averagePrice }: TradesResult, price: string | null): Line {
  if (price === null) return ['–', 'not known']
  const trade = { price: Number(price), paid: sold.token, received: bought.token }
  const { number, unit } = priceOf(trade, Number(averagePrice ?? price))
  return [number, `${number} ${unit}`]
}

function periodLine(trade: TradesResult): Line {
  const { averagePrice, periodPrice } = trade
  const [text, title] = priceLine(trade, periodPrice)
  if (averagePrice === null || periodPrice === null) return [text, title]
  const better = betterText(betterPercent(Number(averagePrice), Number(periodPrice)))
  return [text, `${title}: the average price is ${better}`]
}

type OutcomeRow = OutcomeResult & { readonly strategy: StrategyResult }

function outcomeColumns(meanings: Readonly<Record<string, string>>): readonly Column<OutcomeRow>[] {
  return [
    column('strategy', 'Strategy', ({ strategy }) => strategy.name),
    outcomeColumn(),
    column('reason', 'Reason', (row) => reasonCell(row, meanings)),
    figures('count', 'Slots', (row) => count(row.count)),
    figures('share', 'Share', ({ count: slots, strategy }) => ({
      ...(strategy.slots > 0 ? { text: partText(slots, strategy.slots) } : NONE),
      drawn: <Bar value={slots} lowest={0} highest={strategy.slots} />,
    })),
  ]
}
