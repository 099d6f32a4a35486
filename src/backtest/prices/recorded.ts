import type { DecisionInputs, JournalRecord, PriceInput } from '../../domain/book/journal.ts'
import type { PriceFeed } from '../../domain/price.ts'
import { type Rounds, RoundsPacker, type Tape } from '../../domain/tape.ts'
import type { Pair, Token } from '../../domain/token.ts'
import { type Ratio, ZERO_ADDRESS } from '../../domain/units.ts'

/** Prices that decisions of a journal were made from. It can be handed to a thread. */
export type Recorded = {
  readonly feeds: readonly PriceFeed[]
  readonly tapes: readonly (Omit<Tape, 'rounds'> & { readonly pieces: readonly Rounds[] })[]
}

/** Rounds of a piece, as of the other tapes. */
const PIECE = 16_384
/** Digits of a price that are kept: more than any feed gives, and few enough for `Rounds`. */
const DIGITS = 24
const DECIMALS_MAX = 36
/** Of a price whose feeds the config has no more. */
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
 * Goes through a journal and collects the prices that are in its decisions. What was one feed's answer is a round of that feed, at
 * its own time. Of a price that several feeds gave together nothing tells them apart: it stands for a feed of its own, whose
 * rounds are at the times at which they were seen.
 */
export class PriceRecorder {
  readonly #feeds: ReadonlyMap<Pair, PriceFeed>
  readonly #tokens: ReadonlyMap<string, Token>
  readonly #columns = new Map<Pair, Column>()

  constructor(config: {
    readonly prices: ReadonlyMap<Pair, PriceFeed>
    readonly tokens: ReadonlyMap<string, Token>
  }) {
    this.#feeds = config.prices
    this.#tokens = config.tokens
  }

  hear({ event }: Pick<JournalRecord, 'event'>): void {
    if (event.type !== 'slot-opened' && event.type !== 'slot-closed') return
    for (const [key, price] of Object.entries(event.inputs?.prices ?? {}))
      if (event.inputs !== undefined && !('refused' in price)) this.#add(key, price, event.inputs)
  }

  /** `source`: where the journal is, in words. */
  result(source: string): Recorded {
    const columns = [...this.#columns.values()]
    return {
      feeds: columns.map(({ feed }) => feed),
      tapes: columns.map(({ feed: { pair }, decimals, packer, pieces, lastSeconds }) => ({
        ...{ pair, decimals, pieces: [...pieces, packer.take()] },
        source: `${source} up to ${new Date(lastSeconds * 1000).toISOString()}`,
      })),
    }
  }

  /** `key`: of the pair, sell before buy. */
  #add(key: string, price: Seen, { blockTimeSeconds }: DecisionInputs): void {
    const [sell, buy] = key.split('/').map((symbol) => this.#tokens.get(symbol))
    if (sell === undefined || buy === undefined || price.num <= 0n || price.den <= 0n) return
    const own = this.#feedOf(price, sell, buy)
    const feed = own ?? this.#standIn(price, sell, buy)
    const atSeconds = own === undefined ? blockTimeSeconds : price.updatedAtSeconds
    const ratio = wholeRatio(price, { feed, isTurned: feed.base.address === sell.address })
    const column = this.#columnOf(feed, ratio)
    // A node that is behind shows what was before; and many decisions see the same round.
    if (atSeconds <= column.lastSeconds) return
    column.lastSeconds = atSeconds
    column.packer.add(atSeconds, rounded(ratio, column.decimals))
    if (column.packer.size >= PIECE) column.pieces.push(column.packer.take())
  }

  /** The feed of the config that gave a price alone. */
  #feedOf({ feeds }: Seen, sell: Token, buy: Token): PriceFeed | undefined {
    const feed = feeds.length === 1 ? this.#feeds.get(feeds[0] as Pair) : undefined
    const sides = [feed?.base.address, feed?.quote.address]
    return sides.includes(sell.address) && sides.includes(buy.address) ? feed : undefined
  }

  /** A feed for prices that come from several, either way round. */
  #standIn({ feeds }: Seen, sell: Token, buy: Token): PriceFeed {
    const opposite = this.#columns.get(`${sell.symbol}/${buy.symbol}`)
    if (opposite !== undefined) return opposite.feed
    const ages = feeds.map((pair) => this.#feeds.get(pair as Pair)?.maxAgeSeconds)
    return {
      ...{ pair: `${buy.symbol}/${sell.symbol}`, base: buy, quote: sell, feed: ZERO_ADDRESS },
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

/** Tapes of recorded prices. */
export function recordedTapes({ tapes }: Recorded): readonly Tape[] {
  return tapes.map(({ pieces, ...tape }) => ({ ...tape, rounds: () => pieces }))
}

/** Whole quote tokens for one whole base token, of base units of what is sold for one of what is bought. */
function wholeRatio(
  { num, den }: Ratio,
  { feed, isTurned }: { readonly feed: PriceFeed; readonly isTurned: boolean },
): Ratio {
  const { base, quote } = feed
  const [over, under] = isTurned ? [den, num] : [num, den]
  return { num: over * 10n ** BigInt(base.decimals), den: under * 10n ** BigInt(quote.decimals) }
}

/** How many digits a number has before its point; 0 or below where it begins behind it. */
function digitsOf({ num, den }: Ratio): number {
  const scaled = (num * 10n ** BigInt(DECIMALS_MAX)) / den
  return scaled.toString().length - DECIMALS_MAX
}

/** Half up. */
function rounded({ num, den }: Ratio, decimals: number): bigint {
  return (2n * num * 10n ** BigInt(decimals) + den) / (2n * den)
}
