import type {
  BacktestResult,
  ModelResult,
  PricesResult,
  SensitivityResult,
} from '../../../backtest/report/result.ts'
import { count, plainPercent } from '../../page-parts/words/amounts.ts'
import { durationText } from '../../page-parts/words/times.ts'
import type { Column } from '../both/cells.ts'
import { amountText, fallCell, returnCell, valueCell } from '../both/words.ts'
import { type DrawnColumn, html, type Markup, tableMarkup } from '../markup.ts'
import { barMarkup } from './bar.ts'

export function assumptionsSection(result: BacktestResult): Markup {
  return html`<section id="model" aria-labelledby="model-title">
<h2 id="model-title">What the model assumed</h2>
<p class="about">Services and chains gave their quotes and fills to nobody in the past. This stood in for them. ${SOURCES[result.model.source]}</p>
<dl class="assumptions">${assumed(result.model).map(
    ([name, figure, meaning]) =>
      html`<div><dt>${name}</dt><dd><strong>${figure}</strong> ${meaning}</dd></div>`,
  )}</dl>
${pricesTable(result.prices)}
${sensitivity(result)}
</section>`
}

const SOURCES: Readonly<Record<ModelResult['source'], string>> = {
  default:
    'The figures are the defaults: of no particular service, and rather too dear than too cheap.',
  options: 'The figures were given with the command, or are defaults where none was given.',
  journal: 'The figures were measured in the journal: what its own quotes and fills came to.',
}

type Assumption = readonly [name: string, figure: string, meaning: string]

function assumed(model: ModelResult): readonly Assumption[] {
  const seconds = (number: number) => durationText(number * 1_000)
  return [
    ['Spread', bpsText(model.spreadBps), 'of every swap, against the feed’s price'],
    ['Fee', bpsText(model.feeBps), 'of every swap, taken by the service on top'],
    model.depth === null
      ? ['Depth', 'unlimited:', 'no order moves the price']
      : ['Depth', amountText(model.depth), 'in one order move the price by 1 %'],
    [
      'Failures',
      plainPercent(model.failurePercent),
      'of orders that the price allows come to nothing',
    ],
    ['Quote', seconds(model.quoteSeconds), 'from a slot to the signature'],
    ['Fill', seconds(model.fillSeconds), 'from the signature to the block that fills it'],
    [
      'Validity',
      seconds(model.validSeconds),
      'a signature lives; what is not filled by then expires',
    ],
    ['Wrapping', amountText(model.wrapGas), 'of gas for each wrapping or unwrapping'],
    ['Calls', amountText(model.callCharge), 'charged to the GasTank for each call'],
    model.gasTank === null
      ? ['GasTank', 'never empty:', 'every call is paid for']
      : ['GasTank', amountText(model.gasTank), 'in it at the beginning; nobody fills it up'],
    ['Seed', model.seed, 'decides which orders fail: the same seed, the same orders'],
  ]
}

function bpsText(bps: number): string {
  return `${Number(bps.toFixed(2))} bps (${plainPercent(bps / 100)})`
}

function pricesTable(prices: readonly PricesResult[]): Markup {
  if (prices.length === 0)
    return html`<p class="note warn">No price feed was read: nothing could be held against a price.</p>`
  const columns: readonly Column<PricesResult>[] = [
    { id: 'pair', title: 'Prices of', cell: ({ pair }) => ({ text: pair }) },
    { id: 'source', title: 'From', cell: ({ source }) => ({ text: source }) },
    {
      id: 'rounds',
      title: 'Rounds',
      numeric: true,
      cell: ({ rounds }) => ({ text: count(rounds) }),
    },
  ]
  return tableMarkup({ label: 'Prices', kind: 'of-prices', columns, rows: prices })
}

function sensitivity({ sensitivity: others, figures, end, strategies }: BacktestResult): Markup {
  if (others.length === 0) return html``
  const fills = strategies.reduce(
    (sum, { trades }) => sum + trades.reduce((total, trade) => total + trade.fills, 0),
    0,
  )
  const own: SensitivityResult = {
    what: 'As assumed',
    value: end.value,
    returnPercent: figures?.returnPercent ?? null,
    drawdownPercent: figures?.drawdown.percent ?? null,
    fills,
  }
  return html`<h3 class="table-title" id="sensitivity">If the model were wrong</h3>
<p class="about">The same backtest with one figure of the model changed. Where a return moves far, the result rests on that figure.</p>
${sensitivityTable([own, ...others])}`
}

function sensitivityTable(rows: readonly SensitivityResult[]): Markup {
  const known = rows.map(({ returnPercent }) => returnPercent).filter((value) => value !== null)
  const extent = { lowest: Math.min(0, ...known), highest: Math.max(0, ...known) }
  const columns: readonly DrawnColumn<SensitivityResult>[] = [
    { id: 'what', title: 'Changed', cell: ({ what }) => ({ text: what }) },
    { id: 'value', title: 'At the end', numeric: true, cell: ({ value }) => valueCell(value) },
    {
      id: 'return',
      title: 'Return',
      numeric: true,
      cell: ({ returnPercent }) => returnCell(returnPercent),
      drawn: ({ returnPercent }) =>
        returnPercent === null ? html`` : barMarkup(returnPercent, extent),
    },
    { id: 'fall', title: 'Drawdown', numeric: true, cell: (row) => fallCell(row.drawdownPercent) },
    { id: 'fills', title: 'Fills', numeric: true, cell: ({ fills }) => ({ text: count(fills) }) },
  ]
  return tableMarkup({ label: 'Sensitivity', kind: 'of-sensitivity', columns, rows })
}
