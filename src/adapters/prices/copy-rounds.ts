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
  /** Rounds whose answer is no price: 0 or below. */
  readonly skipped: number
}

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
  let after = part.afterSeconds
  for (;;) {
    const wanted = ids.take(reader.size)
    if (wanted.length === 0) return
    const rounds = (await reader.rounds(wanted)).filter((round) => round !== undefined)
    const over = rounds.findIndex(({ updatedAtSeconds }) => updatedAtSeconds > part.toSeconds)
    const inTime = over < 0 ? rounds : rounds.slice(0, over)
    const rising = risingFrom(after, inTime.filter(isPrice))
    after = rising.at(-1)?.updatedAtSeconds ?? after
    write({
      lines: rising.map((round) => lineOf(round, decimals)),
      skipped: inTime.length - inTime.filter(isPrice).length,
    })
    if (over >= 0) return
  }
}

function isPrice({ answer }: FeedRound): boolean {
  return answer > 0n
}

/** Those of the rounds that are later than all before them. */
function risingFrom(afterSeconds: number, rounds: readonly FeedRound[]): readonly FeedRound[] {
  let after = afterSeconds
  return rounds.filter(({ updatedAtSeconds }) => {
    if (updatedAtSeconds <= after) return false
    after = updatedAtSeconds
    return true
  })
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
