import { Cron } from 'croner'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { latestSlotAtOrBefore, nextSlot, slotsBetween } from '../../src/domain/schedule/calendar.ts'
import { parseCron } from '../../src/domain/schedule/cron.ts'
import type { CronRecurrence as Recurrence } from '../../src/domain/schedule/schedule.ts'
import { walkSlots } from '../../src/domain/schedule/slot-walk.ts'
import { rememberFormats } from '../support/remembered-formats.ts'

// croner spends nearly all its time there.
rememberFormats()

const DAY = 86_400
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia']
const FIRST = Date.UTC(2024, 0, 1) / 1_000
const LAST = Date.UTC(2036, 0, 1) / 1_000

function schedule(cron: string, timezone: string): Recurrence {
  const parsed = parseCron(cron)
  if (!parsed.ok) throw new Error(`${cron}: ${parsed.message}`)
  return { type: 'cron', cron, pattern: parsed.pattern, timezone }
}

/** The next slots by croner, with the fixed-time rule nearest to Vixie cron. */
function cronerSlots(cron: string, timezone: string, after: number, count: number): number[] {
  const job = new Cron(cron, { timezone, fixedTimeRule: 'no-wildcard', paused: true })
  return job.nextRuns(count, new Date(after * 1_000)).map((run) => run.getTime() / 1_000)
}

/** A fifth Sunday of February occurs every 28 or 40 years; twelve of them exceed croner's search range. */
const SEARCHED = 60 * 366 * DAY

function ourSlots(of: Recurrence, after: number, count: number): number[] {
  return slotsBetween(of, after, after + SEARCHED, count).slots
}

const between = (min: number, max: number) => fc.integer({ min, max })
const listOf = (item: fc.Arbitrary<string>, plain: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.array(item, { minLength: 1, maxLength: 2 }), fc.array(plain, { maxLength: 1 }))
    .map((parts) => parts.flat().join(','))
const weekday = fc.oneof(
  between(0, 7).map(String),
  fc.constantFrom('sun', 'Mon', 'tue', 'WED', 'thu', 'fri', 'sat'),
)
const turn = fc.oneof(
  between(1, 5).map((nth) => `#${nth}`),
  fc.constantFrom('L', '#L'),
)
/** croner supports neither L-3 nor LW in a list. */
const monthDays = fc.oneof(
  fc.constant('LW'),
  listOf(
    fc.oneof(
      fc.constant('L'),
      between(1, 31).map((day) => `${day}W`),
    ),
    between(1, 28).map(String),
  ),
)
const weekdays = listOf(
  fc.oneof(
    fc.tuple(weekday, turn).map(([day, nth]) => `${day}${nth}`),
    fc
      .tuple(between(0, 6), between(0, 6), turn)
      .map(([a, b, nth]) => `${Math.min(a, b)}-${Math.max(a, b)}${nth}`),
  ),
  weekday,
)
const month = fc.oneof(
  { weight: 3, arbitrary: fc.constant('*') },
  { weight: 1, arbitrary: between(1, 12).map(String) },
)
const days = fc.oneof(
  fc.tuple(monthDays, month, fc.constantFrom('*', '?')),
  fc.tuple(fc.constantFrom('*', '?'), month, weekdays),
  fc.tuple(monthDays, month, weekdays),
  fc.tuple(between(1, 28).map(String), month, weekdays),
  fc.tuple(monthDays, month, weekday),
)
const time = fc.constantFrom('0 9', '30 2', '0 0', '59 23', '30 1,2', '*/30 1', '0 */8', '0 0 0')
const pattern = fc.tuple(time, days).map(([at, on]) => [at, ...on].join(' '))
const placed = fc.record({
  cron: pattern,
  timezone: fc.constantFrom(...ZONES),
  moment: between(FIRST, LAST),
})

