import type { FeedReading } from '../../domain/money/price.ts'
import { answerAt, type PriceSeries, type Rounds } from '../../domain/money/price-series.ts'
import type { Pair } from '../../domain/money/token.ts'

const NOTHING: Rounds = {
  atSeconds: new Float64Array(0),
  answers: new Float64Array(0),
  rests: undefined,
}

/** A sequencer that was always up, because series hold only prices. */
const UP = { answer: 0n, startedAtSeconds: 1 }

/** While a feed's answers lie strictly within and none is too old, waiting strategies do nothing. */
export type AnswerBand = {
  readonly low: number
  readonly high: number
  readonly maxAgeSeconds: number
}

/** A position in a series that only advances. It shows the newest round on chain at its second, and none later. */
export class PriceCursor {
  readonly pair: Pair
  readonly decimals: number
  readonly #pieces: Iterator<Rounds>
  readonly #hasSequencer: boolean
  readonly #onChunk: (rounds: Rounds) => void
  #piece = NOTHING
  /** Index of the newest round in its piece; -1 before the first. */
  #at = -1
  #following: Rounds | undefined
  #isOver = false
  #reading: FeedReading | undefined
  #passed = 0
  #quiet: AnswerBand | undefined
  /** Index of the last round known to lie within `#quiet`. */
  #quietAt = -1

  /** `onChunk` is called once with each piece of the series. */
  constructor(
    series: PriceSeries,
    { hasSequencer, onChunk }: { hasSequencer: boolean; onChunk: (rounds: Rounds) => void },
  ) {
    this.pair = series.pair
    this.decimals = series.decimals
    this.#pieces = series.rounds()[Symbol.iterator]()
    this.#hasSequencer = hasSequencer
    this.#onChunk = onChunk
  }

  /** Number of rounds so far. */
  get passed(): number {
    return this.#passed
  }

  /** The double nearest to the newest answer. */
  get answer(): number | undefined {
    return this.#at < 0 ? undefined : this.#piece.answers[this.#at]
  }

