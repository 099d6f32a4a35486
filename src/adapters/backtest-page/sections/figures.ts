import type {
  BacktestResult,
  DrawdownResult,
  FiguresResult,
  StrategyResult,
} from '../../../backtest/report/result.ts'
import { count, money, plainPercent, signedPercent } from '../../page-parts/words/amounts.ts'
import { durationText } from '../../page-parts/words/times.ts'
import type { Column } from '../both/cells.ts'
import { dayText, secondsOf } from '../both/moments.ts'
import {
  AGAINST,
  amountCell,
  betterPercent,
  betterText,
  counted,
  exactly,
  fallCell,
  fallText,
  partText,
  priceOf,
  returnCell,
  valueCell,
} from '../both/words.ts'
import { attribute, html, type Markup, tableMarkup } from '../markup.ts'
import { type Defined, defined } from './definitions.ts'

type Tile = {
  readonly key: Defined
  readonly figure: string
  readonly unit?: string
  readonly title?: string
  readonly note: string
}

export function figuresSection(result: BacktestResult): Markup {
  return html`<section id="figures" aria-labelledby="figures-title">
<h2 id="figures-title">Key figures</h2>
<dl class="tiles">${tilesOf(result).map(tileMarkup)}</dl>
<div class="cards">${comparedCard(result)}${costsCard(result)}${holdingsCard(result)}</div>
</section>`
}

function tileMarkup({ key, figure, unit, title, note }: Tile): Markup {
  const token = unit === undefined ? undefined : html` <small>${unit}</small>`
  return html`<div class="tile"><dt>${defined(key)}</dt><dd><p class="figure"${attribute('title', title)}>${figure}${token}</p><p class="note-line">${note}</p></dd></div>`
}

function tilesOf(result: BacktestResult): readonly Tile[] {
  const { strategies, figures } = result
  const worth = figures === null ? [] : worthTiles(result, figures)
  return [...worth, ...priceTiles(strategies), ...countTiles(strategies)]
}

function worthTiles({ against }: BacktestResult, figures: FiguresResult): readonly Tile[] {
  const { returnPercent, yearlyPercent, drawdown, turnover, turnoverPercent, costs } = figures
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
      note:
        yearlyPercent === null ? 'the period has less than 30 days' : 'at the rate of the period',
    },
    {
      key: 'drawdown',
      figure: fallText(drawdown.percent),
      note: drawdownNote(drawdown),
    },
    {
      key: 'costs',
      figure: money(costs.total.amount),
      unit: costs.total.token,
      title: exactly(costs.total),
      note: Number.isFinite(shareOfTurnover)
        ? `${plainPercent(shareOfTurnover)} of the turnover`
        : 'nothing was sold',
    },
    {
      key: 'turnover',
      figure: money(turnover.amount),
      unit: turnover.token,
      title: exactly(turnover),
      note:
        turnoverPercent === null
          ? ''
          : `${plainPercent(turnoverPercent)} of the value at the beginning`,
    },
  ]
}

function drawdownNote({ fromAt, recoveredAt, deepestAt, seconds }: DrawdownResult): string {
  if (fromAt === null) return 'the value never fell'
  const day = (iso: string) => dayText(secondsOf(iso))
  const end = recoveredAt === null ? 'not made good by the end' : `made good on ${day(recoveredAt)}`
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

/** What all strategies together traded, by what was paid and received; the busiest first. */
function pairsOf(strategies: readonly StrategyResult[]): readonly Pair[] {
  const pairs = new Map<string, Pair>()
  for (const { sold, bought, fills, periodPrice } of strategies.flatMap(({ trades }) => trades)) {
    const key = `${sold.token} ${bought.token}`
    const period = periodPrice === null ? null : Number(periodPrice)
    const pair = pairs.get(key) ?? {
      ...{ paid: sold.token, received: bought.token, periodPrice: period },
      ...{ sold: 0, bought: 0, fills: 0 },
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
    if (period === null) return 'no feed tells the period’s'
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

function card(title: string, content: Markup): Markup {
  return html`<div class="card"><h3>${title}</h3>${content}</div>`
}

type Compared = {
  readonly name: string
  readonly value: BacktestResult['end']['value']
  readonly returnPercent: number | null
  readonly drawdownPercent: number | null
}

function comparedCard({ figures, end, against }: BacktestResult): Markup | undefined {
  if (figures === null) return undefined
  const { returnPercent, drawdown } = figures
  const own = { name: 'This backtest', value: end.value }
  const rows: readonly Compared[] = [
    { ...own, returnPercent, drawdownPercent: drawdown.percent },
    ...against.map((one) => ({ ...one, name: AGAINST[one.name] })),
  ]
  const columns: readonly Column<Compared>[] = [
    { id: 'name', title: 'Way', cell: ({ name }) => ({ text: name }) },
    { id: 'value', title: 'At the end', numeric: true, cell: ({ value }) => valueCell(value) },
    { id: 'return', title: 'Return', numeric: true, cell: (row) => returnCell(row.returnPercent) },
    { id: 'fall', title: 'Drawdown', numeric: true, cell: (row) => fallCell(row.drawdownPercent) },
  ]
  return card('Compared', tableMarkup({ label: 'Compared', kind: 'small-sheet', columns, rows }))
}

function costsCard({ figures }: BacktestResult): Markup | undefined {
  if (figures === null) return undefined
  const { total, spread, fee, impact, gas, calls } = figures.costs
  const all = Number(total.amount)
  const rows = [
    { name: 'Spread', amount: spread },
    { name: 'Fee of the service', amount: fee },
    { name: 'Impact on the price', amount: impact },
    { name: 'Gas of wrapping', amount: gas },
    { name: 'Charged for calls', amount: calls },
    { name: 'Total', amount: total },
  ]
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { id: 'name', title: 'Cost', cell: ({ name }) => ({ text: name }) },
    { id: 'amount', title: 'Amount', numeric: true, cell: ({ amount }) => valueCell(amount) },
    {
      id: 'share',
      title: 'Share',
      numeric: true,
      cell: ({ amount }) => ({
        text: all > 0 ? plainPercent((Number(amount.amount) / all) * 100) : '–',
      }),
    },
  ]
  return card('Costs', tableMarkup({ label: 'Costs', kind: 'small-sheet summed', columns, rows }))
}

function holdingsCard({ begin, end }: BacktestResult): Markup | undefined {
  const tokens = new Set([...begin.holdings, ...end.holdings].map(({ token }) => token))
  if (tokens.size === 0) return undefined
  const amount = (holdings: BacktestResult['end']['holdings'], token: string) =>
    holdings.find((one) => one.token === token) ?? { amount: '0', token }
  const columns: readonly Column<string>[] = [
    { id: 'name', title: 'Token', cell: (token) => ({ text: token }) },
    {
      id: 'held-first',
      title: 'At the beginning',
      numeric: true,
      cell: (token) => amountCell(amount(begin.holdings, token)),
    },
    {
      id: 'held-last',
      title: 'At the end',
      numeric: true,
      cell: (token) => amountCell(amount(end.holdings, token)),
    },
  ]
  const table = { label: 'Holdings', kind: 'small-sheet', columns, rows: [...tokens] }
  return card('Holdings', tableMarkup(table))
}
