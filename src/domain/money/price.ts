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

/** A round of a Chainlink-style feed, as far as its price depends on it. */
export type RoundData = {
  readonly answer: bigint
  readonly updatedAtSeconds: number
  /** Of the round, and of the one that its answer is from. Undefined where they are not known, as in a price file. */
  readonly id?: bigint | undefined
  readonly answeredInId?: bigint | undefined
}

/** What a feed answered at one block, before any judgement. `answer` carries `decimals` places. */
export type FeedReading = RoundData & {
  readonly decimals: number
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

/** How far a round may be ahead of the time of its block: oracles that stamp rounds themselves have clocks of their own. */
export const ROUND_AHEAD_MAX_SECONDS = 60

/**
 * Why a round is no price at `nowSeconds`, a time at which it was on chain; undefined where it is one, whatever its age.
 *
 * A round without an answer above 0 or without `updatedAt` is not complete, and one from the future tells no age. An answer that is
 * carried over from an earlier round (old aggregators do it when a round times out) is older than `updatedAt` says; feeds without
 * rounds leave `answeredInRound` 0. `startedAt` says nothing of a price: some feeds, such as Chronicle's, always answer 0.
 */
export function roundFault(
  { answer, updatedAtSeconds, id, answeredInId }: RoundData,
  nowSeconds: number,
): 'price-invalid' | 'price-stale' | undefined {
  if (answer <= 0n || updatedAtSeconds <= 0) return 'price-invalid'
  if (updatedAtSeconds > nowSeconds + ROUND_AHEAD_MAX_SECONDS) return 'price-invalid'
  if (id === undefined || answeredInId === undefined || answeredInId === 0n) return undefined
  return answeredInId < id ? 'price-stale' : undefined
}

/** Judges a reading at `nowSeconds`, the time of its block: a round that is a price, fresh enough, sequencer up. */
export function acceptPrice(
  feed: PriceFeed,
  reading: FeedReading | undefined,
  nowSeconds: number,
): { ok: true; price: Price } | { ok: false; reason: PriceRefusal } {
  if (reading === undefined) return { ok: false, reason: 'price-missing' }
  const fault = roundFault(reading, nowSeconds)
  if (fault === 'price-invalid' || reading.decimals < 0 || reading.decimals > 36)
    return { ok: false, reason: 'price-invalid' }
  if (!sequencerIsUp(feed, reading, nowSeconds)) return { ok: false, reason: 'sequencer-down' }
  if (fault === 'price-stale' || nowSeconds - reading.updatedAtSeconds > feed.maxAgeSeconds)
    return { ok: false, reason: 'price-stale' }
  const { updatedAtSeconds } = reading
  return { ok: true, price: { pair: feed.pair, ratio: ratioOf(feed, reading), updatedAtSeconds } }
}

function ratioOf({ base, quote }: PriceFeed, { answer, decimals }: FeedReading): Ratio {
  return {
    num: answer * 10n ** BigInt(quote.decimals),
    den: 10n ** BigInt(decimals + base.decimals),
  }
}

/**
 * A configured sequencer feed that gave no answer proves nothing, so the sequencer counts as down. So does one whose round has no
 * `startedAt`: it is invalid, and tells nothing of how long the sequencer is up.
 */
function sequencerIsUp(feed: PriceFeed, reading: FeedReading, nowSeconds: number): boolean {
  if (reading.sequencer === undefined) return feed.sequencerFeed === undefined
  const { answer, startedAtSeconds } = reading.sequencer
  return (
    answer === 0n &&
    startedAtSeconds > 0 &&
    nowSeconds - startedAtSeconds >= SEQUENCER_GRACE_SECONDS
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
  let ratio = PAR
  let updatedAtSeconds = Number.POSITIVE_INFINITY
  for (const { feed, inverted } of path) {
    const accepted = acceptPrice(feed, readings.get(feed.pair), nowSeconds)
    if (!accepted.ok) return { ok: false, reason: accepted.reason, pair: feed.pair }
    ratio = times(ratio, accepted.price.ratio, inverted)
    updatedAtSeconds = Math.min(updatedAtSeconds, accepted.price.updatedAtSeconds)
  }
  return { ok: true, price: { ratio, updatedAtSeconds, pairs: path.map(({ feed }) => feed.pair) } }
}

/** Where a market stands by the newest rounds, however old: for the other side of a trade, never for what is decided. */
export function marketRatio(
  path: PricePath | undefined,
  readings: ReadonlyMap<Pair, FeedReading>,
): Ratio | undefined {
  if (path === undefined || path.length === 0) return undefined
  let ratio = PAR
  for (const { feed, inverted } of path) {
    const reading = readings.get(feed.pair)
    if (reading === undefined || reading.answer <= 0n) return undefined
    ratio = times(ratio, ratioOf(feed, reading), inverted)
  }
  return ratio
}

const PAR: Ratio = { num: 1n, den: 1n }

function times(ratio: Ratio, leg: Ratio, inverted: boolean): Ratio {
  return inverted
    ? { num: ratio.num * leg.den, den: ratio.den * leg.num }
    : { num: ratio.num * leg.num, den: ratio.den * leg.den }
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
