import type {
  BacktestResult,
  DrawdownResult,
  FiguresResult,
  StrategyResult,
} from '../../../backtest/report/result.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { Card } from '../../parts/elements.tsx'
import { type Column, column, figures, Table } from '../../parts/table.tsx'
import {
  count,
  exactText,
  money,
  plainPercent,
  signedPercent,
} from '../../parts/wording/amounts.ts'
import { dayText, secondsOf } from '../../parts/wording/times.ts'
import {
  againstName,
  amountCell,
  betterPercent,
  betterText,
  counted,
  DRAWDOWN,
  fallText,
  partText,
  priceOf,
  RETURN,
  VALUE,
  valueCell,
} from '../data/labels.ts'

type Tile = {
  readonly key: Defined
  readonly figure: string
  readonly unit?: string
  readonly title?: string
  readonly note: string
}

export function Figures({ result }: { result: BacktestResult }) {
  const { strategies, figures: known } = result
  const tiles = [
    ...(known === null ? [] : worthTiles(result, known)),
    ...priceTiles(strategies),
    ...countTiles(strategies),
  ]
  return (
    <>
      <dl class="tiles">
        {tiles.map(({ key, figure, unit, title, note }) => (
          <div key={key} class="tile">
            <dt>
              <DefinedName of={key} />
            </dt>
            <dd>
              <p class="figure" title={title}>
                {figure} {unit !== undefined && <small>{unit}</small>}
              </p>
              <p class="note-line">{note}</p>
            </dd>
          </div>
        ))}
      </dl>
      <div class="cards">
        {known !== null && <Compared result={result} known={known} />}
        {known !== null && <Costs costs={known.costs} />}
        <Holdings result={result} />
      </div>
    </>
  )
}

function worthTiles({ against }: BacktestResult, known: FiguresResult): readonly Tile[] {
  const { returnPercent, yearlyPercent, drawdown, turnover, turnoverPercent, costs } = known
  const holding = against.find(({ name }) => name === 'holding')
  const shareOfTurnover = (Number(costs.total.amount) / Number(turnover.amount)) * 100
  return [
    {
      key: 'return',
      figure: signedPercent(returnPercent),
      note: holding === undefined ? '' : `holding: ${signedPercent(holding.returnPercent)}`,
    },
    {
      key: 'yearly',
      figure: yearlyPercent === null ? '–' : signedPercent(yearlyPercent),
      note: yearlyPercent === null ? 'the period is under 30 days' : 'at the rate of the period',
    },
    { key: 'drawdown', figure: fallText(drawdown.percent), note: drawdownNote(drawdown) },
    {
      key: 'costs',
      figure: money(costs.total.amount),
      unit: costs.total.token,
      title: exactText(costs.total),
      note: Number.isFinite(shareOfTurnover)
        ? `${plainPercent(shareOfTurnover)} of the turnover`
        : 'nothing was sold',
    },
    {
      key: 'turnover',
      figure: money(turnover.amount),
      unit: turnover.token,
      title: exactText(turnover),
      note:
        turnoverPercent === null ? '' : `${plainPercent(turnoverPercent)} of the starting value`,
    },
  ]
}

function drawdownNote({ fromAt, recoveredAt, deepestAt, seconds }: DrawdownResult): string {
  if (fromAt === null) return 'the value never fell'
  const day = (iso: string) => dayText(secondsOf(iso))
  const end = recoveredAt === null ? 'not recovered by the end' : `recovered on ${day(recoveredAt)}`
  const deepest = deepestAt === null ? '' : ` to ${day(deepestAt)}`
  return `from ${day(fromAt)}${deepest}, ${end}: ${durationText(seconds * 1_000)}`
}

type Pair = {
  readonly paid: string
  readonly received: string
  sold: number
  bought: number
  fills: number
  readonly periodPrice: number | null
}

