import { unknownCostText } from '../../../domain/money/amount-text.ts'
import { formatAmount, parseAmount } from '../../../domain/money/units.ts'
import { briefDecimal } from '../../../domain/text/grouped.ts'
import type { Grouping } from '../../../journal/ledger/figures.ts'
import type {
  BothData,
  FiguresData,
  ProfitData,
  ReportData,
  TradedData,
} from '../../json/money-outputs.ts'
import type { AmountData } from '../../json/shapes.ts'
import { counted, shortText } from '../../text/amount-data.ts'
import { type Column, spaced, sparkline, tableLines } from '../../text/table.ts'

type How = {
  readonly by: Grouping | 'token' | undefined
  readonly columns: number
}

export function reportLines(data: ReportData, { by, columns }: How): readonly string[] {
  const { paper, sinceAt, untilAt, valueToken, total, profit } = data
  const span = `${sinceAt === null ? 'from the start' : `from ${dayText(sinceAt)}`} to ${dayText(untilAt)}`
  const tables =
    by === undefined || by === 'token'
      ? tableLines(TRADE_COLUMNS, total.trades, columns)
      : tableLines(GROUP_COLUMNS, groupRows(data), columns)
  const values =
    valueToken === null
      ? 'no price feed is configured: values are unknown'
      : `values in ${valueToken}, days of ${data.timezone}`
  const sections = [
    [`${paper ? 'ON PAPER (dry-run: nothing was signed), ' : ''}${span}`, values],
    tables.length === 0 ? ['nothing was traded'] : tables,
    legendLines(data, by),
    countLines(total),
    profit === null ? [] : profitLines(profit, columns),
    portfolioLines(data, columns),
    capLines(data, columns),
  ]
  return spaced(sections)
}

function dayText(at: string): string {
  return at.slice(0, 'YYYY-MM-DD'.length)
}

const TRADE_COLUMNS: readonly Column<TradedData>[] = [
  { title: 'FILLS', cell: ({ fills }) => `${fills}`, right: true },
  { title: 'SOLD', cell: ({ sold }) => shortText(sold) },
  { title: 'BOUGHT', cell: ({ bought }) => shortText(bought) },
  { title: 'AVERAGE', cell: averageText, right: true },
  { title: 'BPS', cell: ({ vsFeedBps }) => `${vsFeedBps ?? '-'}`, right: true },
]

function averageText({ averagePrice }: TradedData): string {
  if (averagePrice === null) return '-'
  const price = Number.parseFloat(averagePrice)
  return price >= 1 || price === 0
    ? briefDecimal(averagePrice)
    : briefDecimal((1 / price).toFixed(PLACES))
}

const PLACES = 8
/** Decimals of any token. */
const PLACES_MAX = 36

type GroupRow = {
  readonly key: string
  readonly group: FiguresData
  readonly trade: TradedData | undefined
  readonly isFirst: boolean
}

/** One row per pair of a group; a group without trades has one row for its calls and gas. */
function groupRows({ groups }: ReportData): readonly GroupRow[] {
  return groups.flatMap((group) => {
    const trades = group.trades.length === 0 ? [undefined] : group.trades
    return trades.map((trade, at) => ({ key: group.key, group, trade, isFirst: at === 0 }))
  })
}

const GROUP_COLUMNS: readonly Column<GroupRow>[] = [
  { title: 'BY', cell: ({ key, isFirst }) => (isFirst ? key : '') },
  ...TRADE_COLUMNS.map(({ cell, ...column }) => ({
    ...column,
    cell: ({ trade }: GroupRow) => (trade === undefined ? '' : cell(trade)),
  })),
  {
    title: 'PROFIT (FIFO)',
    cell: ({ group: { realised }, isFirst }) =>
      realised === null || !isFirst || realised.fifo.amount === '0'
        ? ''
        : briefDecimal(realised.fifo.amount),
    right: true,
  },
  { title: 'CALLS AND GAS', cell: (row) => (row.isFirst ? otherText(row.group) : ''), below: true },
]