  /** Returns true if there is a new round. */
  advanceTo(seconds: number): boolean {
    let hasMoved = false
    for (;;) {
      const { atSeconds } = this.#piece
      const at = lastUpTo(atSeconds, this.#at, seconds)
      if (at !== this.#at) {
        this.#passed += at - this.#at
        this.#at = at
        hasMoved = true
      }
      if (at < atSeconds.length - 1 || !this.#begins(seconds)) break
      hasMoved = true
    }
    if (hasMoved) this.#reading = undefined
    return hasMoved
  }

  /** Time of the next round, epoch seconds. Never for decisions. */
  nextAtSeconds(): number {
    const { atSeconds } = this.#piece
    const next = atSeconds[this.#at + 1] ?? this.#peek()?.atSeconds[0]
    return next ?? Number.POSITIVE_INFINITY
  }

  /** A read of the feed at this position; undefined before the first round. */
  reading(): FeedReading | undefined {
    if (this.#at < 0) return undefined
    this.#reading ??= this.#readingOf(this.#at)
    return this.#reading
  }

  /** The same at a later second, without advancing; `unread` if that may be in a piece to come. */
  readingAt(seconds: number): FeedReading | 'unread' | undefined {
    const { atSeconds } = this.#piece
    const at = lastUpTo(atSeconds, this.#at, seconds)
    if (at === atSeconds.length - 1 && (this.#peek()?.atSeconds[0] ?? seconds + 1) <= seconds)
      return 'unread'
    return at < 0 ? undefined : this.#readingOf(at)
  }

  #readingOf(at: number): FeedReading {
    return {
      answer: answerAt(this.#piece, at),
      decimals: this.decimals,
      updatedAtSeconds: this.#piece.atSeconds[at] ?? 0,
      sequencer: this.#hasSequencer ? UP : undefined,
    }
  }

  /**
   * The second at which a round lies outside `quiet` or the newest is too old; undefined if that is after `untilSeconds`.
   * Does not advance. A call with the same or a wider band continues from the last one.
   */
  quietUntil(quiet: AnswerBand, untilSeconds: number): number | undefined {
    const isWider = this.#quiet !== undefined && contains(quiet, this.#quiet)
    const from = isWider ? Math.max(this.#at, this.#quietAt) : this.#at
    const at = lastQuiet(this.#piece, from, { ...quiet, untilSeconds })
    this.#quiet = quiet
    this.#quietAt = at
    const { atSeconds } = this.#piece
    const staleAt = (atSeconds[at] ?? Number.NEGATIVE_INFINITY) + quiet.maxAgeSeconds + 1
    // The following piece counts once it has begun.
    const next = atSeconds[at + 1] ?? this.#peek()?.atSeconds[0] ?? Number.POSITIVE_INFINITY
    const ends = Math.min(staleAt, next)
    return ends <= untilSeconds ? ends : undefined
  }

  /** Whether the end that `quietUntil` found last also ends a wider band: the newest round is too old, or lies outside. */
  endsToo({ low, high, maxAgeSeconds }: AnswerBand): boolean {
    const { atSeconds, answers } = this.#piece
    const [at, last] = [this.#quietAt, atSeconds.length - 1]
    const following = at < last ? undefined : this.#peek()
    const next =
      (at < last ? atSeconds[at + 1] : following?.atSeconds[0]) ?? Number.POSITIVE_INFINITY
    if (next - (atSeconds[at] ?? Number.NEGATIVE_INFINITY) > maxAgeSeconds) return true
    const answer = at < last ? answers[at + 1] : following?.answers[0]
    return answer === undefined || !(answer > low && answer < high)
  }

  /** Ends reading, because the series may hold a file open. */
  close(): void {
    this.#isOver = true
    this.#pieces.return?.()
  }

  /** Moves to the first round of the following piece if it is on chain by then. */
  #begins(seconds: number): boolean {
    const following = this.#peek()
    if (following === undefined || (following.atSeconds[0] ?? seconds + 1) > seconds) return false
    this.#piece = following
    this.#following = undefined
    this.#at = 0
    this.#quiet = undefined
    this.#passed += 1
    return true
  }

  #peek(): Rounds | undefined {
    while (this.#following === undefined && !this.#isOver) {
      const { done, value } = this.#pieces.next()
      if (done === true) this.#isOver = true
      else if (value.atSeconds.length > 0) {
        this.#onChunk(value)
        this.#following = value
      }
    }
    return this.#following
  }
}

function contains(wider: AnswerBand, band: AnswerBand): boolean {
  const { low, high, maxAgeSeconds } = band
  return wider.low <= low && wider.high >= high && wider.maxAgeSeconds >= maxAgeSeconds
}

/** Index of the last round up to which a piece stays quiet. */
function lastQuiet(
  { atSeconds, answers }: Rounds,
  from: number,
  { low, high, maxAgeSeconds, untilSeconds }: AnswerBand & { readonly untilSeconds: number },
): number {
  const { length } = answers
  let at = from
  let before = atSeconds[at] ?? Number.NEGATIVE_INFINITY
  while (at + 1 < length) {
    const next = atSeconds[at + 1] as number
    const answer = answers[at + 1] as number
    const isTimely = next <= untilSeconds && next - before <= maxAgeSeconds
    if (!isTimely || !(answer > low && answer < high)) break
    at += 1
    before = next
  }
  return at
}

/** Index of the last of ascending times up to `seconds`, from `from` on. Fast for short distances. */
function lastUpTo(times: Float64Array, from: number, seconds: number): number {
  const last = times.length - 1
  let low = from
  let step = 1
  while (low + step <= last && (times[low + step] ?? 0) <= seconds) {
    low += step
    step *= 2
  }
  let high = Math.min(last + 1, low + step)
  while (high - low > 1) {
    const middle = (low + high) >>> 1
    if ((times[middle] ?? 0) <= seconds) low = middle
    else high = middle
  }
  return low
}