describe('days that depend on their month', () => {
  test('equal those of croner in every zone and year', () => {
    fc.assert(
      fc.property(placed, ({ cron, timezone, moment }) => {
        fc.pre(parseCron(cron).ok)
        const theirs = cronerSlots(cron, timezone, moment, 12).filter(
          (slot) => slot <= moment + SEARCHED,
        )
        expect(ourSlots(schedule(cron, timezone), moment, 12)).toEqual(theirs)
      }),
      { numRuns: 300 },
    )
  })

  test('are refused only when croner finds none either', () => {
    fc.assert(
      fc.property(pattern, (cron) => {
        const parsed = parseCron(cron)
        if (parsed.ok) return
        expect(parsed.message).toMatch(/^never occurs/)
        expect(cronerSlots(cron, 'UTC', FIRST, 1)).toEqual([])
      }),
      { numRuns: 1_000 },
    )
  })

  test.each([
    ['0 9 L * *', '2027-01-31 2027-02-28 2027-03-31 2027-04-30'],
    ['0 9 L 2 *', '2027-02-28 2028-02-29 2029-02-28 2030-02-28'],
    ['0 9 L-3 * *', '2027-01-28 2027-02-25 2027-03-28 2027-04-27'],
    ['0 9 L-30 * *', '2027-01-01 2027-03-01 2027-05-01 2027-07-01'],
    ['0 9 LW * *', '2027-01-29 2027-02-26 2027-03-31 2027-04-30'],
    ['0 9 1W * *', '2027-01-01 2027-02-01 2027-03-01 2027-04-01'],
    ['0 9 1W 5,8 *', '2027-05-03 2027-08-02 2028-05-01 2028-08-01'],
    ['0 9 16W,17W 1 *', '2027-01-15 2027-01-18 2028-01-17 2029-01-16'],
    ['0 9 31W * *', '2027-01-29 2027-03-31 2027-05-31 2027-07-30'],
    ['0 9 * * 5#1', '2027-01-01 2027-02-05 2027-03-05 2027-04-02'],
    ['0 9 * * mon#5', '2027-03-29 2027-05-31 2027-08-30 2027-11-29'],
    ['0 9 * * 5L', '2027-01-29 2027-02-26 2027-03-26 2027-04-30'],
    ['0 9 * 2 5#5', '2036-02-29 2064-02-29 2092-02-29'],
    ['0 9 L * 5L', '2027-01-29 2027-01-31 2027-02-26 2027-02-28'],
    ['0 9 */2 * 5L', '2027-01-29 2027-06-25 2027-08-27 2027-10-29'],
  ])('%s falls on %s', (cron, dates) => {
    const slots: number[] = []
    let at: number | undefined = Date.UTC(2027, 0, 1) / 1_000
    for (const _ of dates.split(' ')) {
      at = nextSlot(schedule(cron, 'UTC'), at ?? 0)
      slots.push(at ?? 0)
    }
    const found = slots.map((slot) => new Date(slot * 1_000).toISOString().slice(0, 10))
    expect(found.join(' ')).toBe(dates)
  })

  test('are the same backwards, forwards and by a walk', () => {
    fc.assert(
      fc.property(placed, ({ cron, timezone, moment }) => {
        fc.pre(parseCron(cron).ok)
        const of = schedule(cron, timezone)
        const until = moment + 400 * DAY
        const { slots } = slotsBetween(of, moment, until, 10_000)
        expect(latestSlotAtOrBefore(of, until, moment + 1)).toBe(slots.at(-1))
        const [first] = slots
        const walked = first === undefined ? undefined : { count: slots.length, first }
        const walk = walkSlots(of, moment, until)
        expect(walk.passUntil(until + 1)).toEqual(walked && { ...walked, last: slots.at(-1) })
      }),
      { numRuns: 100 },
    )
  })
})

/** The suggestion of a refusal, and the pattern with the suggestion in place of the marked part. */
function applySuggestion(
  cron: string,
): { readonly remedy: string; readonly text: string } | undefined {
  const parsed = parseCron(cron)
  if (parsed.ok) return undefined
  const remedy = /: write (\S+)(?: in [a-z-]+)?$/.exec(parsed.message)?.[1]
  if (remedy === undefined) return undefined
  const { offset, length } = parsed
  return { remedy, text: cron.slice(0, offset) + remedy + cron.slice(offset + length) }
}

/** A pattern after each successive suggestion. Throws when suggestions do not end. */
function afterSuggestions(cron: string): readonly { remedy: string; text: string }[] {
  const found: { remedy: string; text: string }[] = []
  for (let next = applySuggestion(cron); next !== undefined; next = applySuggestion(next.text)) {
    found.push(next)
    if (found.length > 40) throw new Error(`${cron}: no end of suggestions, ${next.text} last`)
  }
  return found
}

const FIELDS = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12 },
  { min: 0, max: 6 },
]
const ALONE = ['0', '9', '1', '1', '1']

