import type { CronPattern } from './cron.ts'

/** Policy for slots that passed while the daemon was down or stalled. */
export type MissedPolicy = 'skip' | 'latest' | 'all'

/** Whether a slot may begin while an earlier one of its strategy is in flight. */
type OverlapPolicy = 'skip' | 'allow'

export type CronRecurrence = {
  readonly type: 'cron'
  readonly cron: string
  readonly pattern: CronPattern
  /** IANA time zone, e.g. `Europe/Berlin`. */
  readonly timezone: string
}

/** `count` slots, `everySeconds` apart. Without a start they begin when the schedule is first seen. */
export type IntervalRecurrence = {
  readonly type: 'interval'
  readonly everySeconds: number
  readonly count: number
  readonly startSeconds: number | undefined
}

export type Recurrence = CronRecurrence | IntervalRecurrence

export type Schedule = Recurrence & {
  readonly missed: MissedPolicy
  /** A slot found later than this is recorded as missed. */
  readonly maxLatenessMs: number
  /** Each slot is delayed by up to this much, always the same for the same slot. */
  readonly jitterMs: number
  readonly overlap: OverlapPolicy
}

/** One occurrence of a schedule, in epoch seconds. */
export type SlotSeconds = number

/** The last moment at which a slot may begin, epoch ms. Lateness counts from the maximum jitter. */
export function latestStartMs(
  { jitterMs, maxLatenessMs }: Pick<Schedule, 'jitterMs' | 'maxLatenessMs'>,
  slot: SlotSeconds,
): number {
  return slot * 1000 + jitterMs + maxLatenessMs
}

/** Identifies a recurrence: a new key restarts the slot count. */
export function scheduleKey(recurrence: Recurrence): string {
  if (recurrence.type === 'cron') return `${recurrence.cron} ${recurrence.timezone}`
  const { everySeconds, count, startSeconds } = recurrence
  return `every ${everySeconds}s x${count} from ${startSeconds ?? 'first seen'}`
}

/** A recurrence with a start: `anchorSeconds` if it begins when first seen. */
export function anchored<Any extends Recurrence>(recurrence: Any, anchorSeconds: number): Any {
  if (recurrence.type === 'cron' || recurrence.startSeconds !== undefined) return recurrence
  return { ...recurrence, startSeconds: anchorSeconds }
}
