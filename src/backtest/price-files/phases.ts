import type { FeedRound, RoundReader } from './round-reader.ts'

/** Rounds of one phase: 1 to `last`, with ascending times and some holes, also before the first round. */
type Phase = { readonly number: bigint; readonly last: bigint }

const PHASE_BITS = 64n
const NUMBER_MASK = (1n << PHASE_BITS) - 1n
/** Consecutive missing rounds that do not end a phase. */
const HOLE = 8n
/** Numbers probed in one call, each with the width of a hole. */
const PLACES = 16n
/** Bits of a round's number within its phase. */
const NUMBERS_BITS = 33

export function phaseOf(id: bigint): bigint {
  return id >> PHASE_BITS
}

export function numberOf(id: bigint): bigint {
  return id & NUMBER_MASK
}

export function idOf(phase: bigint, number: bigint): bigint {
  return (phase << PHASE_BITS) | number
}

type Reader = Pick<RoundReader, 'rounds'>

type Found = FeedRound | undefined

/** Tests for each number its round, or in a hole the first round after it. */
function probe(reader: Reader, phase: bigint, has: (round: Found) => boolean) {
  return async (numbers: readonly bigint[]) => (await nextRounds(reader, phase, numbers)).map(has)
}

/** Number of a phase's last round; 0 for an empty phase. Doubles until it is past the end, then bisects. */
async function lastNumber(reader: Reader, phase: bigint): Promise<bigint> {
  const exists = probe(reader, phase, (round) => round !== undefined)
  const doubled = Array.from({ length: NUMBERS_BITS }, (_, bits) => 1n << BigInt(bits))
  const found = (await exists(doubled)).lastIndexOf(true)
  const low = doubled[found]
  if (low === undefined) return 0n
  const high = doubled[found + 1]
  return greatest({ low, high: (high ?? low * 2n) - 1n }, exists)
}

/** The last round of a phase that was on chain at a time; undefined if its first was not. */
async function roundAt(reader: Reader, { number: phase, last }: Phase, atSeconds: number) {
  // Rounds missing below the last one belong to a phase that starts counting elsewhere.
  const wasThere = probe(
    reader,
    phase,
    (round) => round === undefined || round.updatedAtSeconds <= atSeconds,
  )
  const [isFirst] = await wasThere([1n])
  if (isFirst !== true) return undefined
  const number = await greatest({ low: 1n, high: last }, wasThere)
  const [found] = await nextRounds(reader, phase, [number])
  return found
}

/** The first round of a non-empty phase. */
async function firstRound(reader: Reader, { number: phase, last }: Phase): Promise<Found> {
  const [known] = await nextRounds(reader, phase, [1n])
  if (known !== undefined) return known
  const isMissing = probe(reader, phase, (round) => round === undefined)
  const before = await greatest({ low: 1n, high: last }, isMissing)
  const [first] = await nextRounds(reader, phase, [before + 1n])
  return first
}

/** The round of each number, or in a hole the first round after it. */
async function nextRounds(reader: Reader, phase: bigint, numbers: readonly bigint[]) {
  const ids = numbers.flatMap((number) =>
    Array.from({ length: Number(HOLE) }, (_, more) => idOf(phase, number + BigInt(more))),
  )
  const rounds = await reader.rounds(ids)
  return numbers.map((_, index) => {
    const from = index * Number(HOLE)
    return rounds.slice(from, from + Number(HOLE)).find((round) => round !== undefined)
  })
}

/** The greatest number for which `holds` is true. It is true for `low` and false from some number on. */
async function greatest(
  bounds: { readonly low: bigint; readonly high: bigint },
  holds: (numbers: readonly bigint[]) => Promise<readonly boolean[]>,
): Promise<bigint> {
  let { low, high } = bounds
  while (low < high) {
    const places = placesBetween(low, high)
    const past = (await holds(places)).indexOf(false)
    low = places[(past < 0 ? places.length : past) - 1] ?? low
    if (past >= 0) high = (places[past] ?? high) - 1n
  }
  return low
}

/** Numbers above `low`, evenly spread and ending with `high`. */
function placesBetween(low: bigint, high: bigint): readonly bigint[] {
  const width = high - low
  const count = width < PLACES ? width : PLACES
  return Array.from({ length: Number(count) }, (_, n) => low + (width * BigInt(n + 1)) / count)
}

export type Span = Phase & { readonly lastSeconds: number }

export type Phases = ReturnType<typeof createPhases>

/** The phases of a feed from the newest backwards, each read once. */
export function createPhases(reader: Reader, latest: FeedRound) {
  const newest = phaseOf(latest.id)
  /** Newest first. */
  const known: Span[] = [
    { number: newest, last: numberOf(latest.id), lastSeconds: latest.updatedAtSeconds },
  ]
  let next = newest - 1n

  /** From the newest phase back to the first that satisfies `isEnough`, oldest first, without empty ones. */
  async function backTo(isEnough: (span: Span) => boolean): Promise<readonly Span[]> {
    for (; !known.some(isEnough) && next > 0n; next -= 1n) {
      const last = await lastNumber(reader, next)
      const [round] = last === 0n ? [] : await nextRounds(reader, next, [last])
      if (round !== undefined)
        known.push({ number: next, last, lastSeconds: round.updatedAtSeconds })
    }
    const enough = known.findIndex(isEnough)
    return known.slice(0, enough < 0 ? undefined : enough + 1).reverse()
  }

  return {
    backTo,
    /** The round in force at a time; the very first if it was later. */
    async heldAt(atSeconds: number): Promise<Found> {
      const spans = await backTo(({ lastSeconds }) => lastSeconds <= atSeconds)
      for (const [index, span] of [...spans.entries()].reverse()) {
        const before = spans[index - 1]
        const round = await roundAt(reader, span, atSeconds)
        // Rounds not later than the end of the previous phase are omitted.
        const isLeftOut =
          before !== undefined && (round?.updatedAtSeconds ?? 0) <= before.lastSeconds
        if (round !== undefined && !isLeftOut) return round
      }
      const [oldest] = spans
      return oldest === undefined ? undefined : firstRound(reader, oldest)
    },
  }
}
