import { getTasks } from 'node-cron'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { scheduleKey } from '../../../src/domain/schedule/schedule.ts'
import { CRON_GRACE_MS, Upcoming } from '../../../src/engine/upcoming.ts'
import { reduce } from '../../../src/journal/events/registry.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { createClock } from '../../../src/system/clock.ts'
import { aSchedule, aStrategy } from '../../support/builders.ts'

const NOON = Date.UTC(2026, 0, 5, 12)

// Waits of at most a second end 0.7 s after each full second.
beforeEach(() => {
  vi.useFakeTimers({ now: NOON + 700 })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Runs the loop of a daemon on fake timers for 40 s; returns when slots were opened, in ms since noon. */
async function opened(strategy: Strategy, begun: () => void = () => undefined): Promise<number[]> {
  const clock = createClock({ tasksAfterMs: 1 })
  const state = emptyState()
  const { name, schedule } = strategy
  const scheduled = {
    type: 'strategy-scheduled',
    strategy: name,
    scheduleKey: scheduleKey(schedule),
    fromSeconds: NOON / 1_000,
  } as const
  reduce(state, scheduled, NOON)
  if (schedule.type === 'cron' && schedule.jitterMs === 0) clock.schedule([schedule])
  const end = new AbortController()
  // Until the clock has tasks, slots have exact timers.
  void clock.wake(Date.now(), end.signal)
  await vi.advanceTimersByTimeAsync(1)
  const upcoming = new Upcoming({
    ports: { journal: { state } as never, observe: () => undefined, clock },
    strategies: [strategy],
    startedAtMs: () => NOON,
  })
  const times: number[] = []
  const loop = async (): Promise<void> => {
    while (!end.signal.aborted) {
      for (const each of upcoming.dueAt(Date.now())) {
        const slotSeconds = upcoming.nextOf(each.name) ?? 0
        const closed = { type: 'slot-closed', outcome: 'skipped', reason: 'cooldown' } as const
        reduce(state, { ...closed, strategy: each.name, slotSeconds }, Date.now())
        upcoming.refresh(each)
        times.push(Date.now() - NOON)
      }
      await clock.wake(upcoming.wakeMs(Date.now()), end.signal)
    }
  }
  const done = loop()
  begun()
  await vi.advanceTimersByTimeAsync(40_000)
  end.abort()
  await done
  await clock.close()
  return times
}

const SLICES = {
  type: 'interval',
  everySeconds: 20,
  count: 5,
  startSeconds: NOON / 1_000 + 20,
} as const
const CRON = aStrategy({ schedule: aSchedule('*/20 * * * * *') })

test('a slot of a cron schedule opens at its second through the node-cron task', async () => {
  expect(await opened(CRON)).toEqual([20_000, 40_000])
})

test('a slot whose task does not fire opens half a second later', async () => {
  const stopTasks = () => {
    for (const task of getTasks().values()) void task.stop()
  }
  const late = [20_000 + CRON_GRACE_MS, 40_000 + CRON_GRACE_MS]
  expect(await opened(CRON, stopTasks)).toEqual(late)
})

test.each([
  ['on a day that node-cron reads differently', aSchedule('*/20 * 12 5 * tue')],
  ['of a TWAP', { ...aSchedule('* * * * *'), ...SLICES }],
])('a slot %s opens by an exact timer', async (_, schedule) => {
  expect(await opened(aStrategy({ schedule }))).toEqual([20_000, 40_000])
})

test('a slot with jitter opens at its delayed time', async () => {
  const strategy = aStrategy({ schedule: aSchedule('*/20 * * * * *', { jitterMs: 9_000 }) })
  const [first = 0] = await opened(strategy)
  expect(first % 20_000).toBeGreaterThan(0)
  expect(first % 20_000).toBeLessThan(9_000)
})
