import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { slotsBetween } from '../../../src/domain/schedule/calendar.ts'
import { type DueQuery, dueSlots, opensAtMs } from '../../../src/domain/schedule/due.ts'
import type { MissedPolicy, Schedule } from '../../../src/domain/schedule/schedule.ts'
import { aSchedule, HOUR, MINUTE, NOON_SECONDS } from '../../support/builders.ts'

const NOON_MS = NOON_SECONDS * 1000
const hour = (offset: number): number => NOON_SECONDS + offset * 3_600

function query(missed: MissedPolicy, changes: Partial<DueQuery> = {}): DueQuery {
  return {
    strategy: 'hourly',
    schedule: aSchedule('0 * * * *', { missed, maxLatenessMs: 2 * HOUR }),
    lastSlotSeconds: hour(-5),
    nowMs: NOON_MS + MINUTE,
    startedAtMs: NOON_MS - 90 * MINUTE,
    ...changes,
  }
}

describe('slots due after five hours of downtime', () => {
  test('skip: opens the latest slot since the start and reports the rest as one missed run', () => {
    expect(dueSlots(query('skip'))).toEqual({
      missed: { firstSeconds: hour(-4), lastSeconds: hour(-1), count: 4 },
      open: [hour(0)],
    })
  })

  test('skip: opens no slot from before the start', () => {
    expect(dueSlots(query('skip', { startedAtMs: NOON_MS + 30_000 }))).toEqual({
      missed: { firstSeconds: hour(-4), lastSeconds: hour(0), count: 5 },
      open: [],
    })
  })

  test('latest: opens the last slot, even from before the start', () => {
    const { open, missed } = dueSlots(query('latest', { startedAtMs: NOON_MS + 30_000 }))
    expect(open).toEqual([hour(0)])
    expect(missed?.count).toBe(4)
  })

  test('all: opens every slot that is not too late', () => {
    expect(dueSlots(query('all'))).toEqual({
      missed: { firstSeconds: hour(-4), lastSeconds: hour(-2), count: 3 },
      open: [hour(-1), hour(0)],
    })
  })

  test('all: opens at most a hundred slots at once', () => {
    const schedule = aSchedule('* * * * * *', { missed: 'all', maxLatenessMs: HOUR })
    const due = dueSlots(query('all', { schedule, lastSlotSeconds: NOON_SECONDS - 1_000 }))
    expect(due.missed).toBeUndefined()
    expect(due.open).toHaveLength(100)
    expect(due.open[0]).toBe(NOON_SECONDS - 999)
  })

  test('a missed run that is too long to count has no count', () => {
    const schedule = aSchedule('* * * * * *', { missed: 'latest', maxLatenessMs: 0 })
    const due = dueSlots(query('latest', { schedule, lastSlotSeconds: NOON_SECONDS - 20_000 }))
    expect(due.missed).toMatchObject({ firstSeconds: NOON_SECONDS - 19_999, count: undefined })
  })

  test('a clock set back opens no slot twice and none from the future', () => {
    const due = dueSlots(query('all', { lastSlotSeconds: hour(3) }))
    expect(due).toEqual({ missed: undefined, open: [] })
  })
})

test('every past slot is either opened or missed, for any policy and times', () => {
  const schedules: readonly Schedule[] = [
    '*/7 * * * *',
    '0 9 * * 1',
    '30 2 * * *',
    '*/20 * * * * *',
  ].map((cron) => aSchedule(cron, { timezone: 'Europe/Berlin' }))
  const policies: readonly MissedPolicy[] = ['skip', 'latest', 'all']
  const given = fc.record({
    schedule: fc.constantFrom(...schedules),
    missed: fc.constantFrom(...policies),
    maxLatenessMs: fc.integer({ min: 0, max: 3 * HOUR }),
    agoSeconds: fc.integer({ min: 0, max: 30_000 }),
    startedAgoMs: fc.integer({ min: -HOUR, max: 5 * HOUR }),
    nowMs: fc.integer({ min: NOON_MS, max: NOON_MS + 30 * 24 * HOUR }),
  })
  fc.assert(
    fc.property(given, ({ schedule, missed, maxLatenessMs, agoSeconds, startedAgoMs, nowMs }) => {
      const lastSlotSeconds = Math.floor(nowMs / 1000) - agoSeconds
      const due = dueSlots({
        strategy: 'hourly',
        schedule: { ...schedule, missed, maxLatenessMs },
        lastSlotSeconds,
        nowMs,
        startedAtMs: nowMs - startedAgoMs,
      })
      const passed = slotsBetween(schedule, lastSlotSeconds, Math.floor(nowMs / 1000), 5_000).slots
      const notOpened = due.missed === undefined ? [] : passed.slice(0, due.missed.count)
      expect(due.missed?.lastSeconds).toBe(notOpened.at(-1))
      const left = passed.slice(notOpened.length)
      expect(due.open).toEqual(left.slice(0, due.open.length))
      if (left.length > 0) expect(due.open.length).toBeGreaterThan(0)
      if (left.length <= 100) expect(due.open).toEqual(left)
    }),
  )
})

describe('jitter', () => {
  const schedule = aSchedule('0 * * * *', { missed: 'all', jitterMs: 10 * MINUTE })
  const due = (nowMs: number, lastSlotSeconds = hour(-1)) =>
    dueSlots({ strategy: 'hourly', schedule, lastSlotSeconds, nowMs, startedAtMs: 0 })
  const noonAtMs = opensAtMs('hourly', schedule, hour(0))

  test('opens each slot within its range, at a time derived from strategy name and slot', () => {
    expect(noonAtMs).toBeGreaterThan(NOON_MS)
    expect(noonAtMs).toBeLessThanOrEqual(NOON_MS + 10 * MINUTE)
    expect(opensAtMs('hourly', schedule, hour(0))).toBe(noonAtMs)
    expect(opensAtMs('other', schedule, hour(0))).not.toBe(noonAtMs)
    expect(due(noonAtMs - 1)).toEqual({ missed: undefined, open: [] })
    expect(due(noonAtMs)).toEqual({ missed: undefined, open: [hour(0)] })
  })

  test('never loses, doubles or reorders a slot, at any polling time', () => {
    for (const missed of ['all', 'latest'] as const) {
      let last = hour(-1)
      const seen: number[] = []
      for (let nowMs = NOON_MS - HOUR; nowMs < NOON_MS + 48 * HOUR; nowMs += 3 * MINUTE) {
        const { open, missed: run } = dueSlots({
          strategy: 'hourly',
          schedule: { ...schedule, missed },
          lastSlotSeconds: last,
          nowMs,
          startedAtMs: 0,
        })
        expect(run).toBeUndefined()
        seen.push(...open)
        last = open.at(-1) ?? last
      }
      expect(seen).toEqual(Array.from({ length: 48 }, (_, index) => hour(index)))
    }
  })
})
