import { roundFault } from '../../domain/money/price.ts'
import { idOf, numberOf, phaseOf, type Span } from './phases.ts'
import { lineOf, type RoundLine } from './round-file.ts'
import type { FeedRound, RoundReader } from './round-reader.ts'

/** A range of a feed's rounds by ids and times. */
export type Part = {
  readonly fromId: bigint
  /** Exclusive. */
  readonly untilId?: bigint
  /** Rounds not later than this are omitted. */
  readonly afterSeconds: number
  readonly toSeconds: number
}

type Copying = {
  readonly reader: RoundReader
  /** The phases of the part, oldest first. */
  readonly spans: readonly Span[]
  readonly decimals: number
  /** Receives the rounds of one call as lines, and the number of invalid rounds that were skipped. */
  readonly write: (lines: readonly RoundLine[], skipped: number) => void
}

/** Consecutive rounds after the part's time that end it. A single one may be misdated. */
const LATER_MAX = 8

/** Reads a part of a feed's past in order and writes it as it arrives. */
export async function copyRounds(part: Part, { reader, spans, decimals, write }: Copying) {
  const ids = idsOf(spans, part)
  const sieve = createSieve(part)
  /** The last round read. It is checked with the next one, whatever the size of a call. */
  let last: FeedRound | undefined
  while (!sieve.isOver()) {
    const wanted = nextOf(ids, reader.size)
    const found = (await reader.rounds(wanted)).filter((round) => round !== undefined)
    const rounds = last === undefined ? found : [last, ...found]
    last = wanted.length === 0 ? undefined : rounds.pop()
    const { prices, skipped } = sieve.pass(rounds, last)
    const lines = prices.map((round) => lineOf(round, decimals))
    write(lines, skipped)
    if (wanted.length === 0) return
  }
}

/** Passes the rounds of a part that are valid prices and later than all before them. */
function createSieve({ afterSeconds, toSeconds }: Part) {
  let after = afterSeconds
  let later = 0
  const isTimely = ({ updatedAtSeconds }: FeedRound): boolean => {
    later = updatedAtSeconds > toSeconds ? later + 1 : 0
    if (later > 0 || updatedAtSeconds <= after) return false
    after = updatedAtSeconds
    return true
  }
  const isOver = (): boolean => later >= LATER_MAX
  return {
    isOver,
    /** `next`: the round after these, if known. */
    pass(rounds: readonly FeedRound[], next: FeedRound | undefined) {
      const prices: FeedRound[] = []
      let skipped = 0
      for (const [index, round] of rounds.entries()) {
        if (isOver()) break
        if (!isPrice(round, rounds[index + 1] ?? next)) skipped += 1
        else if (isTimely(round)) prices.push(round)
      }
      return { prices, skipped }
    },
  }
}

/** Checks a round as of the next one of its phase, when it was on chain. The newest may be as late as the part allows. */
function isPrice(round: FeedRound, next: FeedRound | undefined): boolean {
  const isFollowed = next !== undefined && phaseOf(next.id) === phaseOf(round.id)
  const byThen = isFollowed ? next.updatedAtSeconds : Number.POSITIVE_INFINITY
  return roundFault(round, byThen) === undefined
}

function* idsOf(spans: readonly Span[], { fromId, untilId }: Part): Generator<bigint> {
  let at = fromId
  for (const { number, last } of spans) {
    if (number < phaseOf(at)) continue
    if (number > phaseOf(at)) at = idOf(number, 1n)
    for (; numberOf(at) <= last; at += 1n) {
      if (untilId !== undefined && at >= untilId) return
      yield at
    }
  }
}

function nextOf(ids: Iterator<bigint>, count: number): readonly bigint[] {
  const taken: bigint[] = []
  while (taken.length < count) {
    const { done, value } = ids.next()
    if (done === true) break
    taken.push(value)
  }
  return taken
}
