import type { Token } from '../../domain/money/token.ts'
import { DAY_SECONDS, dayOfWeek, epochDay, formatDay } from '../../domain/schedule/civil-date.ts'
import { wallSecondsAt } from '../../domain/schedule/timezone.ts'
import type { Entry, Trade } from './entry.ts'
import { Positions } from './positions.ts'

/** Trades of one pair. Amounts in base units. */
export type Traded = {
  readonly sell: Token
  readonly buy: Token
  fills: number
  paid: bigint
  received: bigint
  /** The service's part of the paid amount, as far as reported. */
  fee: bigint
  /** Amount paid with a known feed price, and its product with hundredths of basis points, for the average. */
  pricedPaid: bigint
  bpsHundredths: bigint
}

/** Totals of a group of entries. */
export type Figures = {
  fills: number
  calls: number
  /** Orders booked as spent without proof of what they bought. */
  unproven: number
  readonly trades: Map<string, Traded>
  readonly unprovenAmounts: Map<string, { readonly token: Token; amount: bigint }>
  carried: bigint
  /** Wei charged by the aggregation service, or taken by direct calls. */
  charged: bigint
  /** Calls with an unknown charge. */
  uncharged: number
  /** Wei taken by the chain for our own transactions. */
  gas: bigint
  /** In base units of the value token, by both cost methods; undefined without a value token. */
  realised: { fifo: bigint; average: bigint } | undefined
}

export type Grouping = 'day' | 'week' | 'month' | 'strategy'

/** Holdings and their cost by both methods. */
export type CostBases = { readonly fifo: Positions; readonly average: Positions }

export type Account = {
  readonly total: Figures
  /** Sorted by key; empty without a grouping. */
  readonly groups: ReadonlyMap<string, Figures>
  /** Undefined without a value token. */
  readonly costBases: CostBases | undefined
}

export type AccountQuery = {
  /** Token that everything is valued in; undefined if the config has no price feed. */
  readonly valueToken: Token | undefined
  /** Start of the figures, epoch ms. Earlier purchases still determine costs. */
  readonly sinceMs?: number | undefined
  readonly by?: Grouping | undefined
  /** IANA time zone of days, weeks and months. */
  readonly timezone: string
}

/** Adds up entries, oldest first. `before`: cost bases of earlier ones, which are changed. */
export function accountOf(
  entries: Iterable<Entry>,
  query: AccountQuery,
  before?: CostBases,
): Account {
  const account = createAccount(query, before)
  for (const entry of entries) account.add(entry)
  return account.sums()
}

/** The same, entry by entry, for readers that pause in between. */
export function createAccount(query: AccountQuery, before?: CostBases) {
  const { valueToken, sinceMs = Number.NEGATIVE_INFINITY, by } = query
  const costBases =
    valueToken &&
    (before ?? {
      fifo: new Positions('fifo', valueToken),
      average: new Positions('average', valueToken),
    })
  const total = noFigures(costBases)
  const groups = new Map<string, Figures>()
  const add = (entry: Entry): void => {
    const realised =
      entry.type === 'trade' && costBases
        ? { fifo: costBases.fifo.take(entry), average: costBases.average.take(entry) }
        : undefined
    if (entry.atMs < sinceMs) return
    addTo(total, entry, realised)
    if (by === undefined) return
    const key = keyOf(entry, by, query.timezone)
    const group = groups.get(key) ?? noFigures(costBases)
    groups.set(key, group)
    addTo(group, entry, realised)
  }
  const sums = (): Account => {
    return { total, groups: new Map([...groups].sort(([a], [b]) => (a < b ? -1 : 1))), costBases }
  }
  return { add, sums }
}

function noFigures(costBases: CostBases | undefined): Figures {
  return {
    ...{ fills: 0, calls: 0, unproven: 0, trades: new Map(), unprovenAmounts: new Map() },
    ...{ carried: 0n, charged: 0n, uncharged: 0, gas: 0n },
    realised: costBases && { fifo: 0n, average: 0n },
  }
}

function addTo(figures: Figures, entry: Entry, realised: Figures['realised']): void {
  switch (entry.type) {
    case 'trade':
      figures.fills += 1
      addTrade(figures.trades, entry)
      if (figures.realised !== undefined && realised !== undefined) {
        figures.realised.fifo += realised.fifo
        figures.realised.average += realised.average
      }
      return
    case 'call':
      figures.calls += 1
      figures.carried += entry.value
      figures.charged += entry.charged ?? 0n
      if (entry.charged === undefined && !entry.paper) figures.uncharged += 1
      return
    case 'gas':
      figures.gas += entry.fee ?? 0n
      return
    case 'unproven': {
      const { token, booked } = entry
      figures.unproven += 1
      const known = figures.unprovenAmounts.get(token.symbol) ?? { token, amount: 0n }
      figures.unprovenAmounts.set(token.symbol, known)
      known.amount += booked
      return
    }
  }
}

export function addTrade(trades: Figures['trades'], trade: Trade): void {
  const { sell, buy, paid, received, fee, vsFeedBps } = trade
  const pair = `${sell.symbol} ${buy.symbol}`
  const none = { fills: 0, paid: 0n, received: 0n, fee: 0n, pricedPaid: 0n, bpsHundredths: 0n }
  const traded = trades.get(pair) ?? { sell, buy, ...none }
  trades.set(pair, traded)
  traded.fills += 1
  traded.paid += paid
  traded.received += received
  traded.fee += fee ?? 0n
  if (vsFeedBps === undefined) return
  traded.pricedPaid += paid
  traded.bpsHundredths += BigInt(Math.round(vsFeedBps * 100)) * paid
}

/** Average basis points against the feed by paid amount, to hundredths; undefined without a feed price. */
export function averageBps({ pricedPaid, bpsHundredths }: Traded): number | undefined {
  if (pricedPaid === 0n) return undefined
  return Number.parseInt((bpsHundredths / pricedPaid).toString(), 10) / 100
}

function keyOf(entry: Entry, by: Grouping, timezone: string): string {
  if (by === 'strategy') return entry.strategy ?? '(account)'
  const wallSeconds = wallSecondsAt(timezone, Math.floor(entry.atMs / 1000))
  const day = formatDay(wallSeconds)
  if (by === 'day') return day
  return by === 'month'
    ? day.slice(0, 'YYYY-MM'.length)
    : weekOf(Math.floor(wallSeconds / DAY_SECONDS))
}

/** `2026-W48`: weeks begin on Monday and belong to the year of their Thursday (ISO 8601). */
function weekOf(day: number): string {
  const thursday = day - ((dayOfWeek(day) + 6) % 7) + 3
  const year = Number.parseInt(formatDay(thursday * DAY_SECONDS).slice(0, 'YYYY'.length), 10)
  const week = Math.floor((thursday - epochDay({ year, month: 1, day: 1 })) / 7) + 1
  return `${year}-W${`${week}`.padStart(2, '0')}`
}
