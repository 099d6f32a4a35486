import type { CronPattern } from './cron.ts'

/** What happens to slots that passed while the daemon was down or stalled. */
export type MissedPolicy = 'skip' | 'latest' | 'all'

export type Schedule = {
  readonly cron: string
  readonly pattern: CronPattern
  /** IANA time zone, e.g. `Europe/Berlin`. */
  readonly timezone: string
  readonly missed: MissedPolicy
  /** A slot found later than this after its time is recorded as missed. */
  readonly maxLatenessMs: number
}

/** One occurrence of a schedule, in epoch seconds. */
export type SlotSeconds = number
