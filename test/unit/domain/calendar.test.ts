import { Cron } from 'croner'
import { describe, expect, test } from 'vitest'
import {
  latestSlotAtOrBefore,
  nextSlot,
  scheduleWarnings,
  slotsBetween,
} from '../../../src/domain/schedule/calendar.ts'
import { parseCron } from '../../../src/domain/schedule/cron.ts'
import type { CronRecurrence as Recurrence } from '../../../src/domain/schedule/schedule.ts'
import { isTimezone } from '../../../src/domain/schedule/timezone.ts'

const YEAR_SECONDS = 365 * 86_400

function schedule(cron: string, timezone = 'UTC'): Recurrence {
  const parsed = parseCron(cron)
  if (!parsed.ok) throw new Error(parsed.message)
  return { type: 'cron', cron, pattern: parsed.pattern, timezone }
}

function at(iso: string): number {
  return Date.parse(iso) / 1_000
}

function iso(seconds: number | undefined): string | undefined {
  return seconds === undefined ? undefined : new Date(seconds * 1_000).toISOString().slice(0, 19)
}

/** All slots after `from` up to and including `until`, as UTC text. */
function slots(of: Recurrence, from: string, until: string): (string | undefined)[] {
  return slotsBetween(of, at(from), at(until), 10_000).slots.map(iso)
}

/** The hours and minutes of UTC slots on one day. */
function times(of: Recurrence, from: string, until: string): (string | undefined)[] {
  return slots(of, from, until).map((slot) => slot?.slice(11, 16))
}

describe('slots', () => {
  test('the next slot lies strictly after the given second', () => {
    const hourly = schedule('0 * * * *')
    expect(iso(nextSlot(hourly, at('2026-05-01T08:59:59Z')))).toBe('2026-05-01T09:00:00')
    expect(iso(nextSlot(hourly, at('2026-05-01T09:00:00Z')))).toBe('2026-05-01T10:00:00')
    expect(iso(nextSlot(hourly, at('2026-05-01T08:59:59Z') + 0.5))).toBe('2026-05-01T09:00:00')
  })

  test('a range excludes its start and includes its end', () => {
    expect(
      slots(schedule('0 9 * * 1', 'Europe/Berlin'), '2026-06-01T07:00:00Z', '2026-06-15T07:00:00Z'),
    ).toEqual(['2026-06-08T07:00:00', '2026-06-15T07:00:00'])
  })

  test('a range reports whether its bound truncated it', () => {
    const hourly = schedule('0 * * * *')
    const from = at('2026-05-01T00:00:00Z')
    expect(slotsBetween(hourly, from, from + 3 * 3_600, 3)).toEqual({
      slots: [from + 3_600, from + 7_200, from + 10_800],
      more: false,
    })
    expect(slotsBetween(hourly, from, from + 3 * 3_600, 2)).toEqual({
      slots: [from + 3_600, from + 7_200],
      more: true,
    })
    expect(slotsBetween(hourly, from, from + 3_599, 0)).toEqual({ slots: [], more: false })
    expect(slotsBetween(hourly, from, from - 1, 5)).toEqual({ slots: [], more: false })
  })

  test('both bounds of the search for the latest slot are inclusive', () => {
    const daily = schedule('0 9 * * *')
    const nine = at('2026-05-01T09:00:00Z')
    expect(latestSlotAtOrBefore(daily, nine, nine)).toBe(nine)
    expect(latestSlotAtOrBefore(daily, nine + 3_600, nine)).toBe(nine)
    expect(latestSlotAtOrBefore(daily, nine + 3_600, nine + 1)).toBeUndefined()
    expect(latestSlotAtOrBefore(daily, nine - 1, nine - 86_400)).toBe(nine - 86_400)
    expect(latestSlotAtOrBefore(daily, nine - 1, nine)).toBeUndefined()
  })

  test('29 February occurs every four years, except in 2100', () => {
    const leap = schedule('0 0 29 2 *', 'America/New_York')
    expect(slots(leap, '2027-01-01T00:00:00Z', '2036-12-31T00:00:00Z')).toEqual([
      '2028-02-29T05:00:00',
      '2032-02-29T05:00:00',
      '2036-02-29T05:00:00',
    ])
    expect(iso(nextSlot(leap, at('2097-01-01T00:00:00Z')))).toBe('2104-02-29T05:00:00')
    expect(iso(latestSlotAtOrBefore(leap, at('2103-01-01T00:00:00Z'), 0))).toBe(
      '2096-02-29T05:00:00',
    )
  })

  test('the rarest date, 29 February on one weekday across 2100, is found', () => {
    const leapSunday = schedule('0 0 29 2 */7')
    expect(iso(nextSlot(leapSunday, at('2088-03-01T00:00:00Z')))).toBe('2128-02-29T00:00:00')
    expect(iso(latestSlotAtOrBefore(leapSunday, at('2128-02-28T00:00:00Z'), 0))).toBe(
      '2088-02-29T00:00:00',
    )
  })

  test('times before 1970 behave the same', () => {
    expect(iso(nextSlot(schedule('0 12 * * *'), at('1969-12-30T13:00:00Z')))).toBe(
      '1969-12-31T12:00:00',
    )
  })

  test('an unknown timezone throws a RangeError', () => {
    expect(() => nextSlot(schedule('* * * * *', 'Mars/Olympus'), 0)).toThrow(RangeError)
  })
})