describe('the suggestion of a refusal', () => {
  const value = fc.oneof(
    between(0, 60).map(String),
    between(0, 12).map(String),
    fc.constantFrom('sun', 'FRI', 'saturday', 'jan', 'feb', 'dec', 'L', 'LW', '15W', '5L', '5#2'),
    fc.constantFrom('*', '?', '', 'x', '-1', '07', '#', 'W'),
  )
  const body = fc.oneof(
    value,
    fc.tuple(value, value).map(([a, b]) => `${a}-${b}`),
  )
  const item = fc.oneof(
    body,
    fc.tuple(body, value).map(([of, every]) => `${of}/${every}`),
  )
  const field = fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom('*', '1', '?') },
    { weight: 3, arbitrary: fc.array(item, { minLength: 1, maxLength: 3 }).map(String) },
  )

  test('parses in each field that it replaces', () => {
    let suggested = 0
    fc.assert(
      fc.property(fc.array(field, { minLength: 5, maxLength: 6 }), (fields) => {
        let text = fields.join(' ')
        for (const next of afterSuggestions(text)) {
          const before = parseCron(text)
          const after = parseCron(next.text)
          if (before.ok) throw new Error(`${text} was accepted`)
          // Another fault may follow, but not inside the suggestion.
          if (!after.ok)
            expect(after.offset, `${text}: ${after.message}`).toBeGreaterThanOrEqual(
              before.offset + next.remedy.length,
            )
          suggested += 1
          text = next.text
        }
      }),
      { numRuns: 5_000 },
    )
    expect(suggested).toBeGreaterThan(500)
  })

  const spans = between(0, 4).chain((at) => {
    const { min, max } = FIELDS[at] ?? { min: 0, max: 0 }
    const any = between(min, max)
    return fc.record({ at: fc.constant(at), from: any, to: any, every: between(1, max - min + 1) })
  })
  const patternWith = (at: number, text: string): string => ALONE.with(at, text).join(' ')
  /** Values of a field in a valid pattern. */
  const valuesOf = (text: string, at: number): readonly number[] => {
    const parsed = parseCron(text)
    if (!parsed.ok) throw new Error(`${text}: ${parsed.message}`)
    const { minutes, hours, daysOfMonth, months, daysOfWeek } = parsed.pattern
    return [minutes, hours, daysOfMonth, months, daysOfWeek][at] ?? []
  }

  test('continues past the end of a field in the steps of a backward range', () => {
    fc.assert(
      fc.property(spans, ({ at, from, to, every }) => {
        const { min, max } = FIELDS[at] ?? { min: 0, max: 0 }
        // Sunday also ends a week.
        fc.pre(from > to && !(at === 4 && to === 0))
        const size = max - min + 1
        const meant = new Set<number>()
        for (let value = from; value <= to + size; value += every)
          meant.add(min + ((value - min) % size))
        const written = patternWith(at, every === 1 ? `${from}-${to}` : `${from}-${to}/${every}`)
        const mend = applySuggestion(written)
        expect(mend, written).toBeDefined()
        expect(valuesOf(mend?.text ?? '', at)).toEqual([...meant].sort((a, b) => a - b))
      }),
      { numRuns: 500 },
    )
  })

  test('counts a step from a single value to the end of its field', () => {
    fc.assert(
      fc.property(spans, ({ at, from, every }) => {
        const { max } = FIELDS[at] ?? { max: 0 }
        const meant = Array.from({ length: 60 }, (_, step) => from + step * every)
        const mend = applySuggestion(patternWith(at, `${from}/${every}`))
        expect(valuesOf(mend?.text ?? '', at)).toEqual(meant.filter((value) => value <= max))
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    // Shapes from the refusal tests of croner and cron-parser.
    ...['61 * * * * *', '-1 * * * * *', '30-20 * * * * *', '- * * * * *', '* 32,72 * * * *'],
    ...['* * 12-36 * * *', '* * * 10-15,40 * *', '* * * * */10,12-13 *', '* * * * * 9'],
    ...['10 ! 12 8 0', '10 */A 12 8 0', '10 0-z 12 8 0', '0 */0 * * *', '0 5/5/5 * * *'],
    ...['15 10 * * MON-TUR', '*/10 * * * * ,', '0 0 0 ? * 1/2#3', '0 0 0 ? * 1#', '/3 * * * * *'],
    ...['0 0 0 ? * 0##4', '0 15W * * * *', '0 0 * * * 2W', '0 0 0 15W-20 * *', '6/23 * * * *'],
    ...['0/30 * * * * ?', '0 9 * * 7/2', '0 9 * * 6-2/3', '0 0 31 4 *', '* * * * * 5L-6'],
    ...['0 0 L-0 * *', '0 0 L,LL * *', '0 0 LW/2 * *', '0 0 * * L5', '0 0 * * #1', '0 0 * * 5#L2'],
    ...['? 9 * * *', '5-1 22-2/5 * dec-feb/2 fri-tue', '0 0 30/1 feb *', '@every 5m'],
  ])('%s leads to a pattern that parses, or to no suggestion', (cron) => {
    const parsed = parseCron(cron)
    expect(parsed.ok).toBe(false)
    const last = parseCron(afterSuggestions(cron).at(-1)?.text ?? cron)
    expect(last.ok || !last.message.includes('write')).toBe(true)
  })

  test('names only days and macros that parse', () => {
    const messageOf = (text: string): string => {
      const parsed = parseCron(text)
      return parsed.ok ? '' : parsed.message
    }
    const hints = ['0 0 32W * *', '0 0 * * 15W'].map(messageOf).join().split('(').slice(1).join()
    const days = hints.match(/\b(?:L-\d+|LW|\d+W|\d#\d|\d?L)\b/g) ?? []
    expect(days).toHaveLength(16)
    for (const day of days) {
      const isRead = parseCron(`0 0 ${day} * *`).ok || parseCron(`0 0 * * ${day}`).ok
      expect(isRead, day).toBe(true)
    }
    const macros = messageOf('@never').split(': use ')[1]?.split(', ') ?? []
    expect(macros).toHaveLength(7)
    for (const macro of macros) expect(parseCron(macro).ok, macro).toBe(true)
  })
})
