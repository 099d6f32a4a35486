import { briefDecimal } from '../../../domain/units.ts'
import { shortText } from '../../amount-data.ts'
import type { FiguresData, ProfitData, ReportData, TradedData } from '../../json/money.ts'
import { type Column, tableLines } from '../../table.ts'
import { wrapped } from '../../wrap.ts'
import type { CsvRows } from './csv.ts'
import { sparkline } from './sparkline.ts'

type How = {
  readonly by: 'day' | 'week' | 'month' | 'strategy' | 'token' | undefined
  readonly columns: number
}

/** A report for a person. */
export function reportLines(data: ReportData, { by, columns }: How): readonly string[] {
  const { paper, sinceAt, untilAt, valueToken, total, profit } = data
  const span = `${sinceAt === null ? 'from the beginning' : `from ${dayText(sinceAt)}`} to ${dayText(untilAt)}`
  const sections = [
    [
      `${paper ? 'ON PAPER (dry-run: nothing was signed), ' : ''}${span}`,
      valueToken === null
        ? 'no price feed is configured: nothing is valued'
        : `values in ${valueToken}, days of ${data.timezone}`,
    ],
    by === undefined || by === 'token'
      ? tradeLines(total.trades, columns)
      : groupLines(data, columns),
    legendLines(data, by),
    countLines(total),
    profit === null ? [] : profitLines(profit, columns),
    portfolioLines(data, columns),
    capLines(data, columns),
  ]
  const lines = sections
    .filter((section) => section.length > 0)
    .flatMap((section, at) => (at === 0 ? section : ['', ...section]))
  return wrapped(lines, columns)
}

function dayText(at: string): string {
  return at.slice(0, 'YYYY-MM-DD'.length)
}

const TRADE_COLUMNS: readonly Column<TradedData>[] = [
  { title: 'FILLS', cell: ({ fills }) => `${fills}`, right: true },
  { title: 'SOLD', cell: ({ sold }) => shortText(sold) },
  { title: 'BOUGHT', cell: ({ bought }) => shortText(bought) },
  { title: 'AVERAGE', cell: averageText, right: true },
  { title: 'BPS', cell: bpsText, right: true },
]

/** The way round in which the number is not below one. */
function averageText({ averagePrice }: TradedData): string {
  if (averagePrice === null) return '-'
  const price = Number.parseFloat(averagePrice)
  return price >= 1 || price === 0
    ? briefDecimal(averagePrice)
    : briefDecimal((1 / price).toFixed(PLACES))
}

const PLACES = 8

function bpsText({ vsFeedBps }: TradedData): string {
  return vsFeedBps === null ? '-' : `${vsFeedBps}`
}

function tradeLines(trades: readonly TradedData[], columns: number): readonly string[] {
  if (trades.length === 0) return ['nothing was traded']
  return tableLines(TRADE_COLUMNS, trades, columns)
}

type GroupRow = {
  readonly key: string
  readonly group: FiguresData
  readonly trade: TradedData | undefined
  readonly isFirst: boolean
}

/** One row for each pair of a group; a group without a trade has one of its calls, or of gas alone. */
function groupRows({ groups }: ReportData): readonly GroupRow[] {
  return groups.flatMap((group) => {
    const trades = group.trades.length === 0 ? [undefined] : group.trades
    return trades.map((trade, at) => ({ key: group.key, group, trade, isFirst: at === 0 }))
  })
}