describe('clock changes', () => {
  const springBerlin = ['2026-03-28T22:59:59Z', '2026-03-29T21:59:59Z'] as const
  const fallBerlin = ['2026-10-24T21:59:59Z', '2026-10-25T22:59:59Z'] as const

  test('a fixed time in a gap runs once, right after the gap', () => {
    const nightly = schedule('30 2 * * *', 'Europe/Berlin')
    expect(slots(nightly, ...springBerlin)).toEqual(['2026-03-29T01:00:00'])
  })

  test('several fixed times in a gap, and a time at its end, make a single slot', () => {
    const several = schedule('0,20,40 2,3 * * *', 'Europe/Berlin')
    expect(times(several, ...springBerlin)).toEqual(['01:00', '01:20', '01:40'])
  })

  test('a fixed time that occurs twice runs the first time', () => {
    const nightly = schedule('30 2 * * *', 'Europe/Berlin')
    expect(slots(nightly, ...fallBerlin)).toEqual(['2026-10-25T00:30:00'])
  })

  test('a search from within the repeated hour does not run a fixed time again', () => {
    const nightly = schedule('30 2 * * *', 'Europe/Berlin')
    const secondPass = at('2026-10-25T01:10:00Z')
    expect(iso(nextSlot(nightly, secondPass))).toBe('2026-10-26T01:30:00')
    expect(iso(latestSlotAtOrBefore(nightly, secondPass + 3_000, 0))).toBe('2026-10-25T00:30:00')
  })

  test('a half-hourly interval has 46 slots on the short day and 50 on the long day', () => {
    const half = schedule('*/30 * * * *', 'Europe/Berlin')
    expect(slots(half, ...springBerlin)).toHaveLength(46)
    expect(slots(half, ...fallBerlin)).toHaveLength(50)
    expect(times(half, '2026-10-24T23:59:59Z', '2026-10-25T02:00:00Z')).toEqual([
      '00:00',
      '00:30',
      '01:00',
      '01:30',
      '02:00',
    ])
  })

  test('an interval within the lost hour does not run, and within the repeated hour runs twice', () => {
    const sparse = schedule('*/30 2 * * 0', 'Europe/Berlin')
    expect(times(sparse, ...springBerlin)).toEqual([])
    expect(times(sparse, ...fallBerlin)).toEqual(['00:00', '00:30', '01:00', '01:30'])
  })

  test('a shift of 30 minutes moves fixed times by at most 30 minutes', () => {
    const quarter = schedule('15 2 * * *', 'Australia/Lord_Howe')
    // 02:00 +10:30 becomes 02:30 +11:00 on 4 October 2026, at 15:30 UTC the day before.
    expect(slots(quarter, '2026-10-03T00:00:00Z', '2026-10-04T00:00:00Z')).toEqual([
      '2026-10-03T15:30:00',
    ])
    const repeated = schedule('45 1 * * *', 'Australia/Lord_Howe')
    expect(slots(repeated, '2026-04-04T00:00:00Z', '2026-04-05T00:00:00Z')).toEqual([
      '2026-04-04T14:45:00',
    ])
  })

  test('a midnight that does not exist in Cairo runs at one', () => {
    expect(
      slots(schedule('@daily', 'Africa/Cairo'), '2026-04-23T12:00:00Z', '2026-04-24T12:00:00Z'),
    ).toEqual(['2026-04-23T22:00:00'])
  })

  test('a slot on a day that a timezone skipped runs right after it', () => {
    expect(
      slots(schedule('0 9 * * *', 'Pacific/Apia'), '2011-12-29T00:00:00Z', '2012-01-01T00:00:00Z'),
    ).toEqual([
      '2011-12-29T19:00:00',
      '2011-12-30T10:00:00',
      '2011-12-30T19:00:00',
      '2011-12-31T19:00:00',
    ])
  })
})