/** Trades of all strategies by tokens paid and received; the busiest pair first. */
function pairsOf(strategies: readonly StrategyResult[]): readonly Pair[] {
  const pairs = new Map<string, Pair>()
  for (const { sold, bought, fills, periodPrice } of strategies.flatMap(({ trades }) => trades)) {
    const key = `${sold.token} ${bought.token}`
    const pair = pairs.get(key) ?? {
      paid: sold.token,
      received: bought.token,
      sold: 0,
      bought: 0,
      fills: 0,
      periodPrice: periodPrice === null ? null : Number(periodPrice),
    }
    pair.sold += Number(sold.amount)
    pair.bought += Number(bought.amount)
    pair.fills += fills
    pairs.set(key, pair)
  }
  return [...pairs.values()].filter(({ bought }) => bought > 0).sort((a, b) => b.fills - a.fills)
}

function priceTiles(strategies: readonly StrategyResult[]): readonly Tile[] {
  const [pair, ...others] = pairsOf(strategies)
  if (pair === undefined) return [{ key: 'price', figure: '–', note: 'nothing was filled' }]
  const { paid, received, periodPrice } = pair
  const price = pair.sold / pair.bought
  const { number, unit } = priceOf({ price, paid, received })
  const besides = others.length === 0 ? '' : `; ${counted(others.length, 'other pair')} below`
  return [{ key: 'price', figure: number, unit, note: `${comparison(periodPrice)}${besides}` }]

  function comparison(period: number | null): string {
    if (period === null) return 'no feed has the period’s'
    const mean = priceOf({ price: period, paid, received }, price).number
    return `${betterText(betterPercent(price, period))} than the period’s ${mean}`
  }
}

function countTiles(strategies: readonly StrategyResult[]): readonly Tile[] {
  const sum = (of: (strategy: StrategyResult) => number) =>
    strategies.reduce((total, strategy) => total + of(strategy), 0)
  const slots = sum((strategy) => strategy.slots)
  const skipped = sum((strategy) => strategy.skipped)
  const calls = sum((strategy) => strategy.calls)
  const fills = sum(({ trades }) => trades.reduce((total, trade) => total + trade.fills, 0))
  return [
    {
      key: 'fills',
      figure: count(fills),
      note: calls === 0 ? `of ${counted(slots, 'slot')}` : `and ${counted(calls, 'call')}`,
    },
    {
      key: 'skipped',
      figure: partText(skipped, slots),
      note: slots === 0 ? 'no slot was due' : `${count(skipped)} of ${counted(slots, 'slot')}`,
    },
  ]
}

function Compared({ result, known }: { result: BacktestResult; known: FiguresResult }) {
  const own = {
    name: 'This backtest',
    value: result.end.value,
    returnPercent: known.returnPercent,
    drawdownPercent: known.drawdown.percent,
  }
  const others = result.against.map((each) => ({ ...each, name: againstName(each.name) }))
  const columns: readonly Column<typeof own>[] = [nameColumn('Way'), VALUE, RETURN, DRAWDOWN]
  return (
    <Card title="Compared">
      <Table label="Compared" kind="small-sheet" columns={columns} rows={[own, ...others]} />
    </Card>
  )
}

function nameColumn(title: string): Column<{ readonly name: string }> {
  return column('name', title, ({ name }) => name)
}

function Costs({ costs }: Pick<FiguresResult, 'costs'>) {
  const all = Number(costs.total.amount)
  const rows = [
    { name: 'Spread', amount: costs.spread },
    { name: 'Service fee', amount: costs.fee },
    { name: 'Price impact', amount: costs.impact },
    { name: 'Gas of wrapping', amount: costs.gas },
    { name: 'Charged for calls', amount: costs.calls },
    { name: 'Total', amount: costs.total },
  ]
  const columns: readonly Column<(typeof rows)[number]>[] = [
    nameColumn('Cost'),
    figures('amount', 'Amount', ({ amount }) => valueCell(amount)),
    figures('share', 'Share', ({ amount }) =>
      all > 0 ? plainPercent((Number(amount.amount) / all) * 100) : '–',
    ),
  ]
  return (
    <Card title="Costs">
      <Table label="Costs" kind="small-sheet summed" columns={columns} rows={rows} />
    </Card>
  )
}

