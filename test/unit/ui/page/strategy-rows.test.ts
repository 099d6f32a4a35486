import { describe, expect, test } from 'vitest'
import type { BaseUnits } from '../../../../src/domain/money/units.ts'
import { opensAtMs } from '../../../../src/domain/schedule/due.ts'
import { type SlotClosed, slotsMissed } from '../../../../src/journal/events/strategy/slots.ts'
import type { CloseReason } from '../../../../src/journal/records.ts'
import type { RuntimeEvent } from '../../../../src/journal/runtime-event.ts'
import type { StrategyRecord } from '../../../../src/journal/state/daemon-state.ts'
import type { Strategy } from '../../../../src/strategies/registry.ts'
import { Observations } from '../../../../src/ui/page/server/observations.ts'
import { type StrategyText, strategyRow } from '../../../../src/ui/page/server/strategy-rows.ts'
import { USDC } from '../../../simulation/stage.ts'
import { aStrategy, OPEN } from '../../../support/builders.ts'

const TEXT: StrategyText = { kind: 'dca', enabled: true, does: 'buys', schedule: 'hourly' }
const RECORD: StrategyRecord = {
  scheduleKey: '',
  anchor: { scheduleKey: '', fromSeconds: 0 },
  lastSlotSeconds: 0,
  openSlots: [],
  memory: {},
  paused: undefined,
  resumedAtMs: undefined,
  failureStreak: 0,
  fills: 4,
  lastOrderAtMs: undefined,
  lastFillAtMs: 77,
  spent: new Map(),
}

function row(
  parts: {
    readonly file?: StrategyText | 'none'
    readonly strategy?: Strategy
    readonly record?: Partial<StrategyRecord>
    readonly observe?: (seen: Observations) => void
  } = {},
) {
  const { file = TEXT, strategy, record, observe } = parts
  const seen = new Observations(() => 0)
  observe?.(seen)
  return strategyRow('hourly', {
    file: file === 'none' ? undefined : file,
    strategy,
    record: { ...RECORD, ...record },
    observed: seen.strategies.get('hourly'),
  })
}

function nextSlot(nextSlotSeconds: number | undefined): RuntimeEvent {
  const strategy = 'hourly'
  return {
    type: 'next-slot',
    strategy,
    nextSlotSeconds,
    lastFillAtMs: undefined,
    paused: false,
    held: false,
  }
}

function waiting(slotSeconds: number, detail: string): RuntimeEvent {
  const reason = 'too-many-open'
  return { type: 'slot-waiting', strategy: 'hourly', slotSeconds, reason, detail }
}

function closed(
  slotSeconds: number,
  outcome: 'filled' | 'skipped' | 'missed',
  reason: CloseReason,
): SlotClosed {
  return { type: 'slot-closed', strategy: 'hourly', slotSeconds, outcome, reason, detail: 'why' }
}

test('a strategy without records shows the fields of its file', () => {
  expect(strategyRow('new', { file: TEXT, record: undefined, observed: undefined })).toEqual({
    name: 'new',
    kind: 'dca',
    state: 'active',
    does: 'buys',
    schedule: 'hourly',
    nextSlotSeconds: null,
    paused: null,
    waits: null,
    lastSlot: null,
    lastSkip: null,
    fills: 0,
    lastFillAtMs: null,
  })
})

describe('the state', () => {
  test('is paused, with its time and cause', () => {
    const paused = { atMs: 5, cause: 'operator', detail: 'on request' } as const
    expect(row({ record: { paused } })).toMatchObject({
      state: 'paused',
      paused: { sinceMs: 5, cause: 'operator', detail: 'on request' },
    })
  })

  test('waits for a due approval, whatever the next slot waits for', () => {
    const held = { atMs: 5, terms: 'aa', detail: 'below 2600 fires at once' }
    expect(row({ record: { held } })).toMatchObject({
      state: 'active',
      waits: 'for your approval: below 2600 fires at once; `tranched approve hourly` lets it trade',
    })
    expect(row({ record: { held }, file: { ...TEXT, enabled: false } }).waits).toBeNull()
  })

  test('is disabled or removed as the file says, without a next slot', () => {
    const observe = (seen: Observations) => void seen.observe(nextSlot(100))
    const off = row({ file: { ...TEXT, enabled: false }, observe })
    expect(off).toMatchObject({ state: 'disabled', nextSlotSeconds: null })
    expect(row({ file: 'none', observe })).toMatchObject({ state: 'removed', fills: 4 })
    expect(row({ observe })).toMatchObject({ state: 'active', nextSlotSeconds: 100 })
  })
})

test('the next slot of a schedule with jitter is shown when it opens', () => {
  const schedule = { ...aStrategy().schedule, jitterMs: 600_000 }
  const observe = (seen: Observations) => void seen.observe(nextSlot(900))
  const { nextSlotSeconds } = row({ strategy: aStrategy({ schedule }), observe })
  expect(nextSlotSeconds).toBe(Math.ceil(opensAtMs('hourly', schedule, 900) / 1_000))
  expect(nextSlotSeconds).toBeGreaterThan(900)
})

