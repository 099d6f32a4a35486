import { beforeEach, describe, expect, test } from 'vitest'
import { DAY_MS, HOUR_MS } from '../../../src/domain/cap-windows.ts'
import { NO_CAPS } from '../../../src/domain/strategy.ts'
import {
  addExposure,
  type Exposure,
  liveSum,
  removeExposure,
} from '../../../src/journal/projections/exposures.ts'
import {
  dayAllowance,
  type LimitHit,
  type LimitQuery,
  limitHit,
  limitText,
} from '../../../src/journal/projections/limits.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { ACCOUNT, USDC, WETH } from '../../simulation/stage.ts'
import { capOf, OPEN, usdc } from '../../support/builders.ts'

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

function fullHit(changes: Partial<LimitQuery>): LimitHit | undefined {
  const query = { strategy: 'hourly', token: USDC, amount: usdc(25), nowMs: NOW_MS }
  return limitHit(state, { ...query, limits: NO_LIMITS, account: NO_ACCOUNT, ...changes })
}

function hit(changes: Partial<LimitQuery>): string | undefined {
  return fullHit(changes)?.reason
}

test('no limit is hit without caps', () => {
  expose({ amount: usdc(1_000_000) })
  expect(hit({})).toBeUndefined()
})

test('an order may equal the cap per order', () => {
  expect(hit({ amount: usdc(250), account: ACCOUNT })).toBeUndefined()
  expect(hit({ amount: usdc(251), account: ACCOUNT })).toBe('limit-account-per-order')
})

describe("a strategy's daily cap", () => {
  const limits = { ...NO_LIMITS, perDay: capOf(USDC, usdc(65)) }

  test('may be reached but not exceeded', () => {
    expose()
    expect(hit({ limits })).toBeUndefined()
    expect(hit({ limits, amount: usdc(26) })).toBe('limit-per-day')
  })

  test('stops counting a fill after exactly a day, to the millisecond', () => {
    expose({ amount: usdc(65), atMs: NOW_MS - DAY_MS + 1 })
    expect(hit({ limits })).toBe('limit-per-day')
    expect(hit({ limits, nowMs: NOW_MS + 1 })).toBeUndefined()
  })

  test('counts a live permit of any age', () => {
    expose({ amount: usdc(65), atMs: NOW_MS - 30 * DAY_MS, live: true })
    expect(hit({ limits })).toBe('limit-per-day')
  })

  test('counts a fill with a time in the future', () => {
    expose({ amount: usdc(65), atMs: NOW_MS + DAY_MS })
    expect(hit({ limits })).toBe('limit-per-day')
  })

  test('ignores other strategies and other tokens', () => {
    expose({ strategy: 'other', amount: usdc(65) })
    expose({ token: WETH.address, amount: usdc(65) })
    expect(hit({ limits })).toBeUndefined()
  })
})

test("the account's daily cap counts every strategy", () => {
  expose({ strategy: 'other', amount: usdc(990) })
  expect(hit({ account: ACCOUNT })).toBe('limit-account-per-day')
})

test('a total cap counts all past spending and live permits', () => {
  const limits = { ...NO_LIMITS, total: capOf(USDC, usdc(100)) }
  spend(60)
  expect(hit({ limits, amount: usdc(40) })).toBeUndefined()
  expose({ amount: usdc(1), live: true })
  expect(hit({ limits, amount: usdc(40) })).toBe('limit-total')
})

test('live permits are summed by token, or by token and strategy', () => {
  expose({ live: true })
  expose({ live: true, strategy: 'other' })
  expose({ live: true, token: WETH.address })
  expose()
  expect(liveSum(state, USDC.address)).toBe(usdc(80))
  expect(liveSum(state, USDC.address, 'other')).toBe(usdc(40))
})

test('the remaining daily cap of the account is never negative, and unknown without a cap', () => {
  const query = { token: USDC, nowMs: NOW_MS, account: ACCOUNT }
  expose({ amount: usdc(400) })
  expect(dayAllowance(state, query)).toBe(usdc(600))
  expose({ amount: usdc(900) })
  expect(dayAllowance(state, query)).toBe(0n)
  expect(dayAllowance(state, { ...query, token: WETH })).toBeUndefined()
})

describe.each([
  { cap: 'perHour', ms: HOUR_MS, own: 'limit-per-hour', all: 'limit-account-per-hour' },
  { cap: 'perDay', ms: DAY_MS, own: 'limit-per-day', all: 'limit-account-per-day' },
  { cap: 'perWeek', ms: 7 * DAY_MS, own: 'limit-per-week', all: 'limit-account-per-week' },
] as const)('$cap', ({ cap, ms, own, all }) => {
  const limits = { ...NO_LIMITS, [cap]: capOf(USDC, usdc(65)) }
  const account = { ...NO_ACCOUNT, [cap]: capOf(USDC, usdc(65)) }

  test('of a strategy reports how full it is and when the blocking fill leaves the window', () => {
    expose({ atMs: NOW_MS - 1_000 })
    const freesAtMs = NOW_MS - 1_000 + ms
    expect(fullHit({ limits, amount: usdc(26) })).toEqual({
      reason: own,
      token: USDC,
      cap: usdc(65),
      used: usdc(40),
      requested: usdc(26),
      freesAtMs,
    })
    expect(hit({ limits, amount: usdc(26), nowMs: freesAtMs - 1 })).toBe(own)
    expect(hit({ limits, amount: usdc(26), nowMs: freesAtMs })).toBeUndefined()
  })

  test('of the account counts spending by other strategies', () => {
    expose({ strategy: 'other' })
    expect(hit({ limits, amount: usdc(26) })).toBeUndefined()
    expect(hit({ account })).toBeUndefined()
    expect(hit({ account, amount: usdc(26) })).toBe(all)
  })

  test('names the fill that must leave, neither the oldest nor the newest', () => {
    for (const age of [5_000, 4_000, 3_000]) expose({ amount: usdc(20), atMs: NOW_MS - age })
    const freesAtMs = NOW_MS - 4_000 + ms
    expect(fullHit({ limits, amount: usdc(45) })?.freesAtMs).toBe(freesAtMs)
    expect(hit({ limits, amount: usdc(45), nowMs: freesAtMs - 1 })).toBe(own)
    expect(hit({ limits, amount: usdc(45), nowMs: freesAtMs })).toBeUndefined()
  })

  test('of one token does not affect another', () => {
    expose({ amount: usdc(65) })
    expect(hit({ limits, account, token: WETH, amount: usdc(1_000) })).toBeUndefined()
  })
})

