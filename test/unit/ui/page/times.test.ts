import { expect, test } from 'vitest'
import {
  agoText,
  calendarOf,
  lateText,
  momentsIn,
  untilText,
} from '../../../../src/ui/parts/wording/times.ts'

const NOW = Date.UTC(2026, 10, 23, 13, 4, 52)

test('a slot is due from its time on, and not before', () => {
  expect(untilText(NOW + 1, NOW)).toBe('in 1s')
  expect(untilText(NOW + 59_001, NOW)).toBe('in 1m')
  expect(untilText(NOW, NOW)).toBe('now')
  expect(untilText(NOW - 5_000, NOW)).toBe('now')
})

test('a slot that is not taken within two seconds is said to be late', () => {
  expect(lateText(NOW + 5_000, NOW)).toBeUndefined()
  expect(lateText(NOW - 1_999, NOW)).toBeUndefined()
  expect(lateText(NOW - 95_000, NOW)).toBe('due 1m 35s ago')
})

test('a time in the past shows its age, and one slightly ahead shows as just now', () => {
  expect(agoText(NOW - 130_000, NOW)).toBe('2m ago')
  expect(agoText(NOW + 300, NOW)).toBe('just now')
})

test("a time shows its date only if that is not today in the reader's zone", () => {
  const berlin = calendarOf('Europe/Berlin')
  expect(berlin.moment(NOW, NOW)).toBe('14:04:52')
  expect(berlin.moment(NOW + 86_400_000, NOW)).toBe('Tue 24 Nov 14:04')
  expect(berlin.moment(NOW + 60 * 86_400_000, NOW)).toBe('Fri 22 Jan 2027 14:04')
  expect(calendarOf('Asia/Tokyo').moment(NOW, NOW)).toBe('22:04:52')
})

test('the zone has its local name and follows daylight saving time', () => {
  const july = Date.UTC(2026, 6, 1)
  expect(calendarOf('Europe/Berlin').zone(NOW)).toBe('CET')
  expect(calendarOf('Europe/Berlin').zone(july)).toBe('CEST')
  expect(calendarOf('America/New_York').zone(NOW)).toBe('EST')
  expect(calendarOf('UTC').zone(NOW)).toBe('UTC')
  expect(calendarOf('Asia/Kathmandu').full(NOW)).toBe('Mon 23 Nov 2026 18:49:52 GMT+5:45')
})

test('UTC moments inside a sentence are written in the chosen zone', () => {
  const near = Date.UTC(2026, 10, 26, 23, 47, 6)
  const said = 'read at 23:46:59 UTC, valid until 2026-11-26T23:48:06Z'
  expect(momentsIn(said, calendarOf('Europe/Berlin'), near)).toBe(
    'read at 00:46:59 CET, valid until 00:48:06 CET',
  )
  expect(momentsIn('at 00:00:01 UTC', calendarOf('UTC'), near)).toBe('at Fri 27 Nov 00:00 UTC')
})
