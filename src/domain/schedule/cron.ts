import { daysInMonth, MONTH_NAMES } from './civil-date.ts'
import {
  CRON_FIELDS,
  type Fault,
  fault,
  type Piece,
  parseField,
  placeOf,
  type Values,
} from './cron-field.ts'
import { type DayFields, hasDay, isDayOf } from './day-fields.ts'

/** A parsed cron pattern: allowed values per field, ascending. A day field of relative days only has none. */
export type CronPattern = DayFields & {
  readonly text: string
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  /** 1 is January. */
  readonly months: readonly number[]
  /** As in Vixie cron: `interval` if second, minute or hour starts with `*`. They differ at clock changes. */
  readonly timing: 'fixed' | 'interval'
}

type CronParsed = { readonly ok: true; readonly pattern: CronPattern } | Fault

/** The seconds field of a five-field pattern. */
const IMPLIED: Piece = { text: '0', offset: 0 }

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/**
 * Parses five cron fields (minute, hour, day-of-month, month, day-of-week), six with seconds first, or a macro such as
 * `@daily`. A fault has a message and its `offset` and `length` in `text`. The message only suggests replacements that
 * parse.
 */
export function parseCron(text: string): CronParsed {
  const parsed = parseText(text)
  if (parsed.ok || parsed.remedy === undefined) return parsed
  const { message, offset, length, remedy } = parsed
  const mended = parseText(text.slice(0, offset) + remedy + text.slice(offset + length))
  const parses = mended.ok || mended.offset >= offset + remedy.length
  return { ...parsed, message: parses ? `${message}: write ${remedy}` : message }
}

function parseText(text: string): CronParsed {
  const source = text.trim()
  const start = text.indexOf(source)
  if (source.startsWith('@')) return parseMacro({ text: source, offset: start })
  const fields = splitFields(text)
  const extra = fields[6]
  if (extra) {
    const message = `a cron pattern has at most six fields (second first), here are ${fields.length}`
    return fault(message, placeOf(extra))
  }
  if (fields.length < 5) {
    const message = `a cron pattern has five fields (minute hour day-of-month month day-of-week) or six (second first), here are ${fields.length}`
    return fault(message, placeOf({ text: source, offset: start }))
  }
  return parseFields(source, fields)
}

function parseMacro(macro: Piece): CronParsed {
  const meaning = MACROS[macro.text.toLowerCase()]
  if (meaning !== undefined) return parseFields(macro.text, splitFields(meaning))
  const message = `unknown macro "${macro.text}": use ${Object.keys(MACROS).join(', ')}`
  return fault(message, placeOf(macro))
}

function splitFields(text: string): Piece[] {
  return Array.from(text.matchAll(/\S+/g), (match) => ({ text: match[0], offset: match.index }))
}

function parseFields(source: string, given: readonly Piece[]): CronParsed {
  const texts = given.length === 5 ? [IMPLIED, ...given] : given
  const parsed: Required<Values>[] = []
  for (const [index, field] of CRON_FIELDS.entries()) {
    const found = parseField(field, texts[index] ?? IMPLIED)
    if (!found.ok) return found
    parsed.push(found)
  }
  const [seconds = [], minutes = [], hours = [], daysOfMonth = [], months = [], daysOfWeek = []] =
    parsed.map(({ values }) => values)
  const isAny = texts.map(({ text }) => /^[*?]/.test(text))
  const [anySecond, anyMinute, anyHour, anyDay, , anyWeekday] = isAny
  const ofMonth = parsed.flatMap(({ monthDays }) => monthDays)
  const ofWeek = parsed.flatMap(({ nthWeekdays }) => nthWeekdays)
  const pattern: CronPattern = {
    text: source,
    seconds,
    minutes,
    hours,
    daysOfMonth,
    months,
    daysOfWeek,
    relativeDays: ofMonth.length + ofWeek.length === 0 ? undefined : { ofMonth, ofWeek },
    dayRule: anyDay || anyWeekday ? 'both' : 'either',
    timing: anySecond || anyMinute || anyHour ? 'interval' : 'fixed',
  }
  // In the calendar's 400 years every date, including 29 February, falls on every day of the week.
  const canOccur =
    pattern.dayRule === 'either' || pattern.months.some((month) => canOccurIn(pattern, month))
  return canOccur ? { ok: true, pattern } : neverFault(pattern, texts)
}

