import type { Fetched } from '../../../adapters/prices/chain-rounds.ts'
import { strangerText } from '../../../domain/nearest.ts'
import { type PriceFeed, ROUND_AHEAD_MAX_SECONDS } from '../../../domain/price.ts'
import type { Settings } from '../../../domain/settings.ts'
import type { Pair } from '../../../domain/token.ts'
import { fetchPrices, priceFileOf, priceProblem } from '../../compose/prices.ts'
import { EXIT, type ExitCode, type Io, printFailure, printJson } from '../../io.ts'
import type { FetchData } from '../../json/backtest-report.ts'
import { type ConfigOptions, reportProblems, settingsForReading } from '../../load.ts'
import { unreadText } from '../../market.ts'
import { FlagFault } from './flags.ts'
import { type Ticker, tickerTo } from './ticker.ts'

export type FetchOptions = ConfigOptions & {
  /** Epoch ms. */
  readonly from?: number
  readonly to?: number
  readonly prices: string
}

type FetchRow = FetchData['feeds'][number]

/**
 * `tranched backtest fetch [PAIR...]`: past prices of the config's feeds from their chains, into the files that `--prices` reads.
 * Exit code 1 where a feed could not be read to its end, or somebody stopped it; the next run goes on from there.
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
    return tell(rows, options, io)
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

/** Those that are named, or all of the config. */
function chosen({ prices }: Settings, pairs: readonly string[]): readonly PriceFeed[] {
  const known = [...prices.keys()]
  const isKnown = (pair: string): pair is Pair => prices.has(pair as Pair)
  const strange = pairs.find((pair) => !isKnown(pair))
  if (strange !== undefined)
    throw new FlagFault('pair', strangerText(strange, known), 'a pair below `prices` of the config')
  if (known.length === 0)
    throw new FlagFault('pair', 'the config has no price feeds', 'feeds below `prices` of it')
  return [...prices.values()].filter(({ pair }) => pairs.length === 0 || pairs.includes(pair))
}

type Period = { readonly fromSeconds: number; readonly toSeconds: number }

function periodOf({ from, to }: FetchOptions, nowMs: number): Period {
  if (from === undefined)
    throw new FlagFault('from', 'the period is not said', 'a day such as --from 2025-01-01')
  const fromSeconds = Math.ceil(from / 1000)
  // Later rounds are from the future. A chain may be a little ahead of the clock here.
  const latest = Math.floor(nowMs / 1000) + ROUND_AHEAD_MAX_SECONDS
  const toSeconds = Math.min(to === undefined ? latest : Math.floor(to / 1000), latest)
  if (Math.min(toSeconds, nowMs / 1000) <= fromSeconds)
    throw new FlagFault('to', 'the period ends before it begins', 'a moment after --from')
  return { fromSeconds, toSeconds }
}

type Fetching = Period & {
  readonly settings: Settings
  readonly options: FetchOptions
  readonly ticker: Ticker
  readonly signal: AbortSignal
}

async function fetchFeed(feed: PriceFeed, fetching: Fetching): Promise<FetchRow> {
  const { settings, options, ticker, ...rest } = fetching
  const { pair } = feed
  const chain = settings.chains.get(feed.base.chain)
  if (chain === undefined) throw new Error(`the config has no chain ${feed.base.chain}`)
  const place = { feed, dir: options.prices }
  const fetched = await fetchPrices({
    ...{ ...place, ...rest, chain },
    onProgress: ({ share, rounds, atSeconds }) =>
      ticker.tell(
        () =>
          `fetch: ${pair} ${Math.floor(share * 100)}%, ${rounds} rounds, up to ${short(instant(atSeconds))}`,
      ),
  })
  return rowOf(fetched, { pair, file: priceFileOf(place), settings })
}

function rowOf(
  { end, added, skipped, removed, fromSeconds, toSeconds }: Fetched,
  { pair, file, settings }: { readonly pair: Pair; readonly file: string; settings: Settings },
): FetchRow {
  return {
    ...{ pair, file, added, skipped, removed, end: end.tag },
    fromAt: fromSeconds === undefined ? null : instant(fromSeconds),
    untilAt: toSeconds === undefined ? null : instant(toSeconds),
    detail: end.tag === 'unread' ? unreadText(settings, end.message) : null,
  }
}

function instant(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}

function tell(feeds: readonly FetchRow[], options: FetchOptions, io: Io): ExitCode {
  const ok = feeds.every(({ end }) => end === 'whole')
  const data: FetchData = { ok, message: messageOf(feeds), feeds, problems: [] }
  if (options.json) printJson<FetchData>(io, data)
  else for (const line of [...feeds.map(lineOf), data.message]) io.stdout.write(`${line}\n`)
  return ok ? EXIT.done : EXIT.failed
}

function messageOf(feeds: readonly FetchRow[]): string {
  const unread = feeds.filter(({ end }) => end === 'unread').map(({ pair }) => pair)
  const again = 'the same command goes on from there'
  if (feeds.some(({ end }) => end === 'stopped')) return `stopped; ${again}`
  if (unread.length > 0) return `${unread.join(', ')} could not be read to the end; ${again}`
  return `prices of ${feeds.length} ${feeds.length === 1 ? 'feed' : 'feeds'} are there`
}

function lineOf({ pair, file, added, skipped, removed, ...row }: FetchRow): string {
  const { fromAt, untilAt, detail } = row
  const parts = [
    fromAt === null || untilAt === null ? 'no price' : `${short(fromAt)} to ${short(untilAt)}`,
    `${added} rounds written`,
    ...(skipped > 0 ? [`${skipped} that were no price left out`] : []),
    ...(removed > 0 ? [`${removed} that a reorganisation undid taken away`] : []),
    ...(detail === null ? [] : [detail]),
  ]
  return `${pair}  ${file}  ${parts.join('; ')}`
}

/** A moment for people. */
function short(instantText: string): string {
  return instantText.slice(0, 16).replace('T', ' ')
}
