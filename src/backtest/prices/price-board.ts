import type { FeedReading, PriceFeed, PricePath } from '../../domain/money/price.ts'
import type { PriceSeries } from '../../domain/money/price-series.ts'
import type { Pair, Token } from '../../domain/money/token.ts'
import { Coverage, type Period } from './coverage.ts'
import { PriceCursor } from './price-cursor.ts'

/** All feeds as they were on chain at one second of the past, which only advances. */
export class Board {
  /** A read of every feed; feeds without a round yet are absent. */
  readonly readings: ReadonlyMap<Pair, FeedReading>
  readonly #readings = new Map<Pair, FeedReading>()
  readonly #cursors: readonly PriceCursor[]
  readonly #byPair: ReadonlyMap<Pair, PriceCursor>
  readonly #coverages = new Map<Pair, Coverage>()

  constructor(
    priceSeries: readonly PriceSeries[],
    feeds: ReadonlyMap<Pair, PriceFeed>,
    period: Period,
  ) {
    this.readings = this.#readings
    this.#cursors = priceSeries.map((series) => {
      const { maxAgeSeconds = 0, sequencerFeed } = feeds.get(series.pair) ?? {}
      const coverage = new Coverage(period, maxAgeSeconds)
      this.#coverages.set(series.pair, coverage)
      const hasSequencer = sequencerFeed !== undefined
      return new PriceCursor(series, { hasSequencer, onChunk: (rounds) => coverage.add(rounds) })
    })
    this.#byPair = new Map(this.#cursors.map((cursor) => [cursor.pair, cursor]))
  }

  /** Rounds so far, over all feeds. */
  get passed(): number {
    return this.#cursors.reduce((sum, { passed }) => sum + passed, 0)
  }

  advanceTo(seconds: number): void {
    for (const cursor of this.#cursors) {
      if (!cursor.advanceTo(seconds)) continue
      const reading = cursor.reading()
      if (reading !== undefined) this.#readings.set(cursor.pair, reading)
    }
  }

  close(): void {
    for (const cursor of this.#cursors) cursor.close()
  }

  cursorOf(pair: Pair): PriceCursor | undefined {
    return this.#byPair.get(pair)
  }

  coverageOf(pair: Pair): Coverage | undefined {
    return this.#coverages.get(pair)
  }

  /** Of the next round of any of these feeds, epoch seconds. */
  nextAtSeconds(feeds: readonly PriceFeed[]): number {
    let soonest = Number.POSITIVE_INFINITY
    for (const { pair } of feeds)
      soonest = Math.min(soonest, this.#byPair.get(pair)?.nextAtSeconds() ?? soonest)
    return soonest
  }

  /** Value of one whole `of` in whole `inToken` by the newest rounds, however old: a double, for statistics only. */
  worth(path: PricePath | undefined, of: Token, inToken: Token): number | undefined {
    if (of.address === inToken.address) return 1
    if (path === undefined || path.length === 0) return undefined
    let price = 1
    for (const { feed, inverted } of path) {
      const cursor = this.#byPair.get(feed.pair)
      const answer = cursor?.answer
      if (cursor === undefined || answer === undefined || answer <= 0) return undefined
      const whole = answer / 10 ** cursor.decimals
      price = inverted ? price / whole : price * whole
    }
    return price
  }
}
