import { roundFault } from '../../domain/price.ts'
import { idOf, numberOf, phaseOf, type Span } from './phases.ts'
import { lineOf, type RoundLine } from './round-file.ts'
import type { FeedRound, RoundReader } from './round-reader.ts'

/** A part of a feed's past: by ids, and by times. */
export type Part = {
  readonly fromId: bigint
  /** Not reached any more. */
  readonly untilId?: bigint
  /** Rounds not later than this are left out. */
  readonly afterSeconds: number
  readonly toSeconds: number
}

/** Rounds of one call, as lines. */
export type Copied = {
  readonly lines: readonly RoundLine[]
  /** Rounds that are no price. */
  readonly skipped: number
}

/** Rounds in a row later than a part, after which all others are taken to be. One that is dated too late does not end it. */
const LATER_MAX = 8

/** Reads a part of a feed's past in order, and has it written as it comes. `spans`: the phases that it lies in, the oldest first. */
export async function copyRounds(
  part: Part,
  {
    reader,
    spans,
    decimals,
    write,
  }: {
    readonly reader: RoundReader
    readonly spans: readonly Span[]
    readonly decimals: number
    readonly write: (copied: Copied) => void
  },
): Promise<void> {
  const ids = new Ids(spans, part)
  const sieve = new Sieve(part)
  /** The last round that was read. It is judged with the one after it, whatever is read at once. */
  let last: FeedRound | undefined
  while (!sieve.isOver) {
    const wanted = ids.take(reader.size)
    const found = (await reader.rounds(wanted)).filter((round) => round !== undefined)
    const rounds = last === undefined ? found : [last, ...found]
    last = wanted.length === 0 ? undefined : rounds.pop()
    const { prices, skipped } = sieve.pass(rounds, last)
    write({ lines: prices.map((round) => lineOf(round, decimals)), skipped })
    if (wanted.length === 0) return
  }
}

/** Lets through, in their order, the rounds of a part that are a price and later than all before them. */
class Sieve {
  readonly #toSeconds: number
  #after: number
  #later = 0

  constructor({ afterSeconds, toSeconds }: Part) {
    this.#after = afterSeconds
    this.#toSeconds = toSeconds
  }

  get isOver(): boolean {
    return this.#later >= LATER_MAX
  }

  /** `next`: the round after these, where it is known. */
  pass(
    rounds: readonly FeedRound[],
    next: FeedRound | undefined,
  ): { readonly prices: readonly FeedRound[]; readonly skipped: number } {
    const prices: FeedRound[] = []
    let skipped = 0
    for (const [index, round] of rounds.entries()) {
      if (this.isOver) break
      if (!isPrice(round, rounds[index + 1] ?? next)) skipped += 1
      else if (this.#isTimely(round)) prices.push(round)
    }
    return { prices, skipped }
  }

  #isTimely({ updatedAtSeconds }: FeedRound): boolean {
    this.#later = updatedAtSeconds > this.#toSeconds ? this.#later + 1 : 0
    if (this.#later > 0 || updatedAtSeconds <= this.#after) return false
    this.#after = updatedAtSeconds
    return true
  }
}

/** Judged when the next round of its phase came: it was on chain by then. Of the newest one the end of the part says how late it may be. */
function isPrice(round: FeedRound, next: FeedRound | undefined): boolean {
  const isFollowed = next !== undefined && phaseOf(next.id) === phaseOf(round.id)
  const byThen = isFollowed ? next.updatedAtSeconds : Number.POSITIVE_INFINITY
  return roundFault(round, byThen) === undefined
}

/** The ids of a part of a feed's past, in their order. */
class Ids {
  readonly #spans: readonly Span[]
  readonly #part: Part
  #at: bigint

  constructor(spans: readonly Span[], part: Part) {
    this.#spans = spans
    this.#part = part
    this.#at = part.fromId
  }

  /** The next ones, at most so many; none at the end. */
  take(count: number): readonly bigint[] {
    const ids: bigint[] = []
    const { untilId } = this.#part
    for (const { number, last } of this.#spans) {
      if (number < phaseOf(this.#at)) continue
      if (number > phaseOf(this.#at)) this.#at = idOf(number, 1n)
      while (numberOf(this.#at) <= last && ids.length < count) {
        if (untilId !== undefined && this.#at >= untilId) return ids
        ids.push(this.#at)
        this.#at += 1n
      }
      if (ids.length === count) return ids
    }
    return ids
  }
}
