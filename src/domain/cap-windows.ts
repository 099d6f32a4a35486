export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS

/** Sliding windows of caps. Exposures are kept longer than the longest window. */
export const WINDOWS = [
  windowOf('hour', 'perHour', HOUR_MS),
  windowOf('day', 'perDay', DAY_MS),
  windowOf('week', 'perWeek', WEEK_MS),
]

function windowOf(
  name: 'hour' | 'day' | 'week',
  cap: 'perHour' | 'perDay' | 'perWeek',
  ms: number,
) {
  return { name, cap, ms, own: `limit-per-${name}`, account: `limit-account-per-${name}` } as const
}
