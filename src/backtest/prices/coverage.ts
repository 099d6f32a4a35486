import type { Rounds } from '../../domain/tape.ts'

export type Period = {
  readonly fromSeconds: number
  readonly untilSeconds: number
}

/** Where the rounds of one feed lie in a period, and how long it had none that was young enough. */
export class Coverage {
  readonly #period: Period
  readonly #maxAgeSeconds: number
  #first: number | undefined
  #last: number | undefined
  #gapSeconds = 0
  #longest: Period | undefined

  constructor(period: Period, maxAgeSeconds: number) {
    this.#period = period
    this.#maxAgeSeconds = maxAgeSeconds
  }

  /** Epoch seconds of the first round of all; undefined where there is none. */
  get firstSeconds(): number | undefined {
    return this.#first
  }

  /** Of the last that was heard of: of the first after the period at the latest. */
  get lastSeconds(): number | undefined {
    return this.#last
  }

  /** When the last round was too old, if that was in the period; undefined else. */
  get endsAtSeconds(): number | undefined {
    const endsAt = (this.#last ?? Number.NEGATIVE_INFINITY) + this.#maxAgeSeconds
    return this.#last !== undefined && endsAt < this.#period.untilSeconds ? endsAt : undefined
  }

  /** Seconds of the period between two rounds in which the former was too old. */
  get gapSeconds(): number {
    return this.#gapSeconds
  }

  /** The longest time of that kind. */
  get longestGap(): Period | undefined {
    return this.#longest
  }

  /** The next rounds of the tape. */
  add({ atSeconds }: Rounds): void {
    this.#first ??= atSeconds[0]
    let last = this.#last ?? this.#first ?? 0
    for (let index = 0; index < atSeconds.length; index += 1) {
      const at = atSeconds[index] ?? last
      if (at - last > this.#maxAgeSeconds) this.#addGap(last, at)
      last = at
    }
    if (atSeconds.length > 0) this.#last = last
  }

  #addGap(lastSeconds: number, untilSeconds: number): void {
    const staleSeconds = lastSeconds + this.#maxAgeSeconds
    const gap = {
      fromSeconds: Math.max(this.#period.fromSeconds, staleSeconds),
      untilSeconds: Math.min(this.#period.untilSeconds, untilSeconds),
    }
    const seconds = lengthOf(gap)
    if (seconds <= 0) return
    this.#gapSeconds += seconds
    const longestSeconds = this.#longest === undefined ? 0 : lengthOf(this.#longest)
    if (seconds > longestSeconds) this.#longest = gap
  }
}

function lengthOf({ fromSeconds, untilSeconds }: Period): number {
  return untilSeconds - fromSeconds
}
