import { ETHER } from '../../../domain/money/token.ts'
import { printableJson } from '../../../domain/text/outside-text.ts'
import type { Entry } from '../../../journal/ledger/entry.ts'
import type { EntryData } from '../../json/money-outputs.ts'
import type { AmountData } from '../../json/shapes.ts'
import type { ConfigOptions } from '../../load-files.ts'
import { EXIT, type ExitCode, type Io } from '../../process/io.ts'
import { indexOf, whileReading } from '../../reading.ts'
import { amountData, amountOrNull, counted, isoOf } from '../../text/amount-data.ts'
import { type CsvRows, csvText } from './report-text.ts'

export type ExportOptions = ConfigOptions & {
  readonly format: 'csv' | 'jsonl' | 'koinly' | 'cointracking'
  /** Epoch ms. */
  readonly since?: number
  /** Epoch ms, excluded. */
  readonly until?: number
  readonly paper?: boolean
}

/** `tranched export`: the ledger, one entry per line. Paper trades are not income: tax formats omit them by default. */
export function exportEntries(options: ExportOptions, io: Io): Promise<ExitCode> {
  return whileReading(options, io, async (reading) => {
    const { since: sinceMs = Number.NEGATIVE_INFINITY, until: untilMs = Infinity } = options
    const format = options.json === true ? 'jsonl' : options.format
    const index = await indexOf(reading, io)
    const { entries } = await index.ledger({ valueToken: undefined, sinceMs })
    const wanted = entries.filter(({ atMs }) => atMs >= sinceMs && atMs < untilMs)
    const isForTaxes = format === 'koinly' || format === 'cointracking'
    const real = wanted.filter((entry) => !('paper' in entry && entry.paper))
    const left = wanted.length - real.length
    const shown = isForTaxes && options.paper !== true ? real : wanted
    if (shown.length < wanted.length)
      io.stderr.write(
        `export: ${counted(left, 'fill')} ${left === 1 ? 'is' : 'are'} on paper (dry-run) and left out; --paper includes them\n`,
      )
    io.stdout.write(textOf(shown, format))
    return EXIT.done
  })
}

function textOf(entries: readonly Entry[], format: ExportOptions['format']): string {
  switch (format) {
    case 'csv':
      return csvText(entryRows(entries))
    case 'jsonl':
      return entries.map((entry) => `${printableJson(entryData(entry))}\n`).join('')
    case 'koinly':
      return csvText(koinlyRows(entries))
    case 'cointracking':
      return csvText(trackingRows(entries), 'all')
  }
}

function entryData(entry: Entry): EntryData {
  const none = { sold: null, bought: null, cost: null, fee: null, vsFeedBps: null, what: null }
  const { atMs, type, strategy = null, intentId = null } = entry
  const own = { at: isoOf(atMs), type, paper: false, strategy, intentId, ...none }
  switch (entry.type) {
    case 'trade': {
      const { paper, sell, buy, paid, received, vsFeedBps = null, fee, txHash = null } = entry
      const moved = { sold: amountData(paid, sell), bought: amountData(received, buy) }
      return { ...own, ...moved, paper, vsFeedBps, fee: amountOrNull(fee, sell), txHash }
    }
    case 'call': {
      const { paper, label, venue, value, charged, txHash = null } = entry
      const sold = value === 0n ? null : amountData(value, ETHER)
      const what = `${label} (${venue})`
      return { ...own, paper, sold, cost: amountOrNull(charged, ETHER), what, txHash }
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

const HEADING =
  'at type paper strategy intent sold sold_token bought bought_token fee fee_token cost cost_token vs_feed_bps what tx_hash'

export function entryRows(entries: readonly Entry[]): CsvRows {
  const rows = entries
    .map(entryData)
    .map((each) => [
      each.at,
      each.type,
      each.paper ? 'yes' : 'no',
      each.strategy,
      each.intentId,
      ...[each.sold, each.bought, each.fee, each.cost].flatMap(cells),
      each.vsFeedBps,
      each.what,
      each.txHash,
    ])
  return [HEADING.split(' '), ...rows]
}

function cells(amount: AmountData | null): readonly (string | null)[] {
  return [amount?.amount ?? null, amount?.token ?? null]
}

/** Koinly's universal template. Times are UTC. */
const KOINLY =
  'Date,Sent Amount,Sent Currency,Received Amount,Received Currency,Fee Amount,Fee Currency,Net Worth Amount,Net Worth Currency,Label,Description,TxHash'

export function koinlyRows(entries: readonly Entry[]): CsvRows {
  const rows = movesOf(entries).map(({ each, isCost, sent, fee }) => [
    `${each.at.slice(0, 10)} ${each.at.slice(11, 19)} UTC`,
    ...[sent, each.bought, fee, null].flatMap(cells),
    isCost ? 'cost' : null,
    descriptionOf(each),
    each.txHash,
  ])
  return [KOINLY.split(','), ...rows]
}

/** CoinTracking's own columns. Times are UTC, and the CoinTracking account must be set to UTC. */
const TRACKING =
  'Type,Buy Amount,Buy Currency,Sell Amount,Sell Currency,Fee,Fee Currency,Exchange,Trade-Group,Comment,Date,Tx-ID'

export function trackingRows(entries: readonly Entry[]): CsvRows {
  const rows = movesOf(entries).map(({ each, sent, fee }) => {
    const [year, month, day] = each.at.slice(0, 10).split('-')
    return [
      trackingType(each),
      ...[each.bought, sent, fee].flatMap(cells),
      'tranched',
      each.strategy,
      descriptionOf(each),
      `${day}.${month}.${year} ${each.at.slice(11, 19)}`,
      each.txHash,
    ]
  })
  return [TRACKING.split(','), ...rows]
}

/**
 * Entries that change a balance, for tax software. Omits calls without cost and value. A trade's own fee is part of its
 * price, so it is not listed again. A pure cost counts as sent.
 */
function movesOf(entries: readonly Entry[]) {
  return entries.map(entryData).flatMap((each) => {
    const { sold, bought, cost } = each
    if (sold === null && bought === null && cost === null) return []
    const isCost = sold === null && bought === null
    return [{ each, isCost, sent: isCost ? cost : sold, fee: isCost ? null : cost }]
  })
}

function trackingType({ sold, bought }: EntryData): string {
  if (sold === null) return 'Other Fee'
  return bought === null ? 'Spend' : 'Trade'
}

function descriptionOf({ type, intentId, what, paper }: EntryData): string {
  const name = [type === 'unproven' ? 'not proven' : what, intentId].filter((part) => part !== null)
  return `${paper ? 'on paper: ' : ''}${name.join(' ')}`
}
