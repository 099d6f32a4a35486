import type { PriceBounds } from './strategy.ts'
import type { Pair, Token } from './token.ts'
import { type BaseUnits, compareRatio, type Ratio } from './units.ts'

/** A configured Chainlink-style feed: price of one whole `base` in whole `quote`. */
export type PriceFeed = {
  readonly pair: Pair
  readonly base: Token
  readonly quote: Token
  readonly feed: `0x${string}`
  readonly maxAgeSeconds: number
  readonly sequencerFeed: `0x${string}` | undefined
}

/** What a feed answered at one block, before any judgement. `answer` carries `decimals` places. */
export type FeedReading = {
  readonly answer: bigint
  readonly decimals: number
  readonly updatedAtSeconds: number
  /** The L2 sequencer's feed: 0 is up. Undefined where the feed has no sequencer feed. */
  readonly sequencer: { readonly answer: bigint; readonly startedAtSeconds: number } | undefined
}

/** An accepted price: quote base units per one base base unit, exact. */
export type Price = {
  readonly pair: Pair
  readonly ratio: Ratio
  readonly updatedAtSeconds: number
}

export type PriceRefusal = 'price-missing' | 'price-invalid' | 'price-stale' | 'sequencer-down'

/** After an L2 sequencer comes back, feeds may still lag: wait this long (the usual practice for such feeds). */
export const SEQUENCER_GRACE_SECONDS = 3600

/** Judges a reading at `nowSeconds`, the time of its block: positive answer, fresh enough, sequencer up. */
export function acceptPrice(
  feed: PriceFeed,
  reading: FeedReading | undefined,
  nowSeconds: number,
): { ok: true; price: Price } | { ok: false; reason: PriceRefusal } {
  if (reading === undefined) return { ok: false, reason: 'price-missing' }
  if (reading.answer <= 0n || reading.decimals < 0 || reading.decimals > 36)
    return { ok: false, reason: 'price-invalid' }
  if (!sequencerIsUp(feed, reading, nowSeconds)) return { ok: false, reason: 'sequencer-down' }
  if (nowSeconds - reading.updatedAtSeconds > feed.maxAgeSeconds)
    return { ok: false, reason: 'price-stale' }
  const ratio: Ratio = {
    num: reading.answer * 10n ** BigInt(feed.quote.decimals),
    den: 10n ** BigInt(reading.decimals + feed.base.decimals),
  }
  return { ok: true, price: { pair: feed.pair, ratio, updatedAtSeconds: reading.updatedAtSeconds } }
}

/** A configured sequencer feed that gave no answer proves nothing, so the sequencer counts as down. */
function sequencerIsUp(feed: PriceFeed, reading: FeedReading, nowSeconds: number): boolean {
  if (reading.sequencer === undefined) return feed.sequencerFeed === undefined
  return (
    reading.sequencer.answer === 0n &&
    nowSeconds - reading.sequencer.startedAtSeconds >= SEQUENCER_GRACE_SECONDS
  )
}

/** Feeds whose prices, multiplied, give one price. Each leg says whether its feed is turned over first. */
export type PricePath = readonly { readonly feed: PriceFeed; readonly inverted: boolean }[]

/** The price of a pair of tokens: sell base units per one buy base unit, by its freshness the oldest leg's. */
export type PairPrice = {
  readonly ratio: Ratio
  readonly updatedAtSeconds: number
  readonly pairs: readonly Pair[]
}

export type PairPriceAnswer =
  | { readonly ok: true; readonly price: PairPrice }
  | {
      readonly ok: false
      readonly reason: PriceRefusal
      /** The feed that gave no usable answer; undefined where none is configured. */
      readonly pair: Pair | undefined
    }

/** More feeds than this in one price add up their errors and ages beyond use. */
const PATH_LEGS_MAX = 3

/**
 * Finds the shortest path of feeds between two tokens: a direct feed in either direction, or a cross rate over tokens
 * in between. Undefined where the feeds do not connect them.
 */