test('removes the right one of several simultaneous fills, so the reported time stays correct', () => {
  const limits = { ...NO_LIMITS, perDay: capOf(USDC, usdc(35)) }
  for (const amount of [30, 10, 10]) expose({ amount: usdc(amount), atMs: NOW_MS - 10 })
  expose({ amount: usdc(5), atMs: NOW_MS - 20 })
  expose({ amount: usdc(5), atMs: NOW_MS - 5 })
  removeExposure(state, 'order 0')
  expect(fullHit({ limits, amount: usdc(35) })).toMatchObject({
    used: usdc(30),
    freesAtMs: NOW_MS - 5 + DAY_MS,
  })
})

describe('if time alone frees nothing', () => {
  const limits = { ...NO_LIMITS, perDay: capOf(USDC, usdc(65)) }

  test('an order larger than the cap has no time', () => {
    expose()
    expect(fullHit({ limits, amount: usdc(66) })).toMatchObject({
      reason: 'limit-per-day',
      freesAtMs: undefined,
    })
  })

  test('an order blocked only by open orders has no time', () => {
    expose({ live: true })
    expose({ amount: usdc(10) })
    expect(fullHit({ limits, amount: usdc(26) })?.freesAtMs).toBeUndefined()
  })

  test('open orders still block after the fills have left', () => {
    expose({ amount: usdc(20), live: true })
    expose({ amount: usdc(30), atMs: NOW_MS - 10 })
    expect(fullHit({ limits })?.freesAtMs).toBe(NOW_MS - 10 + DAY_MS)
    expect(hit({ limits, nowMs: NOW_MS - 10 + DAY_MS })).toBeUndefined()
  })
})

describe('of several caps', () => {
  const perHour = capOf(USDC, usdc(50))
  const perDay = capOf(USDC, usdc(60))

  test('the cap that blocks longest is reported', () => {
    expose()
    expect(fullHit({ limits: { ...NO_LIMITS, perHour, perDay } })).toMatchObject({
      reason: 'limit-per-day',
      freesAtMs: NOW_MS - 1 + DAY_MS,
    })
    const account = { ...NO_ACCOUNT, perDay }
    expect(hit({ limits: { ...NO_LIMITS, perHour }, account })).toBe('limit-account-per-day')
  })

  test('a cap that never frees precedes caps that do', () => {
    expose()
    spend(40)
    const limits = { ...NO_LIMITS, perDay, total: capOf(USDC, usdc(60)) }
    expect(fullHit({ limits })).toMatchObject({ reason: 'limit-total', freesAtMs: undefined })
  })
})

test('the account has a total cap over all strategies', () => {
  const account = { ...NO_ACCOUNT, total: capOf(USDC, usdc(100)) }
  state.spent.set(USDC.address, usdc(60))
  expect(hit({ account, amount: usdc(40) })).toBeUndefined()
  expose({ strategy: 'other', amount: usdc(1), live: true })
  expect(fullHit({ account, amount: usdc(40) })).toMatchObject({
    reason: 'limit-account-total',
    used: usdc(61),
  })
})

test('orders decided together share a window, and each alone must meet the cap per order', () => {
  const limits = {
    ...NO_LIMITS,
    perOrder: capOf(USDC, usdc(30)),
    perDay: capOf(USDC, usdc(50)),
    total: capOf(USDC, usdc(55)),
  }
  expect(hit({ limits, together: usdc(50) })).toBeUndefined()
  expect(fullHit({ limits, together: usdc(51) })).toMatchObject({
    reason: 'limit-per-day',
    requested: usdc(51),
  })
  expect(hit({ limits: { ...limits, perDay: NO_CAPS }, together: usdc(56) })).toBe('limit-total')
})

describe('the text of a cap', () => {
  const example: LimitHit = {
    reason: 'limit-per-day',
    token: USDC,
    cap: usdc(65),
    used: usdc(40),
    requested: usdc(26),
    freesAtMs: Date.UTC(2027, 0, 15, 9, 30, 5),
  }

  test('states how full it is, and when the order fits, as a time and a duration', () => {
    expect(limitText(example, Date.UTC(2027, 0, 15, 9, 28, 59, 500))).toBe(
      '40 of 65 USDC is used, 26 more requested; there is room again at 2027-01-15T09:30:05Z, in 1m 6s',
    )
  })

  test('states no time if time frees nothing', () => {
    expect(limitText({ ...example, freesAtMs: undefined }, 0)).toBe(
      '40 of 65 USDC is used, 26 more requested',
    )
  })
})
