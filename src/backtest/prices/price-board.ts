import type { FeedReading, PriceFeed, PricePath } from '../../domain/money/price.ts'
import type { PriceSeries, Rounds } from '../../domain/money/price-series.ts'
import type { Pair, Token } from '../../domain/money/token.ts'
import { PriceCursor } from './price-cursor.ts'

/** All feeds as they were on chain at one second of the past. Time only advances. */
export class Board {
  readonly #readings = new Map<Pair, FeedReading>()
  /** Whether a feed has moved since its reading was made. */
  #isBehind = false
  readonly #played: ReadonlyMap<Pair, { readonly cursor: PriceCursor; readonly coverage: Coverage }>

  constructor(
    priceSeries: readonly PriceSeries[],
    feeds: ReadonlyMap<Pair, PriceFeed>,
    period: Period,
  ) {
    this.#played = new Map(
      priceSeries.map((series) => {
        const { maxAgeSeconds = 0, sequencerFeed } = feeds.get(series.pair) ?? {}
        const coverage = new Coverage(period, maxAgeSeconds)
        const hasSequencer = sequencerFeed !== undefined
        const onChunk = (rounds: Rounds): void => coverage.add(rounds)
        return [
          series.pair,
          { cursor: new PriceCursor(series, { hasSequencer, onChunk }), coverage },
        ]
      }),
    )
  }

  advanceTo(seconds: number): void {
    for (const { cursor } of this.#played.values())
      if (cursor.advanceTo(seconds)) this.#isBehind = true
  }

  /** The current reading of every feed; feeds without a round yet are absent. */
  get readings(): ReadonlyMap<Pair, FeedReading> {
    if (!this.#isBehind) return this.#readings
    this.#isBehind = false
    for (const { cursor } of this.#played.values()) {
      const reading = cursor.reading()
      if (reading !== undefined) this.#readings.set(cursor.pair, reading)
    }
    return this.#readings
  }

  /** The readings of feeds at a later second; undefined if a series has to be read on for that. */
  readingsAt(
    seconds: number,
    feeds: readonly PriceFeed[],
  ): ReadonlyMap<Pair, FeedReading> | undefined {
    const readings = new Map<Pair, FeedReading>()
    for (const { pair } of feeds) {
      const reading = this.cursorOf(pair)?.readingAt(seconds)
      if (reading === 'unread') return undefined
      if (reading !== undefined) readings.set(pair, reading)
    }
    return readings
  }

  close(): void {
    for (const { cursor } of this.#played.values()) cursor.close()
  }

  cursorOf(pair: Pair): PriceCursor | undefined {
    return this.#played.get(pair)?.cursor
  }

  coverageOf(pair: Pair): Coverage | undefined {
    return this.#played.get(pair)?.coverage
  }

  /** Epoch seconds of the next round of any of these feeds, or of the second at which a fresh one is too old. */
  nextAtSeconds(feeds: readonly PriceFeed[], nowSeconds: number): number {
    let next = Number.POSITIVE_INFINITY
    for (const { pair, maxAgeSeconds } of feeds) {
      const cursor = this.cursorOf(pair)
      if (cursor === undefined) continue
      const staleAt = (cursor.reading()?.updatedAtSeconds ?? 0) + maxAgeSeconds + 1
      next = Math.min(next, cursor.nextAtSeconds(), staleAt > nowSeconds ? staleAt : next)
    }
    return next
  }

  /** Reads the value of one whole `of` in whole `inToken` by the newest rounds, however old. A double, for statistics only. */
  worthReader(path: PricePath | undefined, of: Token, inToken: Token): () => number | undefined {
    if (of.address === inToken.address) return () => 1
    const legs = (path ?? []).map(({ feed, inverted }) => {
      const cursor = this.cursorOf(feed.pair)
      return { cursor, unit: 10 ** (cursor?.decimals ?? 0), inverted }
    })
    return () => {
      let price = 1
      for (const { cursor, unit, inverted } of legs) {
        const answer = cursor?.answer
        if (answer === undefined || answer <= 0) return undefined
        const whole = answer / unit
        price = inverted ? price / whole : price * whole
      }
      return legs.length === 0 ? undefined : price
    }
  }
}

export type Period = {
  readonly fromSeconds: number
  readonly untilSeconds: number
}

/** Measures a feed's rounds in a period, and for how long the newest was too old. */
export class Coverage {
  readonly #period: Period
  readonly #maxAgeSeconds: number
  /** Time of the first round, epoch seconds. */
  firstSeconds: number | undefined
  /** Time of the last round read, which may be the first after the period. */
  lastSeconds: number | undefined
  /** Seconds of the period in which the newest round was too old, until another arrived. */
  gapSeconds = 0
  longestGap: Period | undefined

  constructor(period: Period, maxAgeSeconds: number) {
    this.#period = period
    this.#maxAgeSeconds = maxAgeSeconds
  }

  /** Time at which the last round became too old, if within the period. */
  get endsAtSeconds(): number | undefined {
    const endsAt = (this.lastSeconds ?? Number.POSITIVE_INFINITY) + this.#maxAgeSeconds
    return endsAt < this.#period.untilSeconds ? endsAt : undefined
  }

  add({ atSeconds }: Rounds): void {
    const [first] = atSeconds
    if (first === undefined) return
    this.firstSeconds ??= first
    const max = this.#maxAgeSeconds
    const before = this.lastSeconds ?? first
    if (first - before > max) this.#addGap(before, first)
    for (let at = nextGap(atSeconds, 0, max); at > 0; at = nextGap(atSeconds, at, max))
      this.#addGap(atSeconds[at - 1] ?? 0, atSeconds[at] ?? 0)
    this.lastSeconds = atSeconds[atSeconds.length - 1]
  }

  #addGap(lastSeconds: number, nextSeconds: number): void {
    const fromSeconds = Math.max(this.#period.fromSeconds, lastSeconds + this.#maxAgeSeconds)
    const untilSeconds = Math.min(this.#period.untilSeconds, nextSeconds)
    const seconds = untilSeconds - fromSeconds
    if (seconds <= 0) return
    this.gapSeconds += seconds
    const { longestGap: longest } = this
    if (longest === undefined || seconds > longest.untilSeconds - longest.fromSeconds)
      this.longestGap = { fromSeconds, untilSeconds }
  }
}

/** Index of the first time that is more than `max` after the one before it, and after index `from`; 0 if there is none. */
function nextGap(times: Float64Array, from: number, max: number): number {
  for (let at = from + 1; at < times.length; at += 1)
    if ((times[at] as number) - (times[at - 1] as number) > max) return at
  return 0
}
