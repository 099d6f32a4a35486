import type { Pair } from './token.ts'

/** Past rounds of one feed, packed: a million take 16 MB. An answer is `answers[n]`, plus `rests[n]` if inexact. */
export type Rounds = {
  /** Time of each round, epoch seconds, ascending. */
  readonly atSeconds: Float64Array
  /** The nearest double to each answer, an integer with the series' decimals. */
  readonly answers: Float64Array
  /** Answer minus its double; undefined if all doubles are exact. */
  readonly rests: Float64Array | undefined
}

/** Past answers of a feed, read forward only, from the beginning. */
export type PriceSeries = {
  readonly pair: Pair
  readonly decimals: number
  /** For messages: a file, a chain, a seed. */
  readonly source: string
  /** The rounds in chunks, one in memory at a time. Throws on invalid rounds when it reaches them. */
  rounds(): Iterable<Rounds>
}

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

  /** Returns and clears the collected rounds. */
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

export function answerAt({ answers, rests }: Rounds, index: number): bigint {
  const answer = BigInt(answers[index] ?? Number.NaN)
  const rest = rests?.[index]
  return rest === undefined ? answer : answer + BigInt(rest)
}
