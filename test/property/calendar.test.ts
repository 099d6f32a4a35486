import { Cron } from 'croner'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { latestSlotAtOrBefore, nextSlot, slotsBetween } from '../../src/domain/schedule/calendar.ts'
import {
  civilDate,
  dayOfWeek,
  daysInMonth,
  epochDay,
} from '../../src/domain/schedule/civil-date.ts'
import { parseCron } from '../../src/domain/schedule/cron.ts'
import type { CronRecurrence as Recurrence } from '../../src/domain/schedule/schedule.ts'
import { rememberFormats } from '../support/remembered-formats.ts'

// croner spends nearly all its time there.
rememberFormats()

const DAY = 86_400
const HALF_HOUR = 1_800
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/St_Johns',
  'Africa/Cairo',
  'Asia/Kolkata',
]
const FIRST = Date.UTC(2026, 0, 1) / 1_000
const LAST = Date.UTC(2031, 0, 1) / 1_000

function schedule(cron: string, timezone: string): Recurrence {
  const parsed = parseCron(cron)
  if (!parsed.ok) throw new Error(`${cron}: ${parsed.message}`)
  return { type: 'cron', cron, pattern: parsed.pattern, timezone }
}

/** Epoch seconds, in 2026-2030, at which a zone changes its offset; all such changes fall on a UTC half hour. */
function offsetChanges(timezone: string): number[] {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    timeZoneName: 'longOffset',
  })
  const offsetName = (seconds: number) =>
    format.formatToParts(seconds * 1_000).find((part) => part.type === 'timeZoneName')?.value
  const changes: number[] = []
  for (let day = FIRST; day < LAST; day += DAY) {
    if (offsetName(day) === offsetName(day + DAY)) continue
    let second = day
    while (offsetName(second) === offsetName(day)) second += HALF_HOUR
    changes.push(second)
  }
  return changes
}

const CHANGES = new Map(ZONES.map((zone) => [zone, offsetChanges(zone)]))

/** Slots in (from, until] by croner, with the fixed-time rule nearest to Vixie cron. */
function cronerSlots(cron: string, timezone: string, from: number, until: number): number[] {
  const job = new Cron(cron, { timezone, fixedTimeRule: 'no-wildcard', paused: true })
  const found: number[] = []
  let run = job.nextRun(new Date(from * 1_000))
  while (run && run.getTime() / 1_000 <= until) {
    found.push(run.getTime() / 1_000)
    run = job.nextRun(run)
  }
  return found
}

// Only patterns on which croner and Vixie cron agree; tests in test/unit cover the three differences.
const number = (min: number, max: number) => fc.integer({ min, max }).map(String)
const range = (min: number, max: number) =>
  fc
    .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
    .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
const restricted = (min: number, max: number) =>
  fc
    .array(fc.oneof(number(min, max), range(min, max)), { minLength: 1, maxLength: 3 })
    .map((items) => items.join(','))
const timeField = (max: number) =>
  fc.oneof(
    restricted(0, max),
    fc.constant('*'),
    fc.integer({ min: 2, max }).map((step) => `*/${step}`),
  )
const dayField = (min: number, max: number) =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant('*') },
    { weight: 1, arbitrary: restricted(min, max) },
  )
const nightHour = fc.oneof(
  { weight: 2, arbitrary: restricted(0, 4) },
  { weight: 1, arbitrary: timeField(23) },
)

const cron = fc
  .record({
    second: fc.oneof(
      { weight: 4, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: fc.constantFrom('15 ', '0,30 ', '*/20 ', '59 ') },
    ),
    minute: timeField(59),
    hour: nightHour,
    dayOfMonth: dayField(1, 28),
    month: fc.oneof(
      { weight: 3, arbitrary: fc.constant('*') },
      { weight: 1, arbitrary: restricted(1, 12) },
    ),
    dayOfWeek: dayField(0, 7),
  })
  .map((of) => `${of.second}${of.minute} ${of.hour} ${of.dayOfMonth} ${of.month} ${of.dayOfWeek}`)