describe('the last slot', () => {
  test('is the newest ended slot, in any order of events', () => {
    const observe = (seen: Observations): void => {
      seen.recorded(closed(200, 'filled', 'filled'))
      seen.recorded(closed(100, 'skipped', 'cooldown'))
    }
    expect(row({ observe })).toMatchObject({
      lastSlot: { slotSeconds: 200, outcome: 'filled', reason: null },
      lastSkip: { slotSeconds: 100, reason: 'cooldown', detail: 'why' },
    })
  })

  test('is the last of a run of missed slots', () => {
    const run = { strategy: 'hourly', firstSeconds: 100, lastSeconds: 300, count: 3 }
    const observe = (seen: Observations) => void seen.recorded(slotsMissed(run))
    expect(row({ observe }).lastSlot).toMatchObject({ slotSeconds: 300, outcome: 'missed' })
  })

  test('is open while it has no outcome', () => {
    const observe = (seen: Observations) => void seen.recorded(closed(100, 'skipped', 'cooldown'))
    const slots = [300, 200].map((slotSeconds) => ({
      slotSeconds,
      memoryOnFill: undefined,
      ended: undefined,
    }))
    expect(row({ observe, record: { openSlots: slots } }).lastSlot).toEqual({
      ...{ slotSeconds: 300, outcome: 'open', reason: null, detail: null },
    })
    // An older open slot is not the last.
    const later = (seen: Observations) => void seen.recorded(closed(900, 'missed', 'missed'))
    expect(row({ observe: later, record: { openSlots: slots } }).lastSlot?.slotSeconds).toBe(900)
  })
})

describe('a waiting slot', () => {
  test('shows its reason until another slot is next', () => {
    const seen = new Observations(() => 0)
    const rowNow = () =>
      strategyRow('hourly', {
        file: TEXT,
        record: RECORD,
        observed: seen.strategies.get('hourly'),
      })
    seen.observe(nextSlot(100))
    seen.observe(waiting(100, '3 orders are open'))
    seen.observe(nextSlot(100))
    expect(rowNow().waits).toBe('too-many-open: 3 orders are open')
    seen.observe(nextSlot(200))
    expect(rowNow().waits).toBeNull()
  })
})

test('events without new content report no change', () => {
  const seen = new Observations(() => 0)
  expect(seen.observe(nextSlot(100))).toEqual({ strategy: 'hourly', overview: false })
  expect(seen.observe(nextSlot(100))).toBeUndefined()
  expect(seen.observe(waiting(100, 'x'))).toEqual({ strategy: 'hourly', overview: false })
  expect(seen.observe(waiting(100, 'x'))).toBeUndefined()
  const request = { service: 'rpc', route: 'view', status: '200', durationMs: 1 } as const
  expect(seen.observe({ type: 'request', ...request })).toBeUndefined()
})

describe('a strategy is finished and promised no slot', () => {
  const finished = (strategy: Strategy, record: Partial<StrategyRecord>, next?: RuntimeEvent) => {
    const seen = new Observations(() => 0)
    seen.observe(next ?? nextSlot(900))
    const { state, nextSlotSeconds } = strategyRow('hourly', {
      file: TEXT,
      strategy,
      record: { ...RECORD, lastSlotSeconds: 100, ...record },
      observed: seen.strategies.get('hourly'),
    })
    return [state, nextSlotSeconds]
  }
  const total = (cap: bigint) =>
    aStrategy({ limits: { ...OPEN, total: new Map([[USDC.address, cap as BaseUnits]]) } })
  const spent = new Map([[USDC.address, 100n as BaseUnits]])

  test('once no slot is left', () => {
    expect(finished(aStrategy(), {}, nextSlot(undefined))).toEqual(['finished', null])
    expect(finished(aStrategy(), {})).toEqual(['active', 900])
  })

  test('once its total cap is used up, and not before', () => {
    expect(finished(total(100n), { spent })).toEqual(['finished', null])
    expect(finished(total(101n), { spent })).toEqual(['active', 900])
  })

  test('but not while a slot is open', () => {
    const slot = { slotSeconds: 100, memoryOnFill: undefined, ended: undefined }
    const openSlots = [slot]
    expect(finished(total(100n), { spent, openSlots })).toEqual(['active', 900])
  })
})

test('orders by hand have no file, and are active', () => {
  const parts = { file: undefined, record: RECORD, observed: undefined }
  expect(strategyRow('manual', parts)).toMatchObject({ kind: 'by hand', state: 'active', fills: 4 })
  expect(strategyRow('gone', parts)).toMatchObject({ state: 'removed', does: 'its file is gone' })
})
