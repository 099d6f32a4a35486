import { expect, test } from 'vitest'
import { opensAtMs } from '../../../src/domain/schedule/due.ts'
import { scheduleKey } from '../../../src/domain/schedule/schedule.ts'
import { CRON_GRACE_MS, Upcoming } from '../../../src/engine/upcoming.ts'
import { reduce } from '../../../src/journal/events/registry.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { aSchedule, aStrategy } from '../../support/builders.ts'

const FROM = Date.UTC(2026, 0, 1) / 1_000
const MINUTE = 60
const HOURLY = aStrategy({ name: 'hourly', schedule: aSchedule('0 * * * *') })
const MINUTELY = aStrategy({ name: 'minutely', schedule: aSchedule('* * * * *') })

/** Strategies first seen at FROM. */
function upcomingOf(...strategies: readonly Strategy[]) {
  return upcomingBy(() => false, strategies)
}

function upcomingBy(wakesAt: () => boolean, strategies: readonly Strategy[]) {
  const state = emptyState()
  for (const { name: strategy, schedule } of [HOURLY, MINUTELY]) {
    const key = scheduleKey(schedule)
    reduce(state, { type: 'strategy-scheduled', strategy, scheduleKey: key, fromSeconds: FROM }, 0)
  }
  const close = (strategy: string, slotSeconds: number): void =>
    reduce(
      state,
      { type: 'slot-closed', strategy, slotSeconds, outcome: 'skipped', reason: 'cooldown' },
      0,
    )
  const ports = {
    journal: { state } as never,
    observe: () => undefined,
    clock: { wakesAt },
  }
  return { upcoming: new Upcoming({ ports, strategies, startedAtMs: () => FROM * 1_000 }), close }
}

const names = (due: ReturnType<Upcoming['dueAt']>) => due.map(({ name }) => name)

test('the loop waits for the soonest slot of all, and no slot is due before it', () => {
  const { upcoming } = upcomingOf(HOURLY, MINUTELY)
  const soonest = (FROM + MINUTE) * 1_000
  expect(upcoming.wakeMs(FROM * 1_000)).toBe(soonest)
  expect(upcoming.dueAt(soonest - 1)).toEqual([])
  expect(names(upcoming.dueAt(soonest))).toEqual(['minutely'])
  expect(names(upcoming.dueAt((FROM + 60 * MINUTE) * 1_000))).toEqual(['hourly', 'minutely'])
})

test('a cron task that wakes the loop slightly early does not delay its slot by the grace period', () => {
  const { upcoming } = upcomingBy(() => true, [MINUTELY])
  const slotMs = (FROM + MINUTE) * 1_000
  expect(upcoming.wakeMs(slotMs - 1_000)).toBe(slotMs + CRON_GRACE_MS)
  expect(upcoming.wakeMs(slotMs - 1)).toBe(slotMs)
})

test('the loop waits for the next slots once earlier slots are closed', () => {
  const { upcoming, close } = upcomingOf(HOURLY, MINUTELY)
  expect(upcoming.wakeMs(FROM * 1_000)).toBe((FROM + MINUTE) * 1_000)
  close('minutely', FROM + MINUTE)
  upcoming.refresh(MINUTELY)
  expect(upcoming.wakeMs(FROM * 1_000)).toBe((FROM + 2 * MINUTE) * 1_000)
})

test.each([
  ['one of the strategies', [HOURLY], (FROM + 60 * MINUTE) * 1_000],
  ['none', [], Number.POSITIVE_INFINITY],
])('once only %s is left, the loop ignores the slots of the others', (_name, left, soonest) => {
  const { upcoming } = upcomingOf(HOURLY, MINUTELY)
  expect(upcoming.wakeMs(FROM * 1_000)).toBe((FROM + MINUTE) * 1_000)
  upcoming.replace(left)
  expect(upcoming.wakeMs(FROM * 1_000)).toBe(soonest)
  expect(upcoming.nextOf('minutely')).toBeUndefined()
  expect(upcoming.dueAt((FROM + MINUTE) * 1_000)).toEqual([])
})

test('a slot with jitter opens when its jitter has passed, to the full second after', () => {
  const schedule = aSchedule('0 * * * *', { jitterMs: 600_000 })
  const { upcoming } = upcomingOf(aStrategy({ name: 'hourly', schedule }))
  const opensMs = opensAtMs('hourly', schedule, FROM + 60 * MINUTE)
  expect(upcoming.opensOf('hourly')).toBe(Math.ceil(opensMs / 1_000))
  expect(upcoming.opensOf('hourly')).toBeGreaterThan(FROM + 60 * MINUTE)
  expect(upcoming.opensOf('unknown')).toBeUndefined()
})
