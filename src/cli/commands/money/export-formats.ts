import type { Entry } from '../../../domain/ledger/entry.ts'
import { ETHER, type Token } from '../../../domain/token.ts'
import { amountData } from '../../amount-data.ts'
import type { EntryData } from '../../json/money.ts'
import type { AmountData } from '../../json/shapes.ts'
import type { CsvRows } from './csv.ts'

export function entryData(entry: Entry): EntryData {
  const none = { sold: null, bought: null, cost: null, fee: null, vsFeedBps: null, what: null }
  const { atMs, type, strategy = null, intentId = null } = entry
  const own = { at: new Date(atMs).toISOString(), type, paper: false, strategy, intentId, ...none }
  switch (entry.type) {
    case 'trade': {
      const { paper, sell, buy, paid, received, vsFeedBps = null, fee, txHash = null } = entry
      const moved = { sold: amountData(paid, sell), bought: amountData(received, buy) }
      return { ...own, ...moved, paper, vsFeedBps, fee: amountOrNull(fee, sell), txHash }
    }
    case 'call': {
      const { paper, label, venue, value, charged, txHash = null } = entry
      const sold = value === 0n ? null : amountData(value, ETHER)
      return {
        ...own,
        paper,
        sold,
        cost: amountOrNull(charged, ETHER),
        what: `${label} (${venue})`,
        txHash,
      }
    }
    case 'gas': {
      const { fee, purpose, exchanged, txHash = null } = entry
      const moved = exchanged && {
        sold: amountData(exchanged.amount, exchanged.sell),
        bought: amountData(exchanged.amount, exchanged.buy),
      }
      return { ...own, ...moved, cost: amountOrNull(fee, ETHER), what: purpose, txHash }
    }
    case 'unproven':
      return { ...own, sold: amountData(entry.booked, entry.token), txHash: null }
  }
}

function amountOrNull(amount: bigint | undefined, token: Token): AmountData | null {
  return amount === undefined ? null : amountData(amount, token)
}

const HEADING = [
  ...['at', 'type', 'paper', 'strategy', 'intent', 'sold', 'sold_token', 'bought', 'bought_token'],
  ...['fee', 'fee_token', 'cost', 'cost_token', 'vs_feed_bps', 'what', 'tx_hash'],
]

export function entryRows(entries: readonly Entry[]): CsvRows {
  const rows = entries
    .map(entryData)
    .map((each) => [
      ...[each.at, each.type, each.paper ? 'yes' : 'no', each.strategy, each.intentId],
      ...cells(each.sold),
      ...cells(each.bought),
      ...cells(each.fee),
      ...cells(each.cost),
      ...[each.vsFeedBps, each.what, each.txHash],
    ])
  return [HEADING, ...rows]
}

function cells(amount: AmountData | null): readonly (string | null)[] {
  return [amount?.amount ?? null, amount?.token ?? null]
}

/** Koinly's universal template. Times are UTC. */
const KOINLY = [
  ...['Date', 'Sent Amount', 'Sent Currency', 'Received Amount', 'Received Currency'],
  ...['Fee Amount', 'Fee Currency', 'Net Worth Amount', 'Net Worth Currency'],
  ...['Label', 'Description', 'TxHash'],
]

/** A trade's own fee is in its price: told again it would count twice. What is a cost alone is sent, labelled so. */
export function koinlyRows(entries: readonly Entry[]): CsvRows {
  const rows = entries
    .map(entryData)
    .filter(movesAnything)
    .map((each) => {
      const isCost = each.bought === null && each.sold === null
      const sent = isCost ? each.cost : each.sold
      const fee = isCost ? null : each.cost
      return [
        `${each.at.slice(0, 10)} ${each.at.slice(11, 19)} UTC`,
        ...cells(sent),
        ...cells(each.bought),
        ...cells(fee),
        ...[null, null],
        ...[isCost ? 'cost' : null, descriptionOf(each), each.txHash],
      ]
    })
  return [KOINLY, ...rows]
}

/** CoinTracking's own columns. Times are UTC: its account has to be set to that. */
const TRACKING = [
  ...['Type', 'Buy Amount', 'Buy Currency', 'Sell Amount', 'Sell Currency', 'Fee', 'Fee Currency'],
  ...['Exchange', 'Trade-Group', 'Comment', 'Date', 'Tx-ID'],
]

export function trackingRows(entries: readonly Entry[]): CsvRows {
  const rows = entries
    .map(entryData)
    .filter(movesAnything)
    .map((each) => {
      const isCost = each.bought === null && each.sold === null
      const [year, month, day] = each.at.slice(0, 10).split('-')
      return [
        trackingType(each),
        ...cells(each.bought),
        ...cells(isCost ? each.cost : each.sold),
        ...cells(isCost ? null : each.cost),
        ...['tranched', each.strategy, descriptionOf(each)],
        `${day}.${month}.${year} ${each.at.slice(11, 19)}`,
        each.txHash,
      ]
    })
  return [TRACKING, ...rows]
}

/** A call that cost and carried nothing that is known changes no balance. */
function movesAnything({ sold, bought, cost }: EntryData): boolean {
  return sold !== null || bought !== null || cost !== null
}

function trackingType({ sold, bought }: EntryData): string {
  if (sold === null) return 'Other Fee'
  return bought === null ? 'Spend' : 'Trade'
}

function descriptionOf({ type, intentId, what, paper }: EntryData): string {
  const name = [type === 'unproven' ? 'not proven' : what, intentId].filter((part) => part !== null)
  return `${paper ? 'on paper: ' : ''}${name.join(' ')}`
}
