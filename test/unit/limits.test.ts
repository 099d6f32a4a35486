import { beforeEach, describe, expect, test } from 'vitest'
import { addExposure, type Exposure } from '../../src/domain/exposures.ts'
import {
  DAY_MS,
  dayAllowance,
  type LimitQuery,
  limitHit,
  livePermits,
} from '../../src/domain/limits.ts'
import { type DaemonState, emptyState } from '../../src/domain/state.ts'
import { NO_CAPS } from '../../src/domain/strategy.ts'
import { ACCOUNT, USDC, WETH } from '../../src/simulate/stage.ts'
import { capOf, OPEN, usdc } from '../support/builders.ts'

const NOW_MS = 1_800_000_000_000
const NO_LIMITS = OPEN
const NO_ACCOUNT = { ...ACCOUNT, perDay: NO_CAPS, perOrder: NO_CAPS }

let state: DaemonState
beforeEach(() => {
  state = emptyState()
})

function expose(changes: Partial<Exposure> = {}): void {
  addExposure(state, `order ${state.exposures.size}`, {
    strategy: 'hourly',
    token: USDC.address,
    amount: usdc(40),
    atMs: NOW_MS - 1,
    live: false,
    ...changes,
  })
}

function spend(amount: number): void {
  state.strategies.set('hourly', {
    scheduleKey: '',
    anchor: { scheduleKey: '', fromSeconds: 0 },
    memory: {},
    paused: undefined,
    resumedAtMs: undefined,
    failureStreak: 0,
    lastSlotSeconds: 0,
    openSlots: [],
    fills: 1,
    lastOrderAtMs: undefined,
    lastFillAtMs: undefined,
    spent: new Map([[USDC.address, usdc(amount)]]),
  })
}

function hit(changes: Partial<LimitQuery>): string | undefined {
  const query = { strategy: 'hourly', token: USDC, amount: usdc(25), nowMs: NOW_MS }
  return limitHit(state, { ...query, limits: NO_LIMITS, account: NO_ACCOUNT, ...changes })?.reason
}

test('without caps there is nothing to hit', () => {
  expose({ amount: usdc(1_000_000) })
  expect(hit({})).toBeUndefined()
})

test('an order may be exactly as large as the cap of one order', () => {
  expect(hit({ amount: usdc(250), account: ACCOUNT })).toBeUndefined()
  expect(hit({ amount: usdc(251), account: ACCOUNT })).toBe('limit-account-per-order')
})

describe("a strategy's cap of a day", () => {
  const limits = { ...NO_LIMITS, perDay: capOf(USDC, usdc(65)) }

  test('is reached exactly, not passed', () => {
    expose()
    expect(hit({ limits })).toBeUndefined()
    expect(hit({ limits, amount: usdc(26) })).toBe('limit-per-day')
  })

  test('forgets a fill that is a day old, to the millisecond', () => {
    expose({ amount: usdc(65), atMs: NOW_MS - DAY_MS + 1 })
    expect(hit({ limits })).toBe('limit-per-day')
    expect(hit({ limits, nowMs: NOW_MS + 1 })).toBeUndefined()
  })

  test('counts a live permit whatever its age', () => {
    expose({ amount: usdc(65), atMs: NOW_MS - 30 * DAY_MS, live: true })
    expect(hit({ limits })).toBe('limit-per-day')
  })

  test('counts a fill that seems to lie in the future', () => {
    expose({ amount: usdc(65), atMs: NOW_MS + DAY_MS })
    expect(hit({ limits })).toBe('limit-per-day')
  })

  test('counts neither other strategies nor other tokens', () => {
    expose({ strategy: 'other', amount: usdc(65) })
    expose({ token: WETH.address, amount: usdc(65) })
    expect(hit({ limits })).toBeUndefined()
  })
})

test("the account's cap of a day counts every strategy", () => {
  expose({ strategy: 'other', amount: usdc(990) })
  expect(hit({ account: ACCOUNT })).toBe('limit-account-per-day')
})

test('a cap in total counts what was spent since the beginning and what is live', () => {
  const limits = { ...NO_LIMITS, total: capOf(USDC, usdc(100)) }
  spend(60)
  expect(hit({ limits, amount: usdc(40) })).toBeUndefined()
  expose({ amount: usdc(1), live: true })
  expect(hit({ limits, amount: usdc(40) })).toBe('limit-total')
})

test('live permits are summed by token, and by strategy where one is named', () => {
  expose({ live: true })
  expose({ live: true, strategy: 'other' })
  expose({ live: true, token: WETH.address })
  expose()
  expect(livePermits(state, USDC)).toBe(usdc(80))
  expect(livePermits(state, USDC, 'other')).toBe(usdc(40))
})

test("what is left of the account's day is never negative, and unknown without a cap", () => {
  const query = { token: USDC, nowMs: NOW_MS, account: ACCOUNT }
  expose({ amount: usdc(400) })
  expect(dayAllowance(state, query)).toBe(usdc(600))
  expose({ amount: usdc(900) })
  expect(dayAllowance(state, query)).toBe(0n)
  expect(dayAllowance(state, { ...query, token: WETH })).toBeUndefined()
})
