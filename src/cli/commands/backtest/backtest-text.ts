import { briefDecimal } from '../../../domain/text/grouped.ts'
import type { BacktestData } from '../../json/backtest-outputs.ts'
import type { Given } from '../../process/io.ts'
import { counted, shortText } from '../../text/amount-data.ts'
import { type Column, spaced, sparkline, tableLines, wrapped } from '../../text/table.ts'

type StrategyData = BacktestData['strategies'][number]
type Row = readonly string[]

const REASONS_MAX = 6

export function backtestLines(data: Given<BacktestData>, columns: number): readonly string[] {
  const { fromAt, untilAt, strategies, notes } = data
  const names = strategies.map(({ name }) => name).join(', ')
  const sections = [
    [`BACKTEST of ${names}`, `${day(fromAt)} to ${day(untilAt)}`],
    headlines(data),
    chartLines(data, columns),
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
  return spaced(sections)
}

function day(at: string): string {
  return at.endsWith('T00:00:00.000Z') ? at.slice(0, 10) : at.slice(0, 16).replace('T', ' ')
}

function headlines({ begin, end, figures }: Given<BacktestData>): readonly string[] {
  const holdings = `holds  ${end.holdings.map(shortText).join(', ')}`
  if (figures === null || begin.value === null || end.value === null)
    return ['no value: no price feed is configured, or a holding has no price', holdings]
  const { returnPercent, yearlyPercent, drawdown } = figures
  const yearly = yearlyPercent === null ? '' : `, ${signed(yearlyPercent)} a year`
  const holds = begin.holdings.filter(({ amount }) => amount !== '0')
  const given = holds.map(shortText).join(' and ')
  const isValue = holds.length === 1 && holds[0]?.token === begin.value.token
  const worth = isValue ? '' : `, worth ${shortText(begin.value)},`
  return [
    `value  ${given}${worth} became ${shortText(end.value)} (${signed(returnPercent)}${yearly})`,
    `worst drawdown  ${drawdownText(drawdown)}`,
    holdings,
  ]
}

function drawdownText(drawdown: NonNullable<BacktestData['figures']>['drawdown']): string {
  const { percent, fromAt, deepestAt, recoveredAt, seconds } = drawdown
  if (fromAt === null || deepestAt === null) return 'none'
  const back = recoveredAt === null ? 'not recovered by the end' : `recovered ${day(recoveredAt)}`
  return `${shown(percent)}%, from ${day(fromAt)} to ${day(deepestAt)}, ${back}: ${lasting(seconds)}`
}

const HOUR_SECONDS = 3_600

function lasting(seconds: number): string {
  const hours = Math.round(seconds / HOUR_SECONDS)
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`
}

function chartLines(
  { series, valueToken }: Given<BacktestData>,
  columns: number,
): readonly string[] {
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

function comparison(title: string, rows: readonly Row[], columns: number): readonly string[] {
  const titles = [title, 'VALUE', 'RETURN', 'DRAWDOWN', 'FILLS']
  const table = titles.map((each, at): Column<Row> => {
    return { title: each, cell: (row) => row[at] ?? '', right: at > 0 }
  })
  return tableLines(table, rows, columns)
}

const ALTERNATIVES = { holding: 'holding', 'lump-sum': 'lump sum', 'plain-dca': 'plain DCA' }

function compareLines(
  { against, figures, end }: Given<BacktestData>,
  columns: number,
): readonly string[] {
  if (figures === null || end.value === null || against.length === 0) return []
  const { returnPercent, drawdown } = figures
  const own: Row = ['this', shortText(end.value), signed(returnPercent), share(drawdown.percent)]
  const others = against.map((each): Row => {
    const { name, value, drawdownPercent } = each
    return [
      ALTERNATIVES[name],
      shortText(value),
      signed(each.returnPercent),
      share(drawdownPercent),
    ]
  })
  return comparison('AGAINST', [own, ...others], columns)
}

function strategyLines(each: StrategyData, columns: number): readonly string[] {
  const { name, kind, slots, filled, skipped, failed, missed, open } = each
  const counts = [
    `${filled} filled`,
    `${skipped} skipped`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(missed > 0 ? [`${missed} missed`] : []),
    ...(open > 0 ? [`${open} open`] : []),
  ]
  const reasons = each.outcomes
    .filter(({ outcome }) => outcome !== 'filled' && outcome !== 'missed')
    .slice(0, REASONS_MAX)
    .map(({ reason, count }) => `${count} ${reason}`)
  return wrapped(
    [
      `${name} (${kind}): ${counted(slots, 'slot')}, ${counts.join(', ')}`,
      ...(reasons.length > 0 ? [`  why not: ${reasons.join(', ')}`] : []),
      ...each.trades.map(tradesText),
      ...(each.calls > 0 ? [`  made ${each.calls} calls`] : []),
      ...(each.stopped === null ? [] : [`  stopped: ${each.stopped}`]),
    ],
    columns,
  )
}

function tradesText(trade: StrategyData['trades'][number]): string {
  const { sold, bought, fills, averagePrice, periodPrice } = trade
  const what = `  sold ${shortText(sold)} for ${shortText(bought)} in ${counted(fills, 'fill')}`
  if (averagePrice === null || periodPrice === null) return what
  const prices = [averagePrice, periodPrice].map((price) => Number.parseFloat(price))
  const turns = (prices[0] ?? 0) < 1
  const [average, period] = prices.map((price) => (turns ? 1 / price : price))
  const unit = turns ? `${bought.token} per ${sold.token}` : `${sold.token} per ${bought.token}`
  return `${what}, average price ${figure(average)} ${unit} (of the period: ${figure(period)})`
}

function costLines({ figures }: Given<BacktestData>): readonly string[] {
  if (figures === null) return []
  const { costs, turnover, turnoverPercent } = figures
  const parts = (['spread', 'fee', 'impact', 'gas', 'calls'] as const).filter(
    (name) => costs[name].amount !== '0',
  )
  const of = parts.map((name) => `${name} ${briefDecimal(costs[name].amount)}`).join(', ')
  const share =
    turnoverPercent === null ? '' : ` (${shown(turnoverPercent)}% of the starting value)`
  return [
    `costs  ${shortText(costs.total)}${of === '' ? '' : `: ${of}`}`,
    `turnover  ${shortText(turnover)}${share}`,
  ]
}

function variedLines({ sensitivity }: Given<BacktestData>, columns: number): readonly string[] {
  const rows = sensitivity.map(({ what, value, returnPercent, drawdownPercent, fills }): Row => {
    const worth = value === null ? '-' : shortText(value)
    return [what, worth, signed(returnPercent), share(drawdownPercent), `${fills}`]
  })
  return comparison('IF', rows, columns)
}

const SOURCES = {
  default: 'defaults; `--model from-journal` uses your own fills',
  options: 'as given',
  journal: 'from the journal',
}

function modelLines({ model }: Given<BacktestData>): readonly string[] {
  const { depth, failurePercent, gasTank } = model
  const parts = [
    `spread ${model.spreadBps} bps`,
    `fee ${model.feeBps} bps`,
    depth === null ? 'no price impact' : `1% impact at ${shortText(depth)}`,
    `${failurePercent}% of orders fail`,
    `${model.quoteSeconds} s to sign, ${model.fillSeconds} s to fill`,
    `signatures live ${model.validSeconds} s`,
    `${shortText(model.wrapGas)} per wrap, ${shortText(model.callCharge)} per call`,
    ...(gasTank === null ? [] : [`GasTank ${shortText(gasTank)}`]),
  ]
  return [`model  ${parts.join('; ')} (${SOURCES[model.source]})`]
}

function expectedLines({ expected }: Given<BacktestData>): readonly string[] {
  return expected.map(({ text, holds, actual }) => {
    const is = actual === null ? 'there is no figure' : `it is ${briefDecimal(actual)}`
    return `${holds ? 'holds ' : 'FAILS '} ${text}: ${is}`
  })
}

function shown(value: number): string {
  return briefDecimal(value.toFixed(4))
}

function figure(value = 0): string {
  return briefDecimal(value.toFixed(12))
}

function share(percent: number | null): string {
  return percent === null ? '-' : `${shown(percent)}%`
}

function signed(percent: number | null): string {
  return `${percent !== null && percent > 0 ? '+' : ''}${share(percent)}`
}

type SweepData = NonNullable<BacktestData['sweep']>
type Point = SweepData['points'][number]

/** The page and `--json` have all of them. */
const SHOWN_MAX = 10

const LONELY =
  'WARNING  the best point stands alone: the points beside it are far worse. It may be fitted to this period only.'

/** A sweep as text: the best points, how far to trust them, and the walk-forward result. */
function sweepLines(sweep: SweepData, columns: number): readonly string[] {
  const { points, best, metric, axes, isLonely, walkForward } = sweep
  if (best === null) return ['SWEEP  no combination could be valued']
  const byDrawdown = metric === 'drawdownPercent'
  const known = points.filter((point) => point[metric] !== null)
  const ranked = known.toSorted((a, b) =>
    byDrawdown
      ? (a.drawdownPercent ?? 0) - (b.drawdownPercent ?? 0)
      : (b.returnPercent ?? 0) - (a.returnPercent ?? 0),
  )
  return [
    `SWEEP  ${points.length} combinations, ${byDrawdown ? 'smallest drawdown' : 'best return'} first`,
    ...tableLines(columnsOf(axes), ranked.slice(0, SHOWN_MAX), columns),
    ...(ranked.length > SHOWN_MAX ? [`and ${ranked.length - SHOWN_MAX} more`] : []),
    ...(isLonely ? [LONELY] : []),
    ...(walkForward === null ? [] : walkedLines(walkForward, axes, columns)),
  ]
}

type Axes = SweepData['axes']

function valueColumns(axes: Axes): readonly Column<Pick<Fold, 'values'>>[] {
  return axes.map(({ key }, at) => {
    return { title: key, cell: ({ values }) => values[at] ?? '-', right: true }
  })
}

function columnsOf(axes: Axes): readonly Column<Point>[] {
  return [
    ...valueColumns(axes),
    { title: 'RETURN', cell: ({ returnPercent }) => share(returnPercent), right: true },
    { title: 'DRAWDOWN', cell: ({ drawdownPercent }) => share(drawdownPercent), right: true },
    { title: 'FILLS', cell: ({ fills }) => `${fills}`, right: true },
  ]
}

type Walked = NonNullable<SweepData['walkForward']>
type Fold = Walked['folds'][number]

function walkedLines(
  { folds, unseenReturnPercent }: Walked,
  axes: Axes,
  columns: number,
): readonly string[] {
  const table: readonly Column<Fold>[] = [
    { title: 'CHOSEN UNTIL', cell: ({ searchUntilAt }) => searchUntilAt.slice(0, 10) },
    { title: 'TRIED UNTIL', cell: ({ tryUntilAt }) => tryUntilAt.slice(0, 10) },
    ...valueColumns(axes),
    { title: 'THERE', cell: ({ searchReturnPercent }) => share(searchReturnPercent), right: true },
    { title: 'AFTER', cell: ({ tryReturnPercent }) => share(tryReturnPercent), right: true },
  ]
  const unseen = unseenReturnPercent === null ? 'unknown' : share(unseenReturnPercent)
  return [
    '',
    'WALK-FORWARD  the best of each part, tested on the next part',
    ...tableLines(table, folds, columns),
    `all tested parts, in sequence: ${unseen}`,
  ]
}
