import { briefDecimal } from '../../../domain/units.ts'
import { shortText } from '../../amount-data.ts'
import type { BacktestData } from '../../json/backtest-report.ts'
import { type Column, tableLines } from '../../table.ts'
import { wrapped } from '../../wrap.ts'
import { sparkline } from '../money/sparkline.ts'
import { sweepLines } from './sweep-text.ts'

type StrategyData = BacktestData['strategies'][number]
type Row = readonly string[]

/** Reasons named of one strategy: the rest is in the table of the page and under `--json`. */
const REASONS_MAX = 6
const CHART_COLUMNS = 60

/** A backtest for a person. */
export function backtestLines(data: BacktestData, columns: number): readonly string[] {
  const { fromAt, untilAt, strategies, notes } = data
  const sections = [
    [
      `BACKTEST of ${strategies.map(({ name }) => name).join(', ')}`,
      `${day(fromAt)} to ${day(untilAt)}`,
    ],
    headlines(data),
    chartLines(data, Math.min(columns, CHART_COLUMNS)),
    compareLines(data, columns),
    strategies.flatMap((each) => strategyLines(each, columns)),
    costLines(data),
    variedLines(data, columns),
    data.sweep === null ? [] : sweepLines(data.sweep, columns),
    modelLines(data),
    data.prices.map(({ pair, source, rounds }) => `prices  ${pair}: ${rounds} rounds of ${source}`),
    notes,
    expectedLines(data),
  ]
  const lines = sections
    .filter((section) => section.length > 0)
    .flatMap((section, at) => (at === 0 ? section : ['', ...section]))
  return wrapped(lines, columns)
}

function day(at: string): string {
  return at.endsWith('T00:00:00.000Z') ? at.slice(0, 10) : at.slice(0, 16).replace('T', ' ')
}

function headlines({ begin, end, figures }: BacktestData): readonly string[] {
  const holdings = `holds  ${end.holdings.map(shortText).join(', ')}`
  if (figures === null || begin.value === null || end.value === null)
    return [
      'nothing is valued: no price feed is configured, or something held has no price',
      holdings,
    ]
  const { returnPercent, yearlyPercent, drawdown } = figures
  const yearly = yearlyPercent === null ? '' : `, ${signed(yearlyPercent)} a year`
  return [
    `value  ${shortText(begin.value)} -> ${shortText(end.value)} (${signed(returnPercent)}${yearly})`,
    `worst drawdown  ${drawdownText(drawdown)}`,
    holdings,
  ]
}

function drawdownText(drawdown: NonNullable<BacktestData['figures']>['drawdown']): string {
  const { percent, fromAt, deepestAt, recoveredAt, seconds } = drawdown
  if (fromAt === null || deepestAt === null) return 'none'
  const back =
    recoveredAt === null ? 'not made up for by the end' : `made up for ${day(recoveredAt)}`
  return `${shown(percent)}%, from ${day(fromAt)} to ${day(deepestAt)}, ${back}: ${lasting(seconds)}`
}

const HOUR_SECONDS = 3_600

