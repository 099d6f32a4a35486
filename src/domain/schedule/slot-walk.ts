import { slotsBetween } from './calendar.ts'
import { DAY_SECONDS } from './civil-date.ts'
import type { CronPattern } from './cron.ts'
import { matchesDay } from './cron-match.ts'
import type { CronRecurrence, IntervalRecurrence, Recurrence, SlotSeconds } from './schedule.ts'
import { offsetSpanAt } from './timezone.ts'

const NEVER = Number.POSITIVE_INFINITY

/** Slots in a row that were walked over: how many, and the first and last of them. */
export type Walked = {
  readonly count: number
  readonly first: SlotSeconds
  readonly last: SlotSeconds
}

/**
 * The slots of a schedule one after the other, forwards: the same as `nextSlot` asked again and again, for who walks over
 * hundreds of thousands of them.
 */
export type SlotWalk = {
  /** The next slot, epoch seconds; infinity where none follows. */
  readonly next: SlotSeconds
  /** Goes over the next slot. */
  pass(): void
  /** Goes over all slots before a second; undefined where there are none. */
  passUntil(seconds: number): Walked | undefined
}

/** Begins after a second. `untilSeconds`: where the walk ends at the latest. */
export function walkSlots(
  schedule: Recurrence,
  afterSeconds: number,
  untilSeconds: number,
): SlotWalk {
  return schedule.type === 'cron'
    ? new CronWalk(schedule, afterSeconds, untilSeconds)
    : new IntervalWalk(schedule, afterSeconds, untilSeconds)
}

class IntervalWalk implements SlotWalk {
  next: SlotSeconds
  readonly #everySeconds: number
  readonly #end: number

  constructor(
    { startSeconds = NEVER, everySeconds, count }: IntervalRecurrence,
    afterSeconds: number,
    untilSeconds: number,
  ) {
    const index = Math.max(0, Math.floor((afterSeconds - startSeconds) / everySeconds) + 1)
    this.#everySeconds = everySeconds
    this.#end = Math.min(startSeconds + (count - 1) * everySeconds, untilSeconds)
    this.next = this.#bounded(startSeconds + index * everySeconds)
  }

  pass(): void {
    this.next = this.#bounded(this.next + this.#everySeconds)
  }

  passUntil(seconds: number): Walked | undefined {
    const before = Math.min(seconds - 1, this.#end)
    if (this.next > before) return undefined
    const first = this.next
    const count = Math.floor((before - first) / this.#everySeconds) + 1
    const last = first + (count - 1) * this.#everySeconds
    this.next = this.#bounded(last + this.#everySeconds)
    return { count, first, last }
  }

  #bounded(slot: number): number {
    return slot <= this.#end ? slot : NEVER
  }
}

/**
 * A day at a time. The pattern's times of day are the same on each of its days; only where clocks change within a day the
 * calendar is asked slot by slot.
 */
class CronWalk implements SlotWalk {
  readonly #schedule: CronRecurrence
  readonly #times: readonly number[]
  readonly #untilSeconds: number
  /** Times of the stretch that is walked, after `#base`, and which of them is next. */
  #stretch: readonly number[] = []
  #base = 0
  #at = 0
  /** Where the next stretch begins, epoch seconds. */
  #ahead: number

  constructor(schedule: CronRecurrence, afterSeconds: number, untilSeconds: number) {
    this.#schedule = schedule
    this.#times = timesOfDay(schedule.pattern)
    this.#untilSeconds = untilSeconds
    this.#ahead = Math.floor(afterSeconds) + 1
    this.#fill()
  }

  get next(): SlotSeconds {
    const time = this.#stretch[this.#at]
    return time === undefined ? NEVER : this.#base + time
  }

  pass(): void {
    this.#at += 1
    this.#fill()
  }

  passUntil(seconds: number): Walked | undefined {
    const end = Math.min(seconds, this.#untilSeconds + 1)
    const first = this.next
    if (first >= end) return undefined
    let count = 0
    let last = first
    while (this.next < end) {
      const to = firstFrom(this.#stretch, this.#at, end - this.#base)
      count += to - this.#at
      last = this.#base + (this.#stretch[to - 1] ?? 0)
      this.#at = to
      this.#fill()
    }
    return { count, first, last }
  }

  /** Goes on to the next stretch that has a slot, where the one that is walked has none left. */
  #fill(): void {
    while (this.#at >= this.#stretch.length && this.#ahead <= this.#untilSeconds) this.#step()
    const isOver = this.next > this.#untilSeconds
    if (isOver) this.#stretch = []
  }

  #step(): void {
    const { pattern, timezone } = this.#schedule
    const from = this.#ahead
    const span = offsetSpanAt(timezone, from)
    const wall = from + span.offsetSeconds
    const day = Math.floor(wall / DAY_SECONDS)
    const dayEnds = (day + 1) * DAY_SECONDS - span.offsetSeconds
    const until = Math.min(dayEnds, span.untilSeconds)
    const isWhole = until - from === DAY_SECONDS && span.wallReachedSeconds <= wall
    this.#at = 0
    this.#ahead = until
    this.#base = isWhole ? from : 0
    if (isWhole) this.#stretch = matchesDay(pattern, day) ? this.#times : []
    else this.#stretch = slotsBetween(this.#schedule, from - 1, until - 1, DAY_SECONDS).slots
  }
}

function timesOfDay({ hours, minutes, seconds }: CronPattern): readonly number[] {
  return hours.flatMap((hour) =>
    minutes.flatMap((minute) => seconds.map((second) => hour * 3_600 + minute * 60 + second)),
  )
}

/** The index of the first of ascending times, from `from` on, that is not before `least`. */
function firstFrom(times: readonly number[], from: number, least: number): number {
  let low = from
  let high = times.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] ?? 0) < least) low = middle + 1
    else high = middle
  }
  return low
}
