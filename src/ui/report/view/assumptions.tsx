import type {
  BacktestResult,
  ModelResult,
  PricesResult,
  SensitivityResult,
} from '../../../backtest/report/result.ts'
import { durationText } from '../../../domain/text/duration.ts'
import { type Column, column, figures, Table } from '../../parts/table.tsx'
import { amountText, count, plainPercent } from '../../parts/wording/amounts.ts'
import { DRAWDOWN, FILLS, RETURN, returnCell, VALUE } from '../data/labels.ts'
import { About, Bar } from './section.tsx'

export function Assumptions({ result }: { result: BacktestResult }) {
  const { model, prices } = result
  return (
    <>
      <About>
        No service quoted or filled these orders in the past: this model stood in for services and
        chains. {SOURCES[model.source]}
      </About>
      <dl class="assumptions">
        {assumed(model).map(([name, figure, meaning]) => (
          <div key={name}>
            <dt class="strong">{name}</dt>
            <dd class="muted">
              <strong>{figure}</strong> {meaning}
            </dd>
          </div>
        ))}
      </dl>
      {prices.length === 0 ? (
        <p class="note warn">No price feed was read, so no fill could be compared with a price.</p>
      ) : (
        <Table label="Prices" kind="of-prices" columns={PRICES} rows={prices} />
      )}
      {result.sensitivity.length > 0 && <Sensitivity result={result} />}
    </>
  )
}

const SOURCES: Readonly<Record<ModelResult['source'], string>> = {
  default: 'The figures are the defaults: they describe no particular service and overstate costs.',
  options: 'Some figures were set by flags of the command; the others are defaults.',
  journal: 'The figures were measured from the quotes and fills in the journal.',
}

type Assumption = readonly [name: string, figure: string, meaning: string]

function assumed(model: ModelResult): readonly Assumption[] {
  const seconds = (number: number) => durationText(number * 1_000)
  return [
    ['Spread', bpsText(model.spreadBps), 'of every swap, against the feed’s price'],
    ['Fee', bpsText(model.feeBps), 'of every swap, charged by the service on top'],
    model.depth === null
      ? ['Depth', 'unlimited:', 'no order moves the price']
      : ['Depth', amountText(model.depth), 'in one order moves the price by 1 %'],
    ['Failures', plainPercent(model.failurePercent), 'of orders that the price allows fail'],
    ['Quote', seconds(model.quoteSeconds), 'from a slot to the signature'],
    ['Fill', seconds(model.fillSeconds), 'from the signature to the block that fills it'],
    [
      'Validity',
      seconds(model.validSeconds),
      'lifetime of a signature; an order not filled by then expires',
    ],
    ['Wrapping', amountText(model.wrapGas), 'of gas for each wrapping or unwrapping'],
    ['Calls', amountText(model.callCharge), 'charged to the GasTank for each call'],
    model.gasTank === null
      ? ['GasTank', 'never empty:', 'every call is paid for']
      : ['GasTank', amountText(model.gasTank), 'at the start; it is never topped up'],
    ['Seed', model.seed, 'decides which orders fail: the same seed, the same orders'],
  ]
}

function bpsText(bps: number): string {
  return `${Number(bps.toFixed(2))} bps (${plainPercent(bps / 100)})`
}

const PRICES: readonly Column<PricesResult>[] = [
  column('pair', 'Prices of', ({ pair }) => pair),
  column('source', 'From', ({ source }) => source),
  figures('rounds', 'Rounds', ({ rounds }) => count(rounds)),
]

function Sensitivity({ result }: { result: BacktestResult }) {
  const { sensitivity, figures, end, strategies } = result
  const fills = strategies
    .flatMap(({ trades }) => trades)
    .reduce((sum, trade) => sum + trade.fills, 0)
  const own: SensitivityResult = {
    what: 'As assumed',
    value: end.value,
    returnPercent: figures?.returnPercent ?? null,
    drawdownPercent: figures?.drawdown.percent ?? null,
    fills,
  }
  const rows = [own, ...sensitivity]
  const known = rows.map(({ returnPercent }) => returnPercent).filter((value) => value !== null)
  const [lowest, highest] = [Math.min(0, ...known), Math.max(0, ...known)]
  const columns: readonly Column<SensitivityResult>[] = [
    column('what', 'Changed', ({ what }) => what),
    VALUE,
    {
      ...RETURN,
      cell: ({ returnPercent: value }) => ({
        ...returnCell(value),
        drawn: value !== null && <Bar value={value} lowest={lowest} highest={highest} />,
      }),
    },
    DRAWDOWN,
    FILLS,
  ]
  return (
    <>
      <h3 class="table-title" id="sensitivity">
        If the model is wrong
      </h3>
      <About>
        The same backtest with one figure of the model changed. If a return moves far, the result
        rests on that figure.
      </About>
      <Table label="Sensitivity" kind="of-sensitivity" columns={columns} rows={rows} />
    </>
  )
}
