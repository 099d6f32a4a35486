/** Of one person, in a minute. */
const PER_MINUTE = 20
const MINUTE_MS = 60_000

/** How many commands each person may give. Only for people whom the config names, so that it stays small. */
export class Allowance {
  readonly #given = new Map<number, number[]>()

  /** `first` is the one that is refused after others were not: worth an answer, as what follows is not. */
  take(user: number, nowMs: number): 'allowed' | 'first' | 'refused' {
    const recent = (this.#given.get(user) ?? []).filter(
      (atMs) => atMs <= nowMs && nowMs - atMs < MINUTE_MS,
    )
    this.#given.set(user, recent)
    if (recent.length > PER_MINUTE) return 'refused'
    recent.push(nowMs)
    return recent.length > PER_MINUTE ? 'first' : 'allowed'
  }
}