function neverFault(
  { months, daysOfMonth, relativeDays }: CronPattern,
  texts: readonly Piece[],
): Fault {
  const [ofMonth = IMPLIED, , ofWeek = IMPLIED] = texts.slice(3)
  const days = relativeDays === undefined ? daysOfMonth.join(' or ') : ofMonth.text
  const weekday = relativeDays?.ofWeek.length ? ` that is ${ofWeek.text}` : ''
  const message = `never occurs: no ${monthList(months)} has a day ${days}${weekday}`
  return fault(message, placeOf(ofMonth))
}

function canOccurIn(pattern: CronPattern, month: number): boolean {
  const longest = daysInMonth(LEAP_YEAR, month)
  for (let lastDay = month === 2 ? 28 : longest; lastDay <= longest; lastDay += 1)
    for (let day = 1; day <= lastDay; day += 1)
      for (let weekday = 0; weekday < 7; weekday += 1)
        if (isDayOf(pattern, { day, weekday, lastDay })) return true
  return false
}

const LEAP_YEAR = 2_000

function monthList(months: readonly number[]): string {
  if (months.length === MONTH_NAMES.length) return 'month'
  return months.map((month) => MONTH_NAMES[month - 1]).join(' or ')
}

/** Surprising properties of a valid pattern, one sentence each. */
export function cronWarnings(pattern: CronPattern): string[] {
  return [
    ...dayRuleWarnings(pattern),
    ...shortMonthWarnings(pattern),
    ...fifthWeekdayWarnings(pattern),
    ...repeatWarnings(pattern),
    ...unevenStepWarnings(pattern),
  ]
}

function dayRuleWarnings(pattern: CronPattern): string[] {
  if (pattern.dayRule === 'either')
    return [
      'day-of-month and day-of-week are both restricted: runs on days that match either of them, unlike tools that require both',
    ]
  if (pattern.daysOfMonth.length === 31 || pattern.daysOfWeek.length === 7) return []
  return [
    'day-of-month and day-of-week both narrow the days and one starts with *: runs only on days that match both',
  ]
}

function shortMonthWarnings(pattern: CronPattern): string[] {
  const { relativeDays, months, daysOfMonth, dayRule } = pattern
  if (dayRule === 'either') return []
  const skipped = months.filter((month) => !hasDay(pattern, daysInMonth(LEAP_YEAR, month)))
  const warnings = skipped.map((month) => MONTH_NAMES[month - 1] ?? '')
  const isLeapDay = hasDay(pattern, 29) && !hasDay(pattern, 28)
  if (isLeapDay && months.includes(2)) warnings.push('Feb except in leap years')
  if (warnings.length === 0) return []
  const what =
    relativeDays === undefined
      ? `day-of-month starts at ${daysOfMonth[0]}`
      : `${splitFields(pattern.text).at(-3)?.text} in day-of-month`
  return [`${what}: does not run in ${warnings.join(', ')}`]
}

function fifthWeekdayWarnings({ relativeDays }: CronPattern): string[] {
  const hasFifth = relativeDays?.ofWeek.some(({ nth }) => nth === 5) ?? false
  return hasFifth
    ? ['#5 in day-of-week: does not run in months without a fifth one; #L is the last one']
    : []
}

function repeatWarnings(pattern: CronPattern): string[] {
  const warnings: string[] = []
  if (pattern.seconds.length === 60 && pattern.minutes.length < 60) {
    warnings.push('runs 60 times in each matching minute: write 0 in the second field for once')
  }
  if (pattern.minutes.length === 60 && pattern.hours.length < 24) {
    warnings.push(
      'runs in all 60 minutes of each matching hour: write 0 in the minute field for once',
    )
  }
  return warnings
}

function unevenStepWarnings(pattern: CronPattern): string[] {
  const texts = splitFields(MACROS[pattern.text.toLowerCase()] ?? pattern.text)
  const fields = CRON_FIELDS.slice(CRON_FIELDS.length - texts.length)
  return fields.flatMap(({ name, min, max, within }, index) => {
    const text = texts[index]?.text ?? ''
    const step = Number.parseInt(/^[*?]\/(\d+)$/.exec(text)?.[1] ?? '1', 10)
    if ((max - min + 1) % step === 0) return []
    return `${text} in ${name} starts again at ${min} in each ${within}: the last interval before that is shorter`
  })
}
