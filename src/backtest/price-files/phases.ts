import type { FeedRound, RoundReader } from './round-reader.ts'

/** Rounds of one phase: mostly 1 to `last`, their times ascending, with a hole here and there, or before the first. */
export type Phase = { readonly number: bigint; readonly last: bigint }

const PHASE_BITS = 64n
const NUMBER_MASK = (1n << PHASE_BITS) - 1n
/** Rounds of a phase that may be missing in a row. More of them are taken for its end. */
const HOLE = 8n
/** Places looked at in one call, each as wide as a hole. */
const PLACES = 16n
/** A phase has fewer rounds. */
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

/** How many rounds a phase has; 0 where it has none. Doubles until it is past the end, and then divides what lies between. */
export async function lastNumber(reader: Reader, phase: bigint): Promise<bigint> {
  const exists = async (numbers: readonly bigint[]): Promise<readonly boolean[]> =>
    (await nextRounds(reader, phase, numbers)).map((round) => round !== undefined)
  const doubled = Array.from({ length: NUMBERS_BITS }, (_, bits) => 1n << BigInt(bits))
  const found = (await exists(doubled)).lastIndexOf(true)
  const low = doubled[found]
  if (low === undefined) return 0n
  const high = doubled[found + 1]
  return greatest({ low, high: (high ?? low * 2n) - 1n }, exists)
}

/** The last round of a phase that was on chain by then; undefined where its first was not. */
export async function roundAt(
  reader: Reader,
  { number: phase, last }: Phase,
  atSeconds: number,
): Promise<FeedRound | undefined> {
  // What is missing below the last one is a phase that counts from elsewhere.
  const wasThere = async (numbers: readonly bigint[]): Promise<readonly boolean[]> =>
    (await nextRounds(reader, phase, numbers)).map(
      (round) => round === undefined || round.updatedAtSeconds <= atSeconds,
    )
  const [isFirst] = await wasThere([1n])
  if (isFirst !== true) return undefined
  const number = await greatest({ low: 1n, high: last }, wasThere)
  const [found] = await nextRounds(reader, phase, [number])
  return found
}

/** The first round of a phase that has some. */
async function firstRound(
  reader: Reader,
  { number: phase, last }: Phase,
): Promise<FeedRound | undefined> {
  const isMissing = async (numbers: readonly bigint[]): Promise<readonly boolean[]> =>
    (await nextRounds(reader, phase, numbers)).map((round) => round === undefined)
  const [known] = await nextRounds(reader, phase, [1n])
  if (known !== undefined) return known
  const before = await greatest({ low: 1n, high: last }, isMissing)
  const [first] = await nextRounds(reader, phase, [before + 1n])
  return first
}

/** The round of each number, or the first after it where there is a hole. */
export async function nextRounds(
  reader: Reader,
  phase: bigint,
  numbers: readonly bigint[],
): Promise<readonly (FeedRound | undefined)[]> {
  const ids = numbers.flatMap((number) =>
    Array.from({ length: Number(HOLE) }, (_, more) => idOf(phase, number + BigInt(more))),
  )
  const rounds = await reader.rounds(ids)
  return numbers.map((_, index) => {
    const from = index * Number(HOLE)
    return rounds.slice(from, from + Number(HOLE)).find((round) => round !== undefined)
  })
}

/** The greatest number for which something holds that holds for `low`, and for none above the first for which it does not. */
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

/** Numbers above `low`, evenly spread, the last of them `high`. */
function placesBetween(low: bigint, high: bigint): readonly bigint[] {
  const width = high - low
  const count = width < PLACES ? width : PLACES
  return Array.from({ length: Number(count) }, (_, n) => low + (width * BigInt(n + 1)) / count)
}

/** A phase, and when its last round was on chain. */
export type Span = Phase & { readonly lastSeconds: number }

/** The phases of a feed from its newest backwards, each looked for once. */
export class Phases {
  readonly #reader: Reader
  /** The newest first. */
  readonly #known: Span[]
  #next: bigint

  constructor(reader: Reader, latest: FeedRound) {
    const number = phaseOf(latest.id)
    this.#reader = reader
    this.#known = [{ number, last: numberOf(latest.id), lastSeconds: latest.updatedAtSeconds }]
    this.#next = number - 1n
  }

  /** Those from the newest one back to the first that is enough, the oldest first. A phase without rounds is left out. */
  async backTo(isEnough: (span: Span) => boolean): Promise<readonly Span[]> {
    while (!this.#known.some(isEnough) && this.#next > 0n) {
      const number = this.#next
      const last = await lastNumber(this.#reader, number)
      const [round] = last === 0n ? [] : await nextRounds(this.#reader, number, [last])
      if (round !== undefined)
        this.#known.push({ number, last, lastSeconds: round.updatedAtSeconds })
      this.#next -= 1n
    }
    const enough = this.#known.findIndex(isEnough)
    return this.#known.slice(0, enough < 0 ? undefined : enough + 1).reverse()
  }

  /** The round that held at a time; the very first where that was later. */
  async heldAt(atSeconds: number): Promise<FeedRound | undefined> {
    const spans = await this.backTo(({ lastSeconds }) => lastSeconds <= atSeconds)
    for (const [index, span] of [...spans.entries()].reverse()) {
      const before = spans[index - 1]
      const round = await roundAt(this.#reader, span, atSeconds)
      // What is not later than the end of the phase before is left out, as it is wherever rounds are put in a row.
      const isLeftOut = before !== undefined && (round?.updatedAtSeconds ?? 0) <= before.lastSeconds
      if (round !== undefined && !isLeftOut) return round
    }
    const [oldest] = spans
    return oldest === undefined ? undefined : firstRound(this.#reader, oldest)
  }
}
