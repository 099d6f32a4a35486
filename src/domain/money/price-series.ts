import type { Pair } from './token.ts'

/**
 * Past rounds of one feed, packed: a million of them take 16 MB. An answer is `answers[n]`, to which `rests[n]` is added where
 * doubles alone would not be exact.
 */
export type Rounds = {
  /** When each was on chain, epoch seconds, ascending. */
  readonly atSeconds: Float64Array
  /** Whole numbers with the tape's decimal places: the double that is nearest to each answer. */
  readonly answers: Float64Array
  /** What each answer is more, or less, than its double; undefined where every double is exact. */
  readonly rests: Float64Array | undefined
}

/** What a feed answered in the past, to be read forwards only, from its beginning. */
export type Tape = {
  readonly pair: Pair
  /** Decimal places of its answers, as of a feed's. */
  readonly decimals: number
  /** Where it comes from, in words: a file, a chain, a seed. */
  readonly source: string
  /** The rounds from the first on, in pieces that are in memory one at a time. Throws what is wrong with them as it comes to it. */
  rounds(): Iterable<Rounds>
}

/** Collects rounds and packs them. */
export class RoundsPacker {
  #atSeconds: number[] = []
  #answers: number[] = []
  #rests: number[] = []
  #isExact = true

  get size(): number {
    return this.#atSeconds.length
  }

  add(atSeconds: number, answer: bigint): void {
    const nearest = Number.parseFloat(answer.toString())
    const rest = Number.parseFloat((answer - BigInt(nearest)).toString())
    this.#atSeconds.push(atSeconds)
    this.#answers.push(nearest)
    this.#rests.push(rest)
    if (rest !== 0) this.#isExact = false
  }

  /** What was collected since the last time. */
  take(): Rounds {
    const packed = {
      atSeconds: Float64Array.from(this.#atSeconds),
      answers: Float64Array.from(this.#answers),
      rests: this.#isExact ? undefined : Float64Array.from(this.#rests),
    }
    this.#atSeconds = []
    this.#answers = []
    this.#rests = []
    this.#isExact = true
    return packed
  }
}

/** One answer of a piece, exact. */
export function answerAt({ answers, rests }: Rounds, index: number): bigint {
  const answer = BigInt(answers[index] ?? Number.NaN)
  const rest = rests?.[index]
  return rest === undefined ? answer : answer + BigInt(rest)
}