function otherText({ calls, charged, gas }: FiguresData): string {
  const texts = [
    ...(calls === 0 ? [] : [`${counted(calls, 'call')}, ${shortText(charged)}`]),
    ...(gas.amount === '0' ? [] : [`gas ${shortText(gas)}`]),
  ]
  return texts.join(', ')
}

function legendLines({ total, groups, valueToken }: ReportData, by: How['by']): readonly string[] {
  const { trades } = total
  const isGrouped = by !== undefined && by !== 'token'
  const lines: string[] = []
  if (trades.some(({ vsFeedBps }) => vsFeedBps !== null))
    lines.push('BPS: basis points better than the feeds at signing (negative: worse)')
  const hasProfit = groups.some(
    (group) => group.realised !== null && group.realised.fifo.amount !== '0',
  )
  if (isGrouped && hasProfit && valueToken !== null)
    lines.push(`PROFIT (FIFO): realised, in ${valueToken}; the page shows it at average cost`)
  return lines
}

function countLines(total: FiguresData): readonly string[] {
  const { trades, calls, charged, callsWithoutCharge, carried, gas, unproven } = total
  const fees = sumsOf(trades.map(({ fee }) => fee)).map(shortText)
  const ether = sumsOf([charged, gas]).map(shortText).join(', ')
  const booked = unproven.amounts.map(shortText).join(', ')
  const unknown =
    callsWithoutCharge === 0 ? '' : `, ${callsWithoutCharge} of them with unknown charge`
  const hasGas = gas.amount !== '0'
  const lines: string[] = []
  if (fees.length > 0) lines.push(`service fees   ${fees.join(', ')}, included in the prices above`)
  if (calls > 0) lines.push(`calls          ${calls}, charged ${shortText(charged)}${unknown}`)
  if (carried.amount !== '0') lines.push(`carried        ${shortText(carried)} by calls`)
  if (hasGas) lines.push(`gas            ${shortText(gas)} for own transactions`)
  if (calls > 0 && hasGas) lines.push(`calls and gas  ${ether} together`)
  if (unproven.orders > 0)
    lines.push(`not proven     ${unproven.orders} orders, ${booked} booked as spent`)
  return lines
}

/** One exact figure per token, without zeros. */
function sumsOf(amounts: readonly AmountData[]): readonly AmountData[] {
  const sums = new Map<string, bigint>()
  for (const { amount, token } of amounts)
    sums.set(token, (sums.get(token) ?? 0n) + (parseAmount(amount, PLACES_MAX) ?? 0n))
  return [...sums].flatMap(([token, sum]) =>
    sum === 0n ? [] : [{ amount: formatAmount(sum, PLACES_MAX), token }],
  )
}

function profitLines(profit: ProfitData, columns: number): readonly string[] {
  const { held, cost, realised, unrealised, proceedsOfUnknownCost } = profit
  const rows = [
    ['cost of holdings', cost],
    ['realised profit', realised],
    ['unrealised profit', unrealised],
  ] as const
  const priced = (amount: AmountData | null | undefined): string =>
    amount ? shortText(amount) : 'no price'
  const methods: readonly Column<(typeof rows)[number]>[] = [
    { title: '', cell: ([name]) => name },
    { title: 'FIFO', cell: ([, each]) => priced(each?.fifo), right: true },
    { title: 'AVERAGE', cell: ([, each]) => priced(each?.average), right: true },
  ]
  const costs: readonly Column<ProfitData['held'][number]>[] = [
    { title: 'BOUGHT AND HELD', cell: ({ amount }) => shortText(amount) },
    { title: 'COST (FIFO)', cell: costText('fifo'), right: true },
    { title: 'COST (AVERAGE)', cell: costText('average'), right: true },
    { title: 'WORTH', cell: ({ value }) => priced(value), right: true },
  ]
  const bought = tableLines(costs, held, columns)
  const lines = [...tableLines(methods, rows, columns)]
  if (proceedsOfUnknownCost.amount !== '0')
    lines.push(`${shortText(proceedsOfUnknownCost)} more came from tokens of unknown cost`)
  const unknown = held.flatMap(({ ofUnknownCost: { fifo }, paidWith }) =>
    fifo.amount === '0' ? [] : [unknownCostText(shortText(fifo), paidWith)],
  )
  return [...lines, ...(bought.length === 0 ? [] : ['', ...bought, ...unknown])]
}