describe('Vixie cron decides where croner differs', () => {
  function croner(cron: string, timezone: string, from: string, count: number): string[] {
    const job = new Cron(cron, { timezone, fixedTimeRule: 'no-wildcard', paused: true })
    return job.nextRuns(count, new Date(from)).map((run) => run.toISOString().slice(0, 19))
  }

  test('a day field that starts with a star counts as unrestricted even with a step', () => {
    // Vixie sets its star flag from the first character, so both fields must match; croner requires a lone star.
    const from = '2026-06-01T12:00:00Z'
    expect(slots(schedule('0 0 */2 * 1'), from, '2026-06-30T00:00:00Z')).toEqual([
      '2026-06-15T00:00:00',
      '2026-06-29T00:00:00',
    ])
    expect(croner('0 0 */2 * 1', 'UTC', from, 2)).toEqual([
      '2026-06-03T00:00:00',
      '2026-06-05T00:00:00',
    ])
  })

  test('a step over a range without a star names fixed times', () => {
    // In Vixie only a leading star makes an interval; croner treats every step as an interval and skips the gap.
    const from = '2026-03-29T00:30:00Z'
    expect(
      slots(schedule('0 0-23/2 * * *', 'Europe/Berlin'), from, '2026-03-29T02:00:00Z'),
    ).toEqual(['2026-03-29T01:00:00', '2026-03-29T02:00:00'])
    expect(croner('0 0-23/2 * * *', 'Europe/Berlin', from, 1)).toEqual(['2026-03-29T02:00:00'])
  })

  test('a star further back in a list does not make an interval', () => {
    // Same rule: the field starts with a number. croner searches for a star anywhere.
    const from = '2026-10-24T22:00:00Z'
    const until = '2026-10-25T02:00:00Z'
    expect(times(schedule('5,*/30 2 * * *', 'Europe/Berlin'), from, until)).toEqual([
      '00:00',
      '00:05',
      '00:30',
    ])
    expect(croner('5,*/30 2 * * *', 'Europe/Berlin', from, 6)).toHaveLength(6)
    expect(croner('5,*/30 2 * * *', 'Europe/Berlin', from, 4).at(-1)).toBe('2026-10-25T01:00:00')
  })
})

describe('a long downtime', () => {
  // Enumerating the year's 31 million slots a thousand times would never finish.
  test('the latest slot of a year of every-second slots is found without enumeration', () => {
    const everySecond = schedule('* * * * * *', 'Europe/Berlin')
    const now = at('2027-01-01T00:00:00Z')
    for (let run = 0; run < 1_000; run++) {
      expect(latestSlotAtOrBefore(everySecond, now + run, now - YEAR_SECONDS)).toBe(now + run)
    }
  })
})

describe('warnings about clock changes', () => {
  const from = at('2026-11-20T00:00:00Z')

  test('a fixed time in a gap or overlap is listed with its date and effect', () => {
    expect(scheduleWarnings(schedule('30 2 * * *', 'Europe/Berlin'), from)).toEqual([
      '02:30 does not exist on 2027-03-28 in Europe/Berlin: runs at 03:00',
      '02:30 occurs twice on 2027-10-31 in Europe/Berlin: runs only the first time',
      '02:30 does not exist on 2028-03-26 in Europe/Berlin: runs at 03:00',
      '02:30 occurs twice on 2028-10-29 in Europe/Berlin: runs only the first time',
    ])
  })

  test('several times in one clock change share one warning', () => {
    expect(scheduleWarnings(schedule('15 10,20 2 * 3 *', 'Europe/Berlin'), from)).toEqual([
      '2 times from 02:10:15 to 02:20:15 do not exist on 2027-03-28 in Europe/Berlin: runs once at 03:00',
      '2 times from 02:10:15 to 02:20:15 do not exist on 2028-03-26 in Europe/Berlin: runs once at 03:00',
    ])
  })

  test('an interval within selected hours is listed too', () => {
    expect(scheduleWarnings(schedule('0 */2 * * *', 'Europe/Berlin'), from).slice(0, 2)).toEqual([
      '02:00 does not exist on 2027-03-28 in Europe/Berlin: does not run then',
      '02:00 occurs twice on 2027-10-31 in Europe/Berlin: runs both times',
    ])
  })

  test.each([
    ['0 9 * * *', 'Europe/Berlin'],
    ['*/30 * * * *', 'Europe/Berlin'],
    ['30 2 * * 1', 'Europe/Berlin'],
    ['30 2 * * *', 'Asia/Kolkata'],
    ['30 2 * * *', 'UTC'],
  ])('%s in %s has no warning', (cron, zone) => {
    expect(scheduleWarnings(schedule(cron, zone), from)).toEqual([])
  })
})

test('timezone names are checked against the runtime', () => {
  expect(['Europe/Berlin', 'UTC', 'america/new_york'].map(isTimezone)).toEqual([true, true, true])
  expect(['', 'Berlin', '+02:00', 'Europe/Berlin '].map(isTimezone)).toEqual([
    false,
    false,
    false,
    false,
  ])
})
