import type { Pair, Token } from './token.ts'
import type { Ratio } from './units.ts'

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

/** Price of `buy` in `sell`: sell base units per one buy base unit, from a feed of either direction. */
export function sellPerBuy(price: Price, feed: PriceFeed, buy: Token): Ratio {
  const direct = feed.base.address === buy.address
  return direct ? price.ratio : { num: price.ratio.den, den: price.ratio.num }
}