const zone = fc.constantFrom(...ZONES)
/** A moment near one of the zone's changes most of the time, else anywhere in the five years. */
const momentIn = (timezone: string) => {
  const anywhere = fc.integer({ min: FIRST, max: LAST })
  const changes = CHANGES.get(timezone) ?? []
  if (changes.length === 0) return anywhere
  const near = (seconds: number) =>
    fc
      .tuple(fc.constantFrom(...changes), fc.integer({ min: -seconds, max: seconds }))
      .map(([change, shift]) => change + shift)
  return fc.oneof(
    { weight: 4, arbitrary: near(2 * HALF_HOUR) },
    { weight: 2, arbitrary: near(DAY) },
    { weight: 1, arbitrary: anywhere },
  )
}
const placed = zone.chain((timezone) =>
  fc.record({ timezone: fc.constant(timezone), moment: momentIn(timezone), cron }),
)

const PATTERNS = [
  '* * * * *',
  '*/30 * * * *',
  '*/7 2 * * *',
  '30 * * * *',
  '0 */2 * * *',
  '0 0 * * *',
  '30 0 * * *',
  '59 23 * * *',
  '0 1 * * *',
  '15 1,2 * * *',
  '30 1 * * *',
  '0 2 * * *',
  '15 2 * * *',
  '30 2 * * *',
  '59 59 2 * * *',
  '0 3 * * *',
  '0,20,40 1-3 * * *',
  '30 2 * * 0',
  '*/7 2 * * 0',
  '30 2 25-31 3,10 *',
  '30 2 1 * 0',
  '*/15 30 1,2 * * *',
]

describe('the calendar compared with croner', () => {
  test.each(ZONES)('gives the same slots at every clock change of 2026-2030 in %s', (timezone) => {
    const changes = CHANGES.get(timezone) ?? []
    expect(changes.length).toBe(timezone === 'Asia/Kolkata' ? 0 : 10)
    // A zone without changes is compared at the changes of other zones.
    const compared = changes.length > 0 ? changes : (CHANGES.get('Europe/Berlin') ?? [])
    for (const text of PATTERNS) {
      for (const change of compared) {
        const [from, until] = [change - DAY, change + DAY]
        const ours = slotsBetween(schedule(text, timezone), from, until, 10_000)
        expect({ text, change, ...ours }).toEqual({
          text,
          change,
          slots: cronerSlots(text, timezone, from, until),
          more: false,
        })
      }
    }
  })

  test('gives the same slots for random patterns at random times', () => {
    fc.assert(
      fc.property(placed, ({ cron: text, timezone, moment }) => {
        const { slots } = slotsBetween(schedule(text, timezone), moment, moment + 6 * DAY, 40)
        const until = slots.length === 40 ? (slots.at(-1) ?? 0) : moment + 6 * DAY
        expect(slots).toEqual(cronerSlots(text, timezone, moment, until))
      }),
      { numRuns: 100 },
    )
  })

  test('gives the same next slot for random patterns at any distance', () => {
    fc.assert(
      fc.property(placed, ({ cron: text, timezone, moment }) => {
        const job = new Cron(text, { timezone, fixedTimeRule: 'no-wildcard', paused: true })
        const theirs = job.nextRun(new Date(moment * 1_000))
        expect(nextSlot(schedule(text, timezone), moment)).toBe((theirs?.getTime() ?? 0) / 1_000)
      }),
      { numRuns: 100 },
    )
  })
})

