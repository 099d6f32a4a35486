import type { PriceFeed } from '../../domain/money/price.ts'
import { type Rounds, RoundsPacker } from '../../domain/money/price-series.ts'
import type { Pair, Token } from '../../domain/money/token.ts'
import { type Ratio, ZERO_ADDRESS } from '../../domain/money/units.ts'
import type { Settings } from '../../domain/settings.ts'
import type { JournalRecord } from '../../journal/events/registry.ts'
import { slotClosed, slotOpened } from '../../journal/events/strategy/slots.ts'
import type { DecisionInputs, PriceInput } from '../../journal/records.ts'
import { instantText } from '../../journal/wording/log-values.ts'
import type { HeldSeries } from './held.ts'

/** Prices of a journal's decisions. They can be cloned to a thread. */
export type Recorded = {
  readonly feeds: readonly PriceFeed[]
  readonly priceSeries: readonly HeldSeries[]
}

const PIECE = 16_384
/** Digits of a price: more than any feed has, and few enough for `Rounds`. */
const DIGITS = 24
const DECIMALS_MAX = 36
/** Maximum age of a price whose feeds are no longer configured. */
const MAX_AGE_SECONDS = 3_600

type Column = {
  readonly feed: PriceFeed
  readonly decimals: number
  readonly packer: RoundsPacker
  readonly pieces: Rounds[]
  lastSeconds: number
}

type Seen = Extract<PriceInput, { readonly num: bigint }>

/**
 * Collects the prices of a journal's decisions. A single feed's answer becomes a round of that feed, at its own time. A
 * price from several feeds cannot be split, so it becomes a separate feed whose rounds carry the times of the decisions.
 */
export class PriceRecorder {
  readonly #feeds: Settings['prices']
  readonly #tokens: Settings['tokens']
  readonly #columns = new Map<Pair, Column>()

  constructor({ prices, tokens }: Pick<Settings, 'prices' | 'tokens'>) {
    this.#feeds = prices
    this.#tokens = tokens
  }

  add({ event }: Pick<JournalRecord, 'event'>): void {
    if (!slotOpened.is(event) && !slotClosed.is(event)) return
    for (const [key, price] of Object.entries(event.inputs?.prices ?? {}))
      if (event.inputs !== undefined && !('refused' in price)) this.#add(key, price, event.inputs)
  }

  /** `source`: a label of the journal. */
  result(source: string): Recorded {
    const columns = [...this.#columns.values()]
    return {
      feeds: columns.map(({ feed }) => feed),
      priceSeries: columns.map(({ feed: { pair }, decimals, packer, pieces, lastSeconds }) => ({
        pair,
        decimals,
        pieces: [...pieces, packer.take()],
        source: `${source} up to ${instantText(lastSeconds)}`,
      })),
    }
  }

  /** `key` names the sell token before the buy token. */
  #add(key: string, price: Seen, { blockTimeSeconds }: DecisionInputs): void {
    const [sell, buy] = key.split('/').map((symbol) => this.#tokens.get(symbol))
    if (sell === undefined || buy === undefined || price.num <= 0n || price.den <= 0n) return
    const own = this.#feedOf(price, sell, buy)
    const feed = own ?? this.#standIn(price, sell, buy)
    const atSeconds = own === undefined ? blockTimeSeconds : price.updatedAtSeconds
    const ratio = wholeRatio(price, { feed, isTurned: feed.base.address === sell.address })
    const column = this.#columnOf(feed, ratio)
    // Many decisions see the same round, and a node may lag.
    if (atSeconds <= column.lastSeconds) return
    column.lastSeconds = atSeconds
    column.packer.add(atSeconds, rounded(ratio, column.decimals))
    if (column.packer.size >= PIECE) column.pieces.push(column.packer.take())
  }

  /** The configured feed, if it alone gave the price. */
  #feedOf({ feeds }: Seen, sell: Token, buy: Token): PriceFeed | undefined {
    const feed = feeds.length === 1 ? this.#feeds.get(feeds[0] as Pair) : undefined
    const sides = [feed?.base.address, feed?.quote.address]
    return sides.includes(sell.address) && sides.includes(buy.address) ? feed : undefined
  }

  /** A feed for prices from several feeds, in either direction. */
  #standIn({ feeds }: Seen, sell: Token, buy: Token): PriceFeed {
    const opposite = this.#columns.get(`${sell.symbol}/${buy.symbol}`)
    if (opposite !== undefined) return opposite.feed
    const ages = feeds.map((pair) => this.#feeds.get(pair as Pair)?.maxAgeSeconds)
    return {
      pair: `${buy.symbol}/${sell.symbol}`,
      base: buy,
      quote: sell,
      feed: ZERO_ADDRESS,
      maxAgeSeconds: Math.min(...ages.map((age) => age ?? MAX_AGE_SECONDS)),
      sequencerFeed: undefined,
    }
  }

  #columnOf(feed: PriceFeed, ratio: Ratio): Column {
    const known = this.#columns.get(feed.pair)
    if (known !== undefined) return known
    const decimals = Math.max(0, Math.min(DECIMALS_MAX, DIGITS - digitsOf(ratio)))
    const packer = new RoundsPacker()
    const column = { feed, decimals, packer, pieces: [], lastSeconds: Number.NEGATIVE_INFINITY }
    this.#columns.set(feed.pair, column)
    return column
  }
}

/** Whole quote tokens per whole base token, from base units sold per base unit bought. */
function wholeRatio(
  { num, den }: Ratio,
  { feed, isTurned }: { readonly feed: PriceFeed; readonly isTurned: boolean },
): Ratio {
  const { base, quote } = feed
  const [over, under] = isTurned ? [den, num] : [num, den]
  return { num: over * 10n ** BigInt(base.decimals), den: under * 10n ** BigInt(quote.decimals) }
}

/** Digits before the decimal point; 0 or below for numbers under 1. */
function digitsOf({ num, den }: Ratio): number {
  const scaled = (num * 10n ** BigInt(DECIMALS_MAX)) / den
  return scaled.toString().length - DECIMALS_MAX
}

/** Rounds half up. */
function rounded({ num, den }: Ratio, decimals: number): bigint {
  return (2n * num * 10n ** BigInt(decimals) + den) / (2n * den)
}
