/** The days of a cron pattern. Plain values are ascending. */
export type DayFields = {
  readonly daysOfMonth: readonly number[]
  /** 0 is Sunday, 6 is Saturday. */
  readonly daysOfWeek: readonly number[]
  readonly relativeDays?: RelativeDays | undefined
  /** As in Vixie cron: both day fields must match if one starts with `*` or `?`, either one if both are restricted. */
  readonly dayRule: 'both' | 'either'
}

/** As in croner and node-cron. Quartz counts weekdays from 1, and moves `31W` within shorter months. */
type RelativeDays = {
  readonly ofMonth: readonly MonthDay[]
  readonly ofWeek: readonly NthWeekday[]
}

export type MonthDay =
  /** `L` and `L-3`: days before the last day. */
  | { readonly type: 'before-last'; readonly days: number }
  /** `15W` and `LW`: the nearest day from Monday to Friday in the same month. */
  | { readonly type: 'nearest-weekday'; readonly to: number | 'last' }

/** `5#2` and `5L`: the second and the last Friday. */
export type NthWeekday = { readonly weekday: number; readonly nth: number | 'last' }

type DayInMonth = {
  readonly day: number
  readonly weekday: number
  /** Only relative days depend on it. */
  readonly lastDay: number
}

const SATURDAY = 6
const OFFSET_MAX = 30

/** Parses `L`, `L-1` to `L-30`, `1W` to `31W` and `LW`; undefined for other text. */
export function monthDayOf(text: string): MonthDay | undefined {
  if (/^l$/i.test(text)) return { type: 'before-last', days: 0 }
  if (/^lw$/i.test(text)) return { type: 'nearest-weekday', to: 'last' }
  const days = Number.parseInt(/^l-(\d{1,2})$/i.exec(text)?.[1] ?? '0', 10)
  if (days >= 1 && days <= OFFSET_MAX) return { type: 'before-last', days }
  const to = Number.parseInt(/^(\d{1,2})w$/i.exec(text)?.[1] ?? '0', 10)
  return to >= 1 && to <= 31 ? { type: 'nearest-weekday', to } : undefined
}

/** Matches the day fields only, not the month. */
export function isDayOf(pattern: DayFields, at: DayInMonth): boolean {
  const { daysOfMonth, daysOfWeek, relativeDays, dayRule } = pattern
  const inMonth =
    daysOfMonth.includes(at.day) ||
    (relativeDays?.ofMonth.some((monthDay) => dayIn(at, monthDay) === at.day) ?? false)
  const inWeek =
    daysOfWeek.includes(at.weekday) ||
    (relativeDays?.ofWeek.some((nth) => isNthWeekday(at, nth)) ?? false)
  return dayRule === 'either' ? inMonth || inWeek : inMonth && inWeek
}

/** Whether the day-of-month field allows a day in a month of `lastDay` days. */
export function hasDay({ daysOfMonth, relativeDays }: DayFields, lastDay: number): boolean {
  const anyMonth = { day: 1, weekday: 1, lastDay }
  return (
    daysOfMonth.some((day) => day <= lastDay) ||
    (relativeDays?.ofMonth.some((monthDay) => dayIn(anyMonth, monthDay) !== undefined) ?? false)
  )
}

/** The day of the month that a relative day means; undefined if the month has none. */
function dayIn({ day, weekday, lastDay }: DayInMonth, monthDay: MonthDay): number | undefined {
  if (monthDay.type === 'before-last') {
    const found = lastDay - monthDay.days
    return found >= 1 ? found : undefined
  }
  const target = monthDay.to === 'last' ? lastDay : monthDay.to
  if (target > lastDay) return undefined
  const targetWeekday = (weekday + target - day + 35) % 7
  if (targetWeekday === SATURDAY) return target === 1 ? 3 : target - 1
  if (targetWeekday === 0) return target === lastDay ? target - 2 : target + 1
  return target
}

function isNthWeekday({ day, weekday, lastDay }: DayInMonth, wanted: NthWeekday): boolean {
  if (weekday !== wanted.weekday) return false
  return wanted.nth === 'last' ? day + 7 > lastDay : Math.ceil(day / 7) === wanted.nth
}
