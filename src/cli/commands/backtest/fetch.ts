import { join } from 'node:path'
import { type FetchProgress, fetchRounds } from '../../../backtest/price-files/chain-rounds.ts'
import { priceFileName } from '../../../backtest/price-files/price-dir.ts'
import { PriceFileError } from '../../../backtest/price-files/price-file-error.ts'
import { openLargeCalls } from '../../../chain/node/large-calls.ts'
import type { Problem } from '../../../config/yaml/problem.ts'
import { type PriceFeed, ROUND_AHEAD_MAX_SECONDS } from '../../../domain/money/price.ts'
import type { Pair } from '../../../domain/money/token.ts'
import type { Settings } from '../../../domain/settings.ts'
import { strangerText } from '../../../domain/text/nearest.ts'
import { withClock } from '../../compose/state.ts'
import type { FetchData } from '../../json/backtest-outputs.ts'
import { type ConfigOptions, reportProblems, settingsForReading } from '../../load-files.ts'
import { unreadText } from '../../market.ts'
import { EXIT, type ExitCode, type Io, print, printFailure } from '../../process/io.ts'
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
 * `tranched backtest fetch [PAIR...]`: reads past prices of the config's feeds from their chains into the files that `--prices`
 * reads. Exit code 1 if a feed was not read to its end or a signal came; the next run continues from there.
 */
export async function runFetch(
  pairs: readonly string[],
  options: FetchOptions,
  io: Io,
  nowMs: number,
): Promise<ExitCode> {
  const found = settingsForReading(options, io)
  if (!found.ok) return reportProblems(found.problems, io, options)
  const { settings } = found
  const stopping = new AbortController()
  const offSignal = io.onSignal((name) => stopping.abort(name))
  const ticker = tickerTo(io, options)
  try {
    const feeds = chosen(settings, pairs)
    const period = periodOf(options, nowMs)
    const rows: FetchRow[] = []
    for (const feed of feeds) {
      const { signal } = stopping
      const row = await fetchFeed(feed, { ...period, settings, options, ticker, signal })
      rows.push(row)
      if (row.end === 'stopped') break
    }
    ticker.end()
    const ok = rows.every(({ end }) => end === 'whole')
    const message = messageOf(rows)
    return print<FetchData>(io, options, { ok, message, feeds: rows, problems: [] }, () => [
      ...rows.map(lineOf),
      message,
    ])
  } catch (error) {
    ticker.end()
    const problem = priceProblem(error)
    if (problem !== undefined) return reportProblems([problem], io, options)
    if (!(error instanceof FlagFault)) throw error
    const { message } = error
    return printFailure(io, options, { by: 'backtest fetch', message, code: EXIT.usage })
  } finally {
    offSignal()
  }
}

function chosen({ prices }: Settings, pairs: readonly string[]): readonly PriceFeed[] {
  const known = [...prices.keys()]
  const isKnown = (pair: string): pair is Pair => prices.has(pair as Pair)
  const strange = pairs.find((pair) => !isKnown(pair))
  if (strange !== undefined)
    throw new FlagFault('pair', strangerText(strange, known), 'a pair under `prices` in the config')
  if (known.length === 0)
    throw new FlagFault('pair', 'the config has no price feeds', 'feeds under `prices`')
  return [...prices.values()].filter(({ pair }) => pairs.length === 0 || pairs.includes(pair))
}

type Period = { readonly fromSeconds: number; readonly toSeconds: number }

function periodOf({ from, to }: FetchOptions, nowMs: number): Period {
  if (from === undefined)
    throw new FlagFault(
      'from',
      'no start of the period is given',
      'a day such as --from 2025-01-01',
    )
  const fromSeconds = Math.ceil(from / 1000)
  // Later rounds are from the future. A chain may be a little ahead of the clock here.
  const latest = Math.floor(nowMs / 1000) + ROUND_AHEAD_MAX_SECONDS
  const toSeconds = Math.min(to === undefined ? latest : Math.floor(to / 1000), latest)
  if (Math.min(toSeconds, nowMs / 1000) <= fromSeconds)
    throw new FlagFault('to', 'the period ends before it begins', 'a time after --from')
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
  const chain = settings.chains.get(feed.base.chain)
  if (chain === undefined) throw new Error(`the config has no chain ${feed.base.chain}`)
  const { chainId, rpcUrls } = chain
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

/** A fault of a price file as a problem of the operator's files; undefined for other errors. */
export function priceProblem(error: unknown): Problem | undefined {
  if (!(error instanceof PriceFileError)) return undefined
  const { file, line, detail: message, remedy: expected, text } = error
  const isPlaced = line > 0
  const frame = isPlaced && text !== '' ? `${line} | ${text}` : ''
  return { file, line, column: isPlaced ? 1 : 0, path: '', message, expected, frame }
}
