export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS

/** Sliding windows that caps are given for. Exposures are kept longer than the longest. */
export const WINDOWS = [
  {
    cap: 'perHour',
    name: 'hour',
    ms: HOUR_MS,
    own: 'limit-per-hour',
    account: 'limit-account-per-hour',
  },
  {
    cap: 'perDay',
    name: 'day',
    ms: DAY_MS,
    own: 'limit-per-day',
    account: 'limit-account-per-day',
  },
  {
    cap: 'perWeek',
    name: 'week',
    ms: WEEK_MS,
    own: 'limit-per-week',
    account: 'limit-account-per-week',
  },
] as const