export function createPricePaths(
  feeds: Iterable<PriceFeed>,
): (sell: Token, buy: Token) => PricePath | undefined {
  const list = [...feeds]
  const known = new Map<string, PricePath | undefined>()
  return (sell, buy) => {
    const key = `${sell.address} ${buy.address}`
    if (!known.has(key)) known.set(key, shortestPath(list, sell, buy))
    return known.get(key)
  }
}

type PathEnd = { readonly at: Token; readonly path: PricePath }

function shortestPath(feeds: readonly PriceFeed[], sell: Token, buy: Token): PricePath | undefined {
  const seen = new Set([buy.address])
  let ends: readonly PathEnd[] = [{ at: buy, path: [] }]
  for (let legs = 1; legs <= PATH_LEGS_MAX; legs += 1) {
    ends = ends
      .flatMap((end) => feeds.flatMap((feed) => extended(end, feed)))
      .filter(({ at }) => !seen.has(at.address))
    const found = ends.find(({ at }) => at.address === sell.address)
    if (found !== undefined) return found.path
    for (const { at } of ends) seen.add(at.address)
  }
  return undefined
}

/** One leg further: from the token at the end of a path to the other side of a feed that has it. */
function extended({ at, path }: PathEnd, feed: PriceFeed): readonly PathEnd[] {
  if (feed.base.address === at.address)
    return [{ at: feed.quote, path: [...path, { feed, inverted: false }] }]
  if (feed.quote.address === at.address)
    return [{ at: feed.base, path: [...path, { feed, inverted: true }] }]
  return []
}

/** Judges every leg of a path at `nowSeconds`, the time of the block that was read. */
export function acceptPath(
  path: PricePath | undefined,
  readings: ReadonlyMap<Pair, FeedReading>,
  nowSeconds: number,
): PairPriceAnswer {
  if (path === undefined || path.length === 0)
    return { ok: false, reason: 'price-missing', pair: undefined }
  let ratio: Ratio = { num: 1n, den: 1n }
  let updatedAtSeconds = Number.POSITIVE_INFINITY
  for (const { feed, inverted } of path) {
    const accepted = acceptPrice(feed, readings.get(feed.pair), nowSeconds)
    if (!accepted.ok) return { ok: false, reason: accepted.reason, pair: feed.pair }
    const { num, den } = accepted.price.ratio
    ratio = inverted
      ? { num: ratio.num * den, den: ratio.den * num }
      : { num: ratio.num * num, den: ratio.den * den }
    updatedAtSeconds = Math.min(updatedAtSeconds, accepted.price.updatedAtSeconds)
  }
  return { ok: true, price: { ratio, updatedAtSeconds, pairs: path.map(({ feed }) => feed.pair) } }
}

/**
 * How much more was received than the feeds' price (sell base units per buy base unit) gives for what was paid, in basis
 * points rounded down to hundredths; below zero where it was less. Undefined without a price, or where nothing was paid.
 */
export function againstFeedBps(fill: {
  readonly paid: BaseUnits
  readonly received: BaseUnits
  readonly feed: Ratio | undefined
}): number | undefined {
  const { paid, received, feed } = fill
  if (feed === undefined || paid === 0n || feed.den === 0n) return undefined
  const fair = paid * feed.den
  const more = (received * feed.num - fair) * 1_000_000n
  const parts = more < 0n ? -((-more + fair - 1n) / fair) : more / fair
  return Number.parseInt(parts.toString(), 10) / 100
}

/** The bound that a price breaks, and its level; undefined where it keeps to both. */
export function brokenBound(
  price: Ratio,
  { min, max }: PriceBounds,
): { readonly bound: 'min' | 'max'; readonly level: Ratio } | undefined {
  if (min !== undefined && compareRatio(price, min) < 0) return { bound: 'min', level: min }
  if (max !== undefined && compareRatio(price, max) > 0) return { bound: 'max', level: max }
  return undefined
}