function costText(by: keyof BothData) {
  return ({ amount, cost, ofUnknownCost }: ProfitData['held'][number]): string =>
    cost[by].amount === '0' && amount.amount === ofUnknownCost[by].amount
      ? 'unknown'
      : shortText(cost[by])
}

function portfolioLines(
  { portfolio, untilAt: at }: ReportData,
  columns: number,
): readonly string[] {
  const { unknown, total, holdings, past } = portfolio
  const now =
    unknown === null
      ? `portfolio now ${total === null ? 'partly without a price' : shortText(total)}`
      : `portfolio now unknown: ${unknown}`
  return [
    now,
    ...holdings.map(({ token, amount, value }) => {
      const held = amount === null ? `${token} not read` : shortText(amount)
      return `  ${held}${value === null ? '' : ` (${shortText(value)})`}`
    }),
    ...sparkline([...past, { at, value: total }], columns),
  ]
}

function capLines({ caps }: ReportData, columns: number): readonly string[] {
  const used = caps.filter(({ used: { amount } }) => amount !== '0')
  const table: readonly Column<(typeof caps)[number]>[] = [
    { title: 'CAP OF', cell: ({ strategy }) => strategy ?? 'all' },
    { title: 'WINDOW', cell: ({ window }) => window },
    { title: 'USED', cell: ({ used: amount }) => shortText(amount), right: true },
    { title: 'CAP', cell: ({ cap: { amount } }) => briefDecimal(amount), right: true },
  ]
  return tableLines(table, used, columns)
}

const TRADE_HEADING =
  'fills sold sold_token bought bought_token average_price vs_feed_bps fee fee_token'.split(' ')
const GROUP_HEADING =
  'calls charged_eth carried_eth gas_eth realised_fifo realised_average value_token'.split(' ')

/** Rows for a spreadsheet: one per pair of each group, then one for the group itself. */
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
  const moved = [sold.amount, sold.token, bought.amount, bought.token]
  return [fills, ...moved, averagePrice, vsFeedBps, fee.amount, fee.token]
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
    amount.token,
    amount.amount,
    cost.fifo.amount,
    cost.average.amount,
    value?.amount ?? null,
    valueToken,
  ])
  return [['token', 'held', 'cost_fifo', 'cost_average', 'worth', 'value_token'], ...rows]
}

type Cell = string | number | null

/** Rows of a CSV file, the heading first (RFC 4180, lines end with LF). */
export type CsvRows = readonly (readonly Cell[])[]

/** `quoted`: quotes all cells, or only those that need it. */
export function csvText(rows: CsvRows, quoted: 'all' | 'needed' = 'needed'): string {
  const text = quoted === 'all' ? (cell: Cell) => quotedText(plainText(cell)) : cellText
  return rows.map((row) => `${row.map(text).join(',')}\n`).join('')
}

function cellText(cell: Cell): string {
  const text = plainText(cell)
  return /[",\r\n]/.test(text) ? quotedText(text) : text
}

function quotedText(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}

/** Spreadsheets read text with these first characters as a formula. Names in strategy files may have them. */
function plainText(cell: Cell): string {
  if (cell === null) return ''
  return typeof cell === 'string' && /^[=+@\t]/.test(cell) ? `'${cell}` : `${cell}`
}
