import { daysInMonth } from './civil-date.ts'
import { CRON_FIELDS, type CronField, type Fault, fault, parseField } from './cron-field.ts'

/** A parsed cron pattern: for each field the allowed values, ascending and never empty. */
export type CronPattern = {
  /** The source text without surrounding blanks. */
  readonly text: string
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly daysOfMonth: readonly number[]
  /** 1 is January. */
  readonly months: readonly number[]
  /** 0 is Sunday, 6 is Saturday. */
  readonly daysOfWeek: readonly number[]
  /**
   * As in Vixie cron: a day has to match both day fields when one of them starts with `*` or `?`, and either of them
   * when both are restricted.
   */
  readonly dayRule: 'both' | 'either'
  /**
   * As in Vixie cron: a pattern whose second, minute or hour field starts with `*` keeps an interval; any other names
   * fixed times of day. They differ when clocks change.
   */
  readonly timing: 'fixed' | 'interval'
}

export type CronParsed = { readonly ok: true; readonly pattern: CronPattern } | Fault

type FieldText = { readonly text: string; readonly offset: number }

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

const MONTH_NAMES = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')

/**
 * Parses five cron fields (minute, hour, day-of-month, month, day-of-week), six with seconds first, or a macro such as
 * `@daily`. A fault says what is wrong, and `offset` and `length` where in `text`.
 */
export function parseCron(text: string): CronParsed {
  const source = text.trim()
  const start = text.indexOf(source)
  if (source.startsWith('@')) return parseMacro({ text: source, offset: start })
  const fields = splitFields(text)
  const extra = fields[6]
  if (extra) {
    const message = `a cron pattern has at most six fields (second first), here are ${fields.length}`
    return fault(message, extra.offset, extra.text.length)
  }
  if (fields.length < 5) {
    const message = `a cron pattern has five fields (minute hour day-of-month month day-of-week) or six (second first), here are ${fields.length}`
    return fault(message, start, source.length)
  }
  return parseFields(source, fields)
}

function parseMacro(macro: FieldText): CronParsed {
  const meaning = MACROS[macro.text.toLowerCase()]
  if (meaning !== undefined) return parseFields(macro.text, splitFields(meaning))
  const message = `unknown macro "${macro.text}": use ${Object.keys(MACROS).join(', ')}`
  return fault(message, macro.offset, macro.text.length)
}

function splitFields(text: string): FieldText[] {
  return Array.from(text.matchAll(/\S+/g), (match) => ({ text: match[0], offset: match.index }))
}

function parseFields(source: string, given: readonly FieldText[]): CronParsed {
  const implied: FieldText = { text: '0', offset: 0 }
  const texts = given.length === 5 ? [implied, ...given] : given
  const values: number[][] = []
  for (const [index, field] of CRON_FIELDS.entries()) {
    const { text, offset } = texts[index] ?? implied
    const parsed = parseField(field, { text, offset })
    if (!parsed.ok) return parsed
    values.push(parsed.values)
  }
  const [seconds = [], minutes = [], hours = [], daysOfMonth = [], months = [], daysOfWeek = []] =
    values
  const [anySecond, anyMinute, anyHour, anyDay, , anyWeekday] = texts.map(isWild)
  const pattern: CronPattern = {
    text: source,
    seconds,
    minutes,
    hours,
    daysOfMonth,
    months,
    daysOfWeek,
    dayRule: anyDay || anyWeekday ? 'both' : 'either',
    timing: anySecond || anyMinute || anyHour ? 'interval' : 'fixed',
  }
  if (canOccur(pattern)) return { ok: true, pattern }
  const where = texts[3] ?? implied
  const message = `never occurs: no ${monthList(months)} has a day ${daysOfMonth.join(' or ')}`
  return fault(message, where.offset, where.text.length)
}

function isWild(field: FieldText): boolean {
  return field.text.startsWith('*') || field.text.startsWith('?')
}

function canOccur(pattern: CronPattern): boolean {
  // Over the 400 years of the calendar every date, 29 February too, falls on every day of the week.
  if (pattern.dayRule === 'either') return true
  return pattern.months.some((month) => hasDay(pattern, longestMonthDays(month)))
}

/** Whether a month of `days` days has a day that the day-of-month field allows. */
function hasDay(pattern: CronPattern, days: number): boolean {
  return pattern.daysOfMonth.some((day) => day <= days)
}

function longestMonthDays(month: number): number {
  const leapYear = 2_000
  return daysInMonth(leapYear, month)
}

function monthList(months: readonly number[]): string {
  return months.map((month) => MONTH_NAMES[month - 1]).join(' or ')
}

/** What an operator may not expect of a valid pattern; one sentence each, none for a plain one. */
export function cronWarnings(pattern: CronPattern): string[] {
  return [
    ...dayRuleWarnings(pattern),
    ...shortMonthWarnings(pattern),
    ...repeatWarnings(pattern),
    ...unevenStepWarnings(pattern),
  ]
}

function dayRuleWarnings(pattern: CronPattern): string[] {
  if (pattern.dayRule === 'either') {
    return [
      'day-of-month and day-of-week are both restricted: runs on days that match either of them, unlike tools that require both',
    ]
  }
  if (pattern.daysOfMonth.length === 31 || pattern.daysOfWeek.length === 7) return []
  return [
    'day-of-month and day-of-week both narrow the days and one starts with *: runs only on days that match both',
  ]
}

function shortMonthWarnings(pattern: CronPattern): string[] {
  if (pattern.dayRule === 'either') return []
  const firstDay = pattern.daysOfMonth[0] ?? 1
  const skipped = pattern.months.filter((month) => !hasDay(pattern, longestMonthDays(month)))
  const warnings = skipped.map((month) => MONTH_NAMES[month - 1] ?? '')
  if (firstDay === 29 && pattern.months.includes(2)) warnings.push('Feb except in leap years')
  if (warnings.length === 0) return []
  return [`day-of-month starts at ${firstDay}: does not run in ${warnings.join(', ')}`]
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
  return fields.flatMap((field, index) => unevenStepWarning(field, texts[index]?.text ?? ''))
}

function unevenStepWarning(field: CronField, text: string): string[] {
  const step = Number.parseInt(/^[*?]\/(\d+)$/.exec(text)?.[1] ?? '1', 10)
  if ((field.max - field.min + 1) % step === 0) return []
  const restart = `starts again at ${field.min} in each ${field.within}`
  return [`${text} in ${field.name} ${restart}: the last interval before that is shorter`]
}
