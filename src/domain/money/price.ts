import type { PriceBounds } from '../strategy.ts'
import type { Asset, Pair, Token } from './token.ts'
import { type Address, type BaseUnits, compareRatio, PAR, type Ratio, tenTo } from './units.ts'

/** A configured Chainlink-style feed: price of one whole `base` in whole `quote`. */
export type PriceFeed = {
  readonly pair: Pair
  readonly base: Token
  readonly quote: Token
  readonly feed: `0x${string}`
  readonly maxAgeSeconds: number
  readonly sequencerFeed: `0x${string}` | undefined
}

export type RoundData = {
  readonly answer: bigint
  readonly updatedAtSeconds: number
  /** Ids of the round and of the round its answer is from; undefined if unknown, as in a price file. */
  readonly id?: bigint | undefined
  readonly answeredInId?: bigint | undefined
}

/** A feed's raw answer at one block. `answer` has `decimals` places. */
export type FeedReading = RoundData & {
  readonly decimals: number
  /** The L2 sequencer feed: 0 is up. Undefined if the feed has none. */
  readonly sequencer: { readonly answer: bigint; readonly startedAtSeconds: number } | undefined
}

/** An accepted price: quote base units per base unit of `base`, exact. */
type Price = {
  readonly pair: Pair
  readonly ratio: Ratio
  readonly updatedAtSeconds: number
}

type PriceRefusal = 'price-missing' | 'price-invalid' | 'price-stale' | 'sequencer-down'

/** Feeds may lag after an L2 sequencer returns: wait this long, the usual practice for such feeds. */
export const SEQUENCER_GRACE_SECONDS = 3600

/** Maximum lead of a round over its block's time: oracles that timestamp rounds have their own clocks. */
export const ROUND_AHEAD_MAX_SECONDS = 60

/**
 * Why a round is not a valid price at `nowSeconds`, when it was on chain; undefined if it is valid, at any age.
 *
 * A round without a positive answer or without `updatedAt` is incomplete, and one from the future has no age. An answer
 * carried over from an earlier round (old aggregators do this when a round times out) is older than `updatedAt`; feeds
 * without rounds report `answeredInRound` 0. `startedAt` is ignored: some feeds, such as Chronicle's, always report 0.
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

/** Checks a reading at `nowSeconds`, its block time: a valid round, fresh enough, sequencer up. */
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
    num: answer * tenTo(quote.decimals),
    den: tenTo(decimals + base.decimals),
  }
}

/** A configured sequencer feed without an answer, or with an invalid round without `startedAt`, counts as down. */
function sequencerIsUp(feed: PriceFeed, reading: FeedReading, nowSeconds: number): boolean {
  if (reading.sequencer === undefined) return feed.sequencerFeed === undefined
  const { answer, startedAtSeconds } = reading.sequencer
  return (
    answer === 0n &&
    startedAtSeconds > 0 &&
    nowSeconds - startedAtSeconds >= SEQUENCER_GRACE_SECONDS
  )
}

/** Value of a sold token by the feeds at signing: base units of `token` per sold base unit. */
export type Worth = { readonly token: Address; readonly price: Ratio }

/** Feeds whose prices multiply to one price. Each leg says whether its feed is inverted first. */
export type PricePath = readonly { readonly feed: PriceFeed; readonly inverted: boolean }[]

/** Price of a pair: sell base units per buy base unit, as fresh as its oldest leg. */
type PairPrice = {
  readonly ratio: Ratio
  readonly updatedAtSeconds: number
  readonly pairs: readonly Pair[]
}

export type PairPriceAnswer =
  | { readonly ok: true; readonly price: PairPrice }
  | {
      readonly ok: false
      readonly reason: PriceRefusal
      /** The feed without a usable answer; undefined if no feed is configured. */
      readonly pair: Pair | undefined
    }

/** With more feeds, errors and ages add up too far. */
const PATH_LEGS_MAX = 3

/** Finds the shortest feed path between two tokens: direct, inverse or a cross rate. Undefined if there is none. */
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

function extended({ at, path }: PathEnd, feed: PriceFeed): readonly PathEnd[] {
  if (feed.base.address === at.address)
    return [{ at: feed.quote, path: [...path, { feed, inverted: false }] }]
  if (feed.quote.address === at.address)
    return [{ at: feed.base, path: [...path, { feed, inverted: true }] }]
  return []
}

/** Checks every leg of a path at `nowSeconds`, the block's time. */
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

/** Prices at a block, sell base units per buy base unit; undefined where no feed is usable. */
export function pricesAt(
  pathOf: (sell: Token, buy: Token) => PricePath | undefined,
  block: {
    readonly readings: ReadonlyMap<Pair, FeedReading>
    readonly blockTimeSeconds: number
  },
): (sell: Token, buy: Token) => Ratio | undefined {
  return (sell, buy) => {
    const answer = acceptPath(pathOf(sell, buy), block.readings, block.blockTimeSeconds)
    return answer.ok ? answer.price.ratio : undefined
  }
}

/**
 * Value of a sold token in the value token, for reports alone; undefined without a price, or if the value token is bought or
 * sold itself.
 */
export function worthAt(
  valueToken: Token | undefined,
  { sell, buy }: { readonly sell: Asset; readonly buy: Asset },
  priceOf: ReturnType<typeof pricesAt>,
): Worth | undefined {
  if (valueToken === undefined || valueToken.address === buy.token.address) return undefined
  const price = priceOf(valueToken, sell.token)
  return price && { token: valueToken.address, price }
}

/** Market price by the newest rounds, of any age: for simulated counterparties, never for decisions. */
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

function times(ratio: Ratio, leg: Ratio, inverted: boolean): Ratio {
  return inverted
    ? { num: ratio.num * leg.den, den: ratio.den * leg.num }
    : { num: ratio.num * leg.num, den: ratio.den * leg.den }
}

/**
 * Received amount against the feeds' price (sell base units per buy base unit) of the paid amount, in basis points rounded
 * down to hundredths; negative if less. Undefined without a price or payment.
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

export function brokenBound(
  price: Ratio,
  { min, max }: PriceBounds,
): { readonly bound: 'min' | 'max'; readonly level: Ratio } | undefined {
  if (min !== undefined && compareRatio(price, min) < 0) return { bound: 'min', level: min }
  if (max !== undefined && compareRatio(price, max) > 0) return { bound: 'max', level: max }
  return undefined
}
