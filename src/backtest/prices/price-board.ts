import type { FeedReading, PriceFeed, PricePath } from '../../domain/price.ts'
import type { Tape } from '../../domain/tape.ts'
import type { Pair, Token } from '../../domain/token.ts'
import { Coverage, type Period } from './coverage.ts'
import { Reel } from './reel.ts'

/** All feeds as they stand on chain at one second of the past, which goes forwards. */
export class Board {
  /** What a read of every feed gives now; what has no round yet is absent. */
  readonly readings: ReadonlyMap<Pair, FeedReading>
  readonly #readings = new Map<Pair, FeedReading>()
  readonly #reels: readonly Reel[]
  readonly #byPair: ReadonlyMap<Pair, Reel>
  readonly #coverages = new Map<Pair, Coverage>()

  constructor(tapes: readonly Tape[], feeds: ReadonlyMap<Pair, PriceFeed>, period: Period) {
    this.readings = this.#readings
    this.#reels = tapes.map((tape) => {
      const { maxAgeSeconds = 0, sequencerFeed } = feeds.get(tape.pair) ?? {}
      const coverage = new Coverage(period, maxAgeSeconds)
      this.#coverages.set(tape.pair, coverage)
      const hasSequencer = sequencerFeed !== undefined
      return new Reel(tape, { hasSequencer, hears: (rounds) => coverage.add(rounds) })
    })
    this.#byPair = new Map(this.#reels.map((reel) => [reel.pair, reel]))
  }

  /** Rounds that were on chain so far, over all feeds. */
  get passed(): number {
    return this.#reels.reduce((sum, { passed }) => sum + passed, 0)
  }

  advanceTo(seconds: number): void {
    for (const reel of this.#reels) {
      if (!reel.advanceTo(seconds)) continue
      const reading = reel.reading()
      if (reading !== undefined) this.#readings.set(reel.pair, reading)
    }
  }

  /** Lets go of the tapes. */
  close(): void {
    for (const reel of this.#reels) reel.close()
  }

  reelOf(pair: Pair): Reel | undefined {
    return this.#byPair.get(pair)
  }

  /** Where its rounds lie, as far as it was played. */
  coverageOf(pair: Pair): Coverage | undefined {
    return this.#coverages.get(pair)
  }

  /** When any of some feeds has its next round, epoch seconds. */
  nextAtSeconds(feeds: readonly PriceFeed[]): number {
    let soonest = Number.POSITIVE_INFINITY
    for (const { pair } of feeds)
      soonest = Math.min(soonest, this.#byPair.get(pair)?.nextAtSeconds() ?? soonest)
    return soonest
  }

  /**
   * What one whole `of` is worth in whole `inToken` by the newest rounds, however old, as a double: for charts and statistics,
   * never for what is decided. Undefined where a feed has no round yet.
   */
  worth(path: PricePath | undefined, of: Token, inToken: Token): number | undefined {
    if (of.address === inToken.address) return 1
    if (path === undefined || path.length === 0) return undefined
    let price = 1
    for (const { feed, inverted } of path) {
      const reel = this.#byPair.get(feed.pair)
      const answer = reel?.answer
      if (reel === undefined || answer === undefined || answer <= 0) return undefined
      const whole = answer / 10 ** reel.decimals
      price = inverted ? price / whole : price * whole
    }
    return price
  }
}