const GROUP_COLUMNS: readonly Column<GroupRow>[] = [
  { title: 'BY', cell: ({ key, isFirst }) => (isFirst ? key : '') },
  {
    title: 'FILLS',
    cell: ({ trade }) => (trade === undefined ? '' : `${trade.fills}`),
    right: true,
  },
  { title: 'SOLD', cell: ({ trade }) => (trade === undefined ? '' : shortText(trade.sold)) },
  { title: 'BOUGHT', cell: ({ trade }) => (trade === undefined ? '' : shortText(trade.bought)) },
  {
    title: 'AVERAGE',
    cell: ({ trade }) => (trade === undefined ? '' : averageText(trade)),
    right: true,
  },
  { title: 'BPS', cell: ({ trade }) => (trade === undefined ? '' : bpsText(trade)), right: true },
  {
    title: 'PROFIT',
    cell: ({ group: { realised }, isFirst }) =>
      realised === null || !isFirst || realised.fifo.amount === '0'
        ? ''
        : briefDecimal(realised.fifo.amount),
    right: true,
  },
  {
    title: 'CALLS AND GAS',
    cell: ({ group, isFirst }) => (isFirst ? otherText(group) : ''),
    below: true,
  },
]

function otherText({ calls, charged, gas }: FiguresData): string {
  const texts = [
    ...(calls === 0 ? [] : [`${calls === 1 ? '1 call' : `${calls} calls`}, ${shortText(charged)}`]),
    ...(gas.amount === '0' ? [] : [`gas ${shortText(gas)}`]),
  ]
  return texts.join(', ')
}

function groupLines(data: ReportData, columns: number): readonly string[] {
  const rows = groupRows(data)
  return rows.length === 0 ? ['nothing was traded'] : tableLines(GROUP_COLUMNS, rows, columns)
}

/** What the headings of the trades stand for. */
function legendLines({ total, valueToken }: ReportData, by: How['by']): readonly string[] {
  const { trades, realised } = total
  const isGrouped = by !== undefined && by !== 'token'
  return [
    ...(trades.every(({ vsFeedBps }) => vsFeedBps === null)
      ? []
      : ['BPS: basis points better (worse: -) than the feeds at signing']),
    ...(!isGrouped || realised === null || valueToken === null
      ? []
      : [`PROFIT: realised by FIFO, in ${valueToken}`]),
  ]
}

function countLines(total: FiguresData): readonly string[] {
  const { trades, calls, charged, callsWithoutCharge, carried, gas, unproven } = total
  const fees = trades.filter(({ fee }) => fee.amount !== '0').map(({ fee }) => shortText(fee))
  const unknown =
    callsWithoutCharge === 0 ? '' : `, ${callsWithoutCharge} of them of unknown charge`
  return [
    ...(fees.length === 0 ? [] : [`service fees   ${fees.join(', ')}, in the prices above`]),
    ...(calls === 0 ? [] : [`calls          ${calls}, charged ${shortText(charged)}${unknown}`]),
    ...(carried.amount === '0' ? [] : [`carried        ${shortText(carried)} by calls`]),
    ...(gas.amount === '0' ? [] : [`gas            ${shortText(gas)} for own transactions`]),
    ...(unproven.orders === 0
      ? []
      : [
          `not proven     ${unproven.orders} orders, ${unproven.amounts.map(shortText).join(', ')} booked as spent`,
        ]),
  ]
}

function profitLines(profit: ProfitData, columns: number): readonly string[] {
  const { held, cost, realised, unrealised, proceedsOfUnknownCost } = profit
  const rows = [
    ['cost of what is held', cost],
    ['realised profit', realised],
    ['unrealised profit', unrealised],
  ] as const
  const both = tableLines<(typeof rows)[number]>(
    [
      { title: '', cell: ([name]) => name },
      {
        title: 'FIFO',
        cell: ([, each]) => (each === null ? 'no price' : shortText(each.fifo)),
        right: true,
      },
      {
        title: 'AVERAGE',
        cell: ([, each]) => (each === null ? 'no price' : shortText(each.average)),
        right: true,
      },
    ],
    rows,
    columns,
  )
  const bought = tableLines<ProfitData['held'][number]>(
    [
      { title: 'BOUGHT AND HELD', cell: ({ amount }) => shortText(amount) },
      { title: 'COST (FIFO)', cell: ({ cost: own }) => shortText(own.fifo), right: true },
      {
        title: 'COST (AVERAGE)',
        cell: ({ cost: own }) => shortText(own.average),
        right: true,
      },
      {
        title: 'WORTH',
        cell: ({ value }) => (value === null ? 'no price' : shortText(value)),
        right: true,
      },
    ],
    held,
    columns,
  )
  const unknown =
    proceedsOfUnknownCost.amount === '0'
      ? []
      : [`${shortText(proceedsOfUnknownCost)} more came from tokens whose cost is not known`]
  return [...both, ...unknown, ...(bought.length === 0 ? [] : ['', ...bought])]
}