describe('slots of the calendar', () => {
  const split = placed.chain((at) =>
    fc.record({
      at: fc.constant(at),
      first: fc.integer({ min: 0, max: DAY }),
      second: fc.integer({ min: 0, max: DAY }),
    }),
  )

  test('are the same for a range and its two halves, in strictly rising order', () => {
    fc.assert(
      fc.property(split, ({ at, first, second }) => {
        const of = schedule(at.cron, at.timezone)
        const [t1, t2, t3] = [at.moment, at.moment + first, at.moment + first + second]
        const whole = slotsBetween(of, t1, t3, 1_000_000).slots
        const parts = [
          ...slotsBetween(of, t1, t2, 1_000_000).slots,
          ...slotsBetween(of, t2, t3, 1_000_000).slots,
        ]
        expect(parts).toEqual(whole)
        expect(whole.every((slot, index) => index === 0 || slot > (whole[index - 1] ?? slot))).toBe(
          true,
        )
      }),
      { numRuns: 100 },
    )
  })

  test('continue without a gap after the last slot of a full page', () => {
    fc.assert(
      fc.property(
        placed,
        fc.integer({ min: 1, max: 20 }),
        ({ cron: text, timezone, moment }, max) => {
          const of = schedule(text, timezone)
          const until = moment + 3 * DAY
          const whole = slotsBetween(of, moment, until, 200)
          const paged: number[] = []
          let page = slotsBetween(of, moment, until, max)
          paged.push(...page.slots)
          while (page.more && paged.length < whole.slots.length) {
            page = slotsBetween(of, paged.at(-1) ?? moment, until, max)
            paged.push(...page.slots)
          }
          expect(paged.slice(0, 200)).toEqual(whole.slots)
        },
      ),
    )
  })

  test('begin with the next slot, and no second before it is a slot', () => {
    fc.assert(
      fc.property(placed, ({ cron: text, timezone, moment }) => {
        const of = schedule(text, timezone)
        const next = nextSlot(of, moment)
        if (next === undefined) throw new Error(`${text} has no next slot`)
        expect(next).toBeGreaterThan(moment)
        expect(slotsBetween(of, moment, next, 5).slots).toEqual([next])
        expect(slotsBetween(of, moment, next - 1, 5).slots).toEqual([])
        expect(nextSlot(of, next - 1)).toBe(next)
      }),
      { numRuns: 100 },
    )
  })

  test('end with the latest slot', () => {
    fc.assert(
      fc.property(placed, fc.integer({ min: 0, max: 2 * DAY }), (at, span) => {
        const of = schedule(at.cron, at.timezone)
        const { slots } = slotsBetween(of, at.moment, at.moment + span, 1_000_000)
        expect(latestSlotAtOrBefore(of, at.moment + span, at.moment + 1)).toBe(slots.at(-1))
      }),
      { numRuns: 100 },
    )
  })

  test('are found one by one when stepping back', () => {
    fc.assert(
      fc.property(placed, ({ cron: text, timezone, moment }) => {
        const of = schedule(text, timezone)
        const first = nextSlot(of, moment)
        const second = first === undefined ? undefined : nextSlot(of, first)
        if (first === undefined || second === undefined) throw new Error(`${text} ends`)
        expect(latestSlotAtOrBefore(of, second, moment)).toBe(second)
        expect(latestSlotAtOrBefore(of, second - 1, moment)).toBe(first)
        expect(latestSlotAtOrBefore(of, first - 1, moment + 1)).toBeUndefined()
      }),
      { numRuns: 100 },
    )
  })
})

describe('civil dates', () => {
  test('convert to days and back like the built-in calendar', () => {
    fc.assert(
      fc.property(fc.integer({ min: -700_000, max: 2_900_000 }), (day) => {
        const builtIn = new Date(day * DAY * 1_000)
        const date = civilDate(day)
        expect(date).toEqual({
          year: builtIn.getUTCFullYear(),
          month: builtIn.getUTCMonth() + 1,
          day: builtIn.getUTCDate(),
        })
        expect(epochDay(date)).toBe(day)
        expect(dayOfWeek(day)).toBe(builtIn.getUTCDay())
        const lastOfMonth = new Date(0)
        lastOfMonth.setUTCFullYear(date.year, date.month, 0)
        expect(daysInMonth(date.year, date.month)).toBe(lastOfMonth.getUTCDate())
      }),
      { numRuns: 1_000 },
    )
  })
})
