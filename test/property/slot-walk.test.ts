import fc from 'fast-check'
import { expect, test } from 'vitest'
import { slotsBetween } from '../../src/domain/schedule/calendar.ts'
import { parseCron } from '../../src/domain/schedule/cron.ts'
import type { Recurrence } from '../../src/domain/schedule/schedule.ts'
import { walkSlots } from '../../src/domain/schedule/slot-walk.ts'

const CRONS = [
  '*/7 * * * *',
  '30 2 * * *',
  '15 1-3 * * 0',
  '0 9 1,15 * 1',
  '*/20 30 */5 * * *',
  '0 0 29 2 *',
]
const ZONES = ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe']
const FIRST = Date.UTC(2026, 0, 1) / 1_000
const DAYS = 86_400

const recurrence: fc.Arbitrary<Recurrence> = fc.oneof(
  fc
    .record({ cron: fc.constantFrom(...CRONS), timezone: fc.constantFrom(...ZONES) })
    .map(({ cron, timezone }) => {
      const parsed = parseCron(cron)
      if (!parsed.ok) throw new Error(parsed.message)
      return { type: 'cron', cron, timezone, pattern: parsed.pattern } as const
    }),
  fc
    .record({
      everySeconds: fc.integer({ min: 1, max: 5 * DAYS }),
      count: fc.integer({ min: 1, max: 400 }),
      start: fc.integer({ min: -100, max: 300 * DAYS }),
    })
    .map(
      ({ start, ...rest }) => ({ type: 'interval', startSeconds: FIRST + start, ...rest }) as const,
    ),
)

function walkedOver(slots: readonly number[]) {
  const [first] = slots
  return first === undefined ? undefined : { count: slots.length, first, last: slots.at(-1) }
}

test('a walk passes exactly the slots of the calendar, one by one and in leaps', () => {
  const walks = fc.record({
    schedule: recurrence,
    // Spans of equal offset are cut every 2^24 s, in the middle of the 129th and the 323rd day.
    after: fc.oneof(
      fc.integer({ min: 0, max: 360 * DAYS }),
      fc.constantFrom(128 * DAYS + 3_600, 129 * DAYS - 1, 322 * DAYS - 60, 323 * DAYS),
    ),
    span: fc.integer({ min: 0, max: 40 * DAYS }),
    leaps: fc.array(fc.integer({ min: 0, max: 3 * DAYS }), { maxLength: 40 }),
  })
  let walked = 0
  fc.assert(
    fc.property(walks, ({ schedule, after, span, leaps }) => {
      const from = FIRST + after
      const until = from + span
      const expected = slotsBetween(schedule, from, until, 100_000).slots
      const walk = walkSlots(schedule, from, until)
      let at = 0
      for (const leap of leaps) {
        expect(walk.next).toBe(expected[at] ?? Number.POSITIVE_INFINITY)
        walked += 1
        if (leap % 3 === 0 && at < expected.length) {
          walk.pass()
          at += 1
          continue
        }
        const before = (expected[at] ?? until) + leap
        const passed = expected.slice(at).filter((slot) => slot < before)
        expect(walk.passUntil(before)).toEqual(walkedOver(passed))
        at += passed.length
      }
      expect(walk.next).toBe(expected[at] ?? Number.POSITIVE_INFINITY)
    }),
    { numRuns: 150 },
  )
  expect(walked).toBeGreaterThan(500)
})
