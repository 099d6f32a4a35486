import type { FeedReading } from '../../domain/price.ts'
import { answerAt, type Rounds, type Tape } from '../../domain/tape.ts'
import type { Pair } from '../../domain/token.ts'

const NOTHING: Rounds = {
  atSeconds: new Float64Array(0),
  answers: new Float64Array(0),
  rests: undefined,
}

/** A sequencer that has always been up, since the first second: tapes hold prices alone. */
const UP = { answer: 0n, startedAtSeconds: 1 }

/** While a feed's answers lie strictly between two, and none is older than that, nothing changes for who waits. */
export type Quiet = { readonly low: number; readonly high: number; readonly maxAgeSeconds: number }

export type ReelOptions = {
  readonly hasSequencer: boolean
  /** Called with each piece of the tape, once. */
  readonly hears: (rounds: Rounds) => void
}

/**
 * One tape while it is played. It goes forwards only, and gives nothing but the newest round that was on chain at the second
 * where it stands: what comes later nobody can ask it for.
 */
export class Reel {
  readonly pair: Pair
  readonly decimals: number
  readonly #pieces: Iterator<Rounds>
  readonly #hasSequencer: boolean
  readonly #hears: ReelOptions['hears']
  #piece = NOTHING
  /** The newest round that was on chain, in its piece; below 0 where there was none yet. */
  #at = -1
  #following: Rounds | undefined
  #isOver = false
  #reading: FeedReading | undefined
  /** Rounds that were on chain so far. */
  #passed = 0
  #quiet: Quiet | undefined
  #quietAt = -1

  constructor(tape: Tape, { hasSequencer, hears }: ReelOptions) {
    this.pair = tape.pair
    this.decimals = tape.decimals
    this.#pieces = tape.rounds()[Symbol.iterator]()
    this.#hasSequencer = hasSequencer
    this.#hears = hears
  }

  get passed(): number {
    return this.#passed
  }

  /** When the newest round was on chain, epoch seconds; undefined before the first. */
  get atSeconds(): number | undefined {
    return this.#at < 0 ? undefined : this.#piece.atSeconds[this.#at]
  }

  /** The double nearest to the newest answer; undefined before the first. */
  get answer(): number | undefined {
    return this.#at < 0 ? undefined : this.#piece.answers[this.#at]
  }

  /** Plays on to a second. Gives whether there is another round than before. */
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

  /** When the next round comes, epoch seconds: for who plays the tapes, not for who decides by them. */
  nextAtSeconds(): number {
    const { atSeconds } = this.#piece
    const next = atSeconds[this.#at + 1] ?? this.#peek()?.atSeconds[0]
    return next ?? Number.POSITIVE_INFINITY
  }

  /** What the feed answered where the tape stands, as a read of the chain gives it; undefined before the first round. */
  reading(): FeedReading | undefined {
    if (this.#at < 0) return undefined
    this.#reading ??= {
      answer: answerAt(this.#piece, this.#at),
      decimals: this.decimals,
      updatedAtSeconds: this.#piece.atSeconds[this.#at] ?? 0,
      sequencer: this.#hasSequencer ? UP : undefined,
    }
    return this.#reading
  }

  /**
   * Looks how long it stays quiet: the second at which it does not, when a round comes with an answer outside or the newest is
   * too old. Undefined where it is quiet up to `untilSeconds`, that second included. The tape stays where it stands. Whoever
   * asks with the same `quiet` again goes on where he was.
   */
  quietUntil(quiet: Quiet, untilSeconds: number): number | undefined {
    const from = this.#quiet === quiet ? Math.max(this.#at, this.#quietAt) : this.#at
    const at = lastQuiet(this.#piece, from, { ...quiet, untilSeconds })
    this.#quiet = quiet
    this.#quietAt = at
    const { atSeconds } = this.#piece
    const staleAt = (atSeconds[at] ?? Number.NEGATIVE_INFINITY) + quiet.maxAgeSeconds + 1
    // The piece that follows is looked at once it has begun.
    const next = atSeconds[at + 1] ?? this.#peek()?.atSeconds[0] ?? Number.POSITIVE_INFINITY
    const ends = Math.min(staleAt, next)
    return ends <= untilSeconds ? ends : undefined
  }

  /** Reads no more of the tape, which may hold a file open. */
  close(): void {
    this.#isOver = true
    this.#pieces.return?.()
  }

  /** Goes over to the first round of the piece that follows, if that was on chain by then. */
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
        this.#hears(value)
        this.#following = value
      }
    }
    return this.#following
  }
}

/** The index of the last round of a piece, from one that is quiet on, up to which it stays so. */
function lastQuiet(
  { atSeconds, answers }: Rounds,
  from: number,
  { low, high, maxAgeSeconds, untilSeconds }: Quiet & { readonly untilSeconds: number },
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

/** The index of the last of ascending times, from `from` on, that is not after `seconds`. Short ways are the most common. */
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