function Holdings({ result: { begin, end } }: { result: BacktestResult }) {
  const tokens = new Set([...begin.holdings, ...end.holdings].map(({ token }) => token))
  if (tokens.size === 0) return null
  const amountAt = ({ holdings }: BacktestResult['end'], token: string) =>
    amountCell(holdings.find((one) => one.token === token) ?? { amount: '0', token })
  const columns: readonly Column<{ readonly name: string }>[] = [
    nameColumn('Token'),
    figures('held-first', 'At the start', ({ name }) => amountAt(begin, name)),
    figures('held-last', 'At the end', ({ name }) => amountAt(end, name)),
  ]
  const rows = [...tokens].map((name) => ({ name }))
  return (
    <Card title="Holdings">
      <Table label="Holdings" kind="small-sheet" columns={columns} rows={rows} />
    </Card>
  )
}

const DEFINITIONS = {
  return: [
    'Return',
    'Change in the value of all holdings from start to end, in percent. There are no deposits or withdrawals in between.',
  ],
  yearly: [
    'Yearly return',
    'The same return annualised at the rate of the period, compounded. It is not shown for under 30 days, which say too little about a year.',
  ],
  drawdown: [
    'Worst drawdown',
    'The deepest fall of the value from its previous high, in percent of that high. It lasts from the high until the value reaches it again, or to the end. It is measured at the points of the curves.',
  ],
  price: [
    'Average price',
    'The average price over all fills (total paid divided by total received), against the mean of the feed’s price over the whole period. Lower is better. A price below 0.1 is inverted; the mean is then harmonic.',
  ],
  costs: [
    'Costs',
    'Costs of fills and calls in the model of this backtest: spread, service fee, price impact of the order itself, gas of wrapping and unwrapping, and charges for calls.',
  ],
  turnover: ['Turnover', 'Value of all sales, at the prices of each sale.'],
  fills: [
    'Fills',
    'Orders that were filled. Calls are counted separately. A slot may have more than one order.',
  ],
  skipped: [
    'Skipped',
    'Slots that the strategy or a cap skipped, in percent of all slots. Failed, expired, refused and missed slots do not count.',
  ],
  holding: ['Holding', 'The starting holdings are kept until the end, without trading.'],
  'lump-sum': [
    'Lump sum',
    'Everything that the strategies sold is sold at once at the start, at the same costs.',
  ],
  'plain-dca': [
    'Plain DCA',
    'Everything that the strategies sold is sold in equal parts over the whole period, at the same costs.',
  ],
  cap: [
    'Cap',
    'The maximum that may be spent in a sliding window: an hour, a day, a week, or in total. A full cap blocks every order.',
  ],
  against: [
    'Against market',
    'How much less was paid than at the feed’s price of that moment, in basis points (hundredths of a percent). Below zero is worse than the feed; the spread alone causes that.',
  ],
} as const satisfies Readonly<Record<string, readonly [name: string, meaning: string]>>

type Defined = keyof typeof DEFINITIONS

function DefinedName({ of }: { of: Defined }) {
  const [name, meaning] = DEFINITIONS[of]
  return (
    <a class="defined" href={`#means-${of}`} title={meaning}>
      {name}
    </a>
  )
}

export function Definitions() {
  return (
    <dl class="definitions">
      {Object.entries(DEFINITIONS).map(([key, [name, meaning]]) => (
        <div key={key} id={`means-${key}`}>
          <dt class="strong">{name}</dt>
          <dd class="muted">{meaning}</dd>
        </div>
      ))}
    </dl>
  )
}