function lasting(seconds: number): string {
  const hours = Math.round(seconds / HOUR_SECONDS)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`
}

function chartLines({ series, valueToken }: BacktestData, columns: number): readonly string[] {
  if (valueToken === null) return []
  return sparkline(
    series.atSeconds.map((seconds, index) => {
      const value = series.value[index] ?? null
      const at = new Date(seconds * 1000).toISOString()
      return { at, value: value === null ? null : { amount: `${value}`, token: valueToken } }
    }),
    columns,
  )
}

const COMPARE: readonly Column<Row>[] = [
  { title: 'AGAINST', cell: ([name = '']) => name },
  { title: 'VALUE', cell: ([, value = '']) => value, right: true },
  { title: 'RETURN', cell: ([, , gain = '']) => gain, right: true },
  { title: 'DRAWDOWN', cell: ([, , , fall = '']) => fall, right: true },
  { title: 'FILLS', cell: ([, , , , fills = '']) => fills, right: true },
]

const ALTERNATIVES = { holding: 'holding', 'lump-sum': 'lump sum', 'plain-dca': 'plain DCA' }

function compareLines({ against, figures, end }: BacktestData, columns: number): readonly string[] {
  if (figures === null || end.value === null || against.length === 0) return []
  const own: Row = [
    'this',
    shortText(end.value),
    signed(figures.returnPercent),
    `${shown(figures.drawdown.percent)}%`,
  ]
  const others = against.map(
    ({ name, value, returnPercent, drawdownPercent }): Row => [
      ALTERNATIVES[name],
      shortText(value),
      signed(returnPercent),
      `${shown(drawdownPercent)}%`,
    ],
  )
  return tableLines(COMPARE, [own, ...others], columns)
}

function strategyLines(each: StrategyData, columns: number): readonly string[] {
  const { name, kind, slots, filled, skipped, failed, missed, open } = each
  const counts = [
    `${filled} filled`,
    `${skipped} skipped`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(missed > 0 ? [`${missed} missed`] : []),
    ...(open > 0 ? [`${open} under way`] : []),
  ]
  const reasons = each.outcomes
    .filter(({ outcome }) => outcome !== 'filled' && outcome !== 'missed')
    .slice(0, REASONS_MAX)
    .map(({ reason, count }) => `${count} ${reason}`)
  return wrapped(
    [
      `${name} (${kind}): ${slots} ${slots === 1 ? 'slot' : 'slots'}, ${counts.join(', ')}`,
      ...(reasons.length > 0 ? [`  why not: ${reasons.join(', ')}`] : []),
      ...each.trades.map(tradesText),
      ...(each.calls > 0 ? [`  made ${each.calls} calls`] : []),
      ...(each.stopped === null ? [] : [`  stopped: ${each.stopped}`]),
    ],
    columns,
  )
}

function tradesText({
  sold,
  bought,
  fills,
  averagePrice,
  periodPrice,
}: StrategyData['trades'][number]): string {
  const what = `  sold ${shortText(sold)} for ${shortText(bought)} in ${fills} ${fills === 1 ? 'fill' : 'fills'}`
  if (averagePrice === null || periodPrice === null) return what
  const prices = [averagePrice, periodPrice].map((price) => Number.parseFloat(price))
  const turns = (prices[0] ?? 0) < 1
  const [average, period] = prices.map((price) => (turns ? 1 / price : price))
  const unit = turns ? `${bought.token} per ${sold.token}` : `${sold.token} per ${bought.token}`
  return `${what}, on average at ${figure(average)} ${unit} (the period's: ${figure(period)})`
}

function costLines({ figures }: BacktestData): readonly string[] {
  if (figures === null) return []
  const { costs, turnover, turnoverPercent } = figures
  const parts = [
    ['spread', costs.spread],
    ['fee', costs.fee],
    ['impact', costs.impact],
    ['gas', costs.gas],
    ['calls', costs.calls],
  ] as const
  const named = parts.filter(([, { amount }]) => amount !== '0')
  const of = named.map(([name, value]) => `${name} ${briefDecimal(value.amount)}`).join(', ')
  const share = turnoverPercent === null ? '' : ` (${shown(turnoverPercent)}% of the beginning)`
  return [
    `costs  ${shortText(costs.total)}${of === '' ? '' : `: ${of}`}`,
    `turnover  ${shortText(turnover)}${share}`,
  ]
}

const VARIED: readonly Column<Row>[] = [
  { ...COMPARE[0], title: 'IF', cell: ([name = '']) => name },
  ...COMPARE.slice(1),
]

function variedLines({ sensitivity }: BacktestData, columns: number): readonly string[] {
  const rows = sensitivity.map(
    ({ what, value, returnPercent, drawdownPercent, fills }): Row => [
      what,
      value === null ? '-' : shortText(value),
      returnPercent === null ? '-' : signed(returnPercent),
      drawdownPercent === null ? '-' : `${shown(drawdownPercent)}%`,
      `${fills}`,
    ],
  )
  return tableLines(VARIED, rows, columns)
}

const SOURCES = {
  default: 'defaults; `--model from-journal` takes those of your own fills',
  options: 'as given',
  journal: 'from the journal',
}

function modelLines({ model }: BacktestData): readonly string[] {
  const { depth, failurePercent, gasTank } = model
  const parts = [
    `spread ${model.spreadBps} bps`,
    `fee ${model.feeBps} bps`,
    depth === null ? 'no price impact' : `1% impact by ${shortText(depth)}`,
    `${failurePercent}% of orders fail`,
    `${model.quoteSeconds} s to sign, ${model.fillSeconds} s to fill`,
    `signatures live ${model.validSeconds} s`,
    `${shortText(model.wrapGas)} a wrap, ${shortText(model.callCharge)} a call`,
    ...(gasTank === null ? [] : [`GasTank ${shortText(gasTank)}`]),
  ]
  return [`model  ${parts.join('; ')} (${SOURCES[model.source]})`]
}

function expectedLines({ expected }: BacktestData): readonly string[] {
  return expected.map(({ text, holds, actual }) => {
    const is = actual === null ? 'there is no such figure' : `it is ${briefDecimal(actual)}`
    return `${holds ? 'holds ' : 'FAILS '} ${text}: ${is}`
  })
}

function shown(value: number): string {
  return briefDecimal(value.toFixed(4))
}

function figure(value = 0): string {
  return briefDecimal(value.toFixed(12))
}

function signed(value: number): string {
  return `${value > 0 ? '+' : ''}${shown(value)}%`
}