function portfolioLines({ portfolio }: ReportData, columns: number): readonly string[] {
  const { unknown, total, holdings, past } = portfolio
  const now =
    unknown === null
      ? `portfolio now ${total === null ? 'not all of it has a price' : shortText(total)}`
      : `portfolio now unknown: ${unknown}`
  const curve = sparkline(past, Math.min(columns, CHART_COLUMNS))
  return [
    now,
    ...holdings.map(({ token, amount, value }) => {
      const held = amount === null ? `${token} not read` : shortText(amount)
      return `  ${held}${value === null ? '' : ` (${shortText(value)})`}`
    }),
    ...curve,
  ]
}

const CHART_COLUMNS = 60

function capLines({ caps }: ReportData, columns: number): readonly string[] {
  const used = caps.filter(({ used: { amount } }) => amount !== '0')
  return tableLines<(typeof caps)[number]>(
    [
      { title: 'CAP OF', cell: ({ strategy }) => strategy ?? 'all', gives: true },
      { title: 'WINDOW', cell: ({ window }) => window },
      { title: 'USED', cell: ({ used: amount }) => shortText(amount), right: true },
      { title: 'CAP', cell: ({ cap: { amount } }) => briefDecimal(amount), right: true },
    ],
    used,
    columns,
  )
}

const TRADE_HEADING = [
  ...['fills', 'sold', 'sold_token', 'bought', 'bought_token', 'average_price', 'vs_feed_bps'],
  ...['fee', 'fee_token'],
]
const GROUP_HEADING = [
  ...['calls', 'charged_eth', 'carried_eth', 'gas_eth', 'realised_fifo', 'realised_average'],
  'value_token',
]

/** The same for a spreadsheet: a row for each pair of each group, then one of the group with what belongs to no pair. */
export function reportRows(data: ReportData, by: How['by']): CsvRows {
  if (by === 'token') return tokenRows(data)
  const groups = by === undefined ? [{ key: 'total', ...data.total }] : data.groups
  const rows = groups.flatMap((group) => [
    ...group.trades.map((trade) => [
      group.key,
      ...tradeCells(trade),
      ...GROUP_HEADING.map(() => null),
    ]),
    [group.key, ...TRADE_HEADING.map(() => null), ...groupCells(group, data.valueToken)],
  ])
  return [['group', ...TRADE_HEADING, ...GROUP_HEADING], ...rows]
}

function tradeCells({ fills, sold, bought, averagePrice, vsFeedBps, fee }: TradedData) {
  return [
    fills,
    sold.amount,
    sold.token,
    bought.amount,
    bought.token,
    averagePrice,
    vsFeedBps,
    fee.amount,
    fee.token,
  ]
}

function groupCells(
  { calls, charged, carried, gas, realised }: FiguresData,
  valueToken: string | null,
) {
  const profit = [realised?.fifo.amount ?? null, realised?.average.amount ?? null]
  return [calls, charged.amount, carried.amount, gas.amount, ...profit, valueToken]
}

function tokenRows({ profit, valueToken }: ReportData): CsvRows {
  const rows = (profit?.held ?? []).map(({ amount, cost, value }) => [
    ...[amount.token, amount.amount, cost.fifo.amount, cost.average.amount],
    ...[value?.amount ?? null, valueToken],
  ])
  return [['token', 'held', 'cost_fifo', 'cost_average', 'worth', 'value_token'], ...rows]
}
