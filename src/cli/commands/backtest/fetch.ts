import { join } from 'node:path'
import { type FetchProgress, fetchRounds } from '../../../backtest/price-files/chain-rounds.ts'
import { priceFileName } from '../../../backtest/price-files/price-dir.ts'
import { PriceFileError } from '../../../backtest/price-files/price-file-error.ts'
import { openLargeCalls } from '../../../chain/node/large-calls.ts'
import { type PriceFeed, ROUND_AHEAD_MAX_SECONDS } from '../../../domain/money/price.ts'
import type { Pair } from '../../../domain/money/token.ts'
import type { Settings } from '../../../domain/settings.ts'
import { strangerText } from '../../../domain/text/nearest.ts'
import { chainOf } from '../../compose/services.ts'
import { withClock } from '../../compose/state.ts'
import type { FetchData } from '../../json/backtest-outputs.ts'
import { type ConfigOptions, settingsForReading } from '../../load-files.ts'
import { unreadText } from '../../market.ts'
import { type ExitCode, type Io, print } from '../../process/io.ts'
import { orRefuse, refusalOf } from '../../process/refusal.ts'
import { counted, isoOf } from '../../text/amount-data.ts'
import { FlagFault } from './flags.ts'
import { type Ticker, tickerTo } from './ticker.ts'

type FetchOptions = ConfigOptions & {
  /** Epoch ms. */
  readonly from?: number
  readonly to?: number
  readonly prices: string
}

type FetchRow = FetchData['feeds'][number]

/**
 * `tranched backtest fetch [PAIR...]`: reads past prices of the config's feeds from their chains into the files that
 * `--prices` reads. Exit code 1 if a signal came or a feed was not read to its end; the next run continues there.
 */
export async function runFetch(
  pairs: readonly string[],
  options: FetchOptions,
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  const { settings } = orRefuse(settingsForReading(options, io))
  const feeds = chosen(settings, pairs)
  const period = periodOf(options, nowMs)
  const rows: FetchRow[] = []
  const stopping = new AbortController()
  const offSignal = io.onSignal((name) => stopping.abort(name))
  const ticker = tickerTo(io, options)
  try {
    for (const feed of feeds) {
      const { signal } = stopping
      const order = { ...period, settings, options, ticker, signal }
      const row = await fetchFeed(feed, order).catch(refuseForPrices)
      rows.push(row)
      if (row.end === 'stopped') break
    }
  } finally {
    ticker.end()
    offSignal()
  }
  const ok = rows.every(({ end }) => end === 'whole')
  const message = messageOf(rows)
  return print<FetchData>(io, options, { ok, message, feeds: rows }, () => [
    ...rows.map(lineOf),
    message,
  ])
}

function fault(flag: string, message: string, expected: string): FlagFault {
  return new FlagFault(flag, message, expected, 'backtest fetch')
}

function chosen({ prices }: Settings, pairs: readonly string[]): readonly PriceFeed[] {
  const known = [...prices.keys()]
  const isKnown = (pair: string): pair is Pair => prices.has(pair as Pair)
  const strange = pairs.find((pair) => !isKnown(pair))
  if (strange !== undefined)
    throw fault('pair', strangerText(strange, known), 'a pair under `prices` in the config')
  if (known.length === 0)
    throw fault('pair', 'the config has no price feeds', 'feeds under `prices`')
  return [...prices.values()].filter(({ pair }) => pairs.length === 0 || pairs.includes(pair))
}

type Period = { readonly fromSeconds: number; readonly toSeconds: number }

function periodOf({ from, to }: FetchOptions, nowMs: number): Period {
  if (from === undefined)
    throw fault('from', 'no start of the period is given', 'a day such as --from 2025-01-01')
  const fromSeconds = Math.ceil(from / 1000)
  // Later rounds are in the future. A chain may be slightly ahead of this clock.
  const latest = Math.floor(nowMs / 1000) + ROUND_AHEAD_MAX_SECONDS
  const toSeconds = Math.min(to === undefined ? latest : Math.floor(to / 1000), latest)
  if (Math.min(toSeconds, nowMs / 1000) <= fromSeconds)
    throw fault('to', 'the period ends before it begins', 'a time after --from')
  return { fromSeconds, toSeconds }
}

async function fetchFeed(
  feed: PriceFeed,
  given: Period & {
    readonly settings: Settings
    readonly options: FetchOptions
    readonly ticker: Ticker
    readonly signal: AbortSignal
  },
): Promise<FetchRow> {
  const { settings, options, ticker, ...order } = given
  const { pair } = feed
  const { chainId, rpcUrls } = chainOf(settings, feed.base.chain)
  const file = join(options.prices, priceFileName(pair))
  const { end, added, skipped, removed, fromSeconds, toSeconds } = await withClock(
    async (clock) => {
      const { call, close } = openLargeCalls({ chainId, rpcUrls, clock })
      const onProgress = ({ share, rounds, atSeconds }: FetchProgress) =>
        ticker.show(
          () =>
            `fetch: ${pair} ${Math.floor(share * 100)}%, ${rounds} rounds, up to ${short(isoOf(atSeconds * 1000))}`,
        )
      try {
        const ports = { clock, chainId, file, call, feed: feed.feed, onProgress }
        return await fetchRounds({ ...order, ...ports })
      } finally {
        await close()
      }
    },
  )
  return {
    pair,
    file,
    fromAt: fromSeconds === undefined ? null : isoOf(fromSeconds * 1000),
    untilAt: toSeconds === undefined ? null : isoOf(toSeconds * 1000),
    added,
    skipped,
    removed,
    end: end.tag,
    detail: end.tag === 'unread' ? unreadText(settings, end.message) : null,
  }
}

function messageOf(feeds: readonly FetchRow[]): string {
  const unread = feeds.filter(({ end }) => end === 'unread').map(({ pair }) => pair)
  const again = 'the same command continues from there'
  if (feeds.some(({ end }) => end === 'stopped')) return `stopped; ${again}`
  if (unread.length > 0) return `${unread.join(', ')} could not be read to the end; ${again}`
  return `prices of ${counted(feeds.length, 'feed')} are complete`
}

function lineOf({ pair, file, added, skipped, removed, ...row }: FetchRow): string {
  const { fromAt, untilAt, detail } = row
  const parts = [
    fromAt === null || untilAt === null ? 'no price' : `${short(fromAt)} to ${short(untilAt)}`,
    `${added} rounds written`,
    ...(skipped > 0 ? [`${skipped} without a valid price left out`] : []),
    ...(removed > 0 ? [`${removed} undone by a reorganisation removed`] : []),
    ...(detail === null ? [] : [detail]),
  ]
  return `${pair}  ${file}  ${parts.join('; ')}`
}

function short(instantText: string): string {
  return instantText.slice(0, 16).replace('T', ' ')
}

/** Throws a price file's fault as a problem in the operator's files; rethrows other errors. */
export function refuseForPrices(error: unknown): never {
  if (!(error instanceof PriceFileError)) throw error
  const { file, line, detail: message, remedy: expected, text } = error.fault
  const isPlaced = line > 0
  const frame = isPlaced && text !== '' ? `${line} | ${text}` : ''
  throw refusalOf([{ file, line, column: isPlaced ? 1 : 0, path: '', message, expected, frame }])
}
