import type { Rounds } from '../../domain/money/price-series.ts'

export type Period = {
  readonly fromSeconds: number
  readonly untilSeconds: number
}

/** Measures a feed's rounds in a period, and for how long the newest was too old. */
export class Coverage {
  readonly #period: Period
  readonly #maxAgeSeconds: number
  /** Time of the first round, epoch seconds. */
  firstSeconds: number | undefined
  /** Time of the last round read, which may be the first after the period. */
  lastSeconds: number | undefined
  /** Seconds of the period in which the newest round was too old, until another arrived. */
  gapSeconds = 0
  longestGap: Period | undefined

  constructor(period: Period, maxAgeSeconds: number) {
    this.#period = period
    this.#maxAgeSeconds = maxAgeSeconds
  }

  /** Time at which the last round became too old, if within the period. */
  get endsAtSeconds(): number | undefined {
    const endsAt = (this.lastSeconds ?? Number.POSITIVE_INFINITY) + this.#maxAgeSeconds
    return endsAt < this.#period.untilSeconds ? endsAt : undefined
  }

  add({ atSeconds }: Rounds): void {
    this.firstSeconds ??= atSeconds[0]
    let last = this.lastSeconds ?? this.firstSeconds ?? 0
    for (let index = 0; index < atSeconds.length; index += 1) {
      const at = atSeconds[index] ?? last
      if (at - last > this.#maxAgeSeconds) this.#addGap(last, at)
      last = at
    }
    if (atSeconds.length > 0) this.lastSeconds = last
  }

  #addGap(lastSeconds: number, nextSeconds: number): void {
    const fromSeconds = Math.max(this.#period.fromSeconds, lastSeconds + this.#maxAgeSeconds)
    const untilSeconds = Math.min(this.#period.untilSeconds, nextSeconds)
    const seconds = untilSeconds - fromSeconds
    if (seconds <= 0) return
    this.gapSeconds += seconds
    const { longestGap: longest } = this
    if (longest === undefined || seconds > longest.untilSeconds - longest.fromSeconds)
      this.longestGap = { fromSeconds, untilSeconds }
  }
}
