/** Where a pair of requests stands. */
export type Spot = {
  readonly rank: number
  readonly number: number
  /** `near`: the turn of its second request is near, so that the first may be made. */
  at: 'away' | 'in line' | 'near'
  nearMs: number
  /** Whether its second request waits for its turn. */
  isQueued: boolean
  onNear: (() => void) | undefined
}

type LineOptions = {
  /** Pairs that may be between their two requests at once. */
  readonly preparedMax: number
  /** Time until the next request of the route may start, or the one after so many others. */
  readonly delayMs: (ahead: number) => number
  /** Requests of the route that wait for their turn, of pairs and alone. */
  readonly waiting: () => number
  /** Has the line advance again after a while. */
  readonly lookAgainIn: (ms: number) => void
}

/**
 * Pairs of requests in the order of their rank. A pair is let through when the turn of its second request is near,
 * counted behind those that were let through before it and behind whatever else waits for that route: the answer to its
 * first request then does not grow old before it is used.
 */
export class Line {
  readonly #options: LineOptions
  #spots: Spot[] = []
  #made = 0
  #near = 0
  #queued = 0

  constructor(options: LineOptions) {
    this.#options = options
  }

  /** Pairs that are not let through yet. */
  get length(): number {
    return this.#spots.length
  }

  spot(rank: number): Spot {
    this.#made += 1
    const number = this.#made
    return { rank, number, at: 'away', nearMs: 0, isQueued: false, onNear: undefined }
  }

  enter(spot: Spot, nearMs: number): void {
    if (spot.at !== 'away') return
    spot.nearMs = nearMs
    spot.at = 'in line'
    let at = this.#spots.length
    while (at > 0 && isBehind(this.#spots[at - 1], spot)) at -= 1
    this.#spots.splice(at, 0, spot)
    this.advance()
  }

  /** The second request of a pair waits for its turn. */
  queued(spot: Spot): void {
    this.#let(spot)
    if (!spot.isQueued) this.#queued += 1
    spot.isQueued = true
  }

  /** It has begun, or its pair has gone away. */
  leave(spot: Spot): void {
    if (spot.isQueued) this.#queued -= 1
    spot.isQueued = false
    if (spot.at === 'near') this.#near -= 1
    if (spot.at === 'in line') this.#spots = this.#spots.filter((each) => each !== spot)
    spot.at = 'away'
  }

  /** Lets through whose turn is near by now. */
  advance(): void {
    for (;;) {
      const [first] = this.#spots
      if (first === undefined || this.#near >= this.#options.preparedMax) return
      const alone = Math.max(0, this.#options.waiting() - this.#queued)
      const delayMs = this.#options.delayMs(this.#near + alone)
      if (delayMs > first.nearMs) {
        this.#options.lookAgainIn(delayMs - first.nearMs)
        return
      }
      this.#spots.shift()
      this.#let(first)
      first.onNear?.()
    }
  }

  #let(spot: Spot): void {
    if (spot.at !== 'near') this.#near += 1
    spot.at = 'near'
  }
}

function isBehind(one: Spot | undefined, other: Spot): boolean {
  if (one === undefined) return false
  return one.rank === other.rank ? one.number > other.number : one.rank > other.rank
}
