import { describe, expect, test } from 'vitest'
import { Pacer } from '../../../../src/venues/queue/pacer.ts'
import { readRateLimit, readRetryAfterMs } from '../../../../src/venues/queue/rate-limit.ts'
import {
  AGGREGATOR_SHARES,
  GASLESS_SHARES,
  routesOf,
  routeWindows as windowsOf,
} from '../../../../src/venues/queue/route-shares.ts'
import { createServiceClock } from '../../../../src/venues/swap/client/service-clock.ts'

const ROUTES = routesOf(GASLESS_SHARES)
const routeWindows = (ceiling: number) => windowsOf(GASLESS_SHARES, ceiling)
const NOW = Date.UTC(2026, 10, 20, 12)

describe('rate-limit headers', () => {
  const headers = (limit: string, remaining: string, reset: string) => ({
    'x-ratelimit-limit': limit,
    'x-ratelimit-remaining': remaining,
    'x-ratelimit-reset': reset,
  })

  test('are parsed with a reset as a duration', () => {
    expect(readRateLimit(headers('10', '4', '1500'), NOW)).toEqual({
      limit: 10,
      remaining: 4,
      resetInMs: 1_500,
    })
  })

  test.each([
    [NOW + 1_500, 1_500],
    [NOW - 1_500, 0],
    [NOW + 3_600_000, 60_000],
    [99_999_999_999, 60_000],
    [60_001, 60_000],
    [0, 0],
  ])('a reset of %i is a wait of %i ms', (reset, resetInMs) => {
    expect(readRateLimit(headers('10', '4', String(reset)), NOW)?.resetInMs).toBe(resetInMs)
  })

  test('never leave more than the limit', () => {
    expect(readRateLimit(headers('10', '11', '0'), NOW)?.remaining).toBe(10)
  })

  test.each([
    '',
    ' 1',
    '1 ',
    '+1',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    'ten',
    '1, 2',
    '1'.repeat(16),
    '\u0661',
  ])('are ignored if one of them is "%s"', (text) => {
    expect(readRateLimit(headers(text, '4', '1500'), NOW)).toBeUndefined()
    expect(readRateLimit(headers('10', text, '1500'), NOW)).toBeUndefined()
    expect(readRateLimit(headers('10', '4', text), NOW)).toBeUndefined()
  })

  test('are ignored if one is missing, repeated, or allows nothing', () => {
    const { 'x-ratelimit-reset': _, ...two } = headers('10', '4', '1500')
    expect(readRateLimit(two, NOW)).toBeUndefined()
    expect(readRateLimit({ ...two, 'x-ratelimit-reset': ['1', '2'] }, NOW)).toBeUndefined()
    expect(readRateLimit(headers('0', '0', '1500'), NOW)).toBeUndefined()
  })
})

describe('retry-after', () => {
  test.each([
    ['0', 0],
    ['1', 1_000],
    ['301', 301_000],
    ['1.5', 1_500],
    ['7200', 7_200_000],
    ['31536000', 86_400_000],
    ['9'.repeat(400), 86_400_000],
    ['', 1_000],
    ['-1', 1_000],
    ['1e9', 1_000],
    ['soon', 1_000],
    ['Fri, 20 Nov 2026 12:00:30 GMT', 30_000],
    ['Fri, 20 Nov 2026 14:00:00 GMT', 7_200_000],
    ['Fri, 20 Nov 2026 11:59:59 GMT', 0],
    ['Mon, 20 Nov 2028 12:00:00 GMT', 86_400_000],
    ['Fri, 31 Nov 2026 12:00:30 GMT', 1_000],
    ['Fri, 20 Foo 2026 12:00:30 GMT', 1_000],
    ['Nov 20 2026', 1_000],
    [undefined, 1_000],
  ])('of "%s" is a wait of %i ms', (value, ms) => {
    expect(readRetryAfterMs({ 'retry-after': value }, NOW)).toBe(ms)
  })

  test("as a date counts from the reply's own date, unless a cache stored it", () => {
    const at = (ms: number) => new Date(ms).toUTCString()
    const reply = { 'retry-after': at(NOW + 600_000), date: at(NOW + 540_000) }
    expect(readRetryAfterMs(reply, NOW)).toBe(60_000)
    expect(readRetryAfterMs({ ...reply, age: '90' }, NOW)).toBe(600_000)
    expect(readRetryAfterMs({ ...reply, date: 'yesterday' }, NOW)).toBe(600_000)
  })
})

describe('shares of the ceiling', () => {
  test.each([4, 4.9, 5, 6, 7, 10, 13, 20, 100, 999, 10_000])(
    'of %d a second sum to the ceiling in any second',
    (ceiling) => {
      const windows = routeWindows(ceiling)
      const sum = ROUTES.reduce((total, route) => total + windows[route].cap, 0)
      expect(sum).toBe(Math.floor(ceiling))
      for (const route of ROUTES) expect(windows[route].windowMs).toBe(1_000)
    },
  )

  test('give every route some, polls the most, and quotes as many as submissions', () => {
    expect(ROUTES.map((route) => routeWindows(5)[route].cap)).toEqual([1, 2, 1, 1])
    expect(ROUTES.map((route) => routeWindows(20)[route].cap)).toEqual([6, 7, 6, 1])
    expect(ROUTES.map((route) => routeWindows(100)[route].cap)).toEqual([30, 35, 30, 5])
  })

  test.each([0.1, 1, 3.9])(
    'of %d a second are one request per route with a longer window',
    (ceiling) => {
      for (const route of ROUTES)
        expect(routeWindows(ceiling)[route]).toEqual({ cap: 1, windowMs: 4_000 / ceiling })
    },
  )

  test('are separate for each service, and most requests to the aggregator are calls', () => {
    const windows = windowsOf(AGGREGATOR_SHARES, 20)
    const caps = routesOf(AGGREGATOR_SHARES).map((route) => [route, windows[route].cap])
    expect(caps).toEqual([
      ['sendRawTransaction', 7],
      ['getTransactionReceipt', 6],
      ['accountInfo', 3],
      ['transactionStatus', 2],
      ['getBatchedTransactionReceipt', 1],
      ['sendBundle', 1],
    ])
  })

  test.each([0, -1, Number.NaN])('of %d a second are rejected', (ceiling) => {
    expect(() => routeWindows(ceiling)).toThrow(RangeError)
  })
})

describe('a pacer', () => {
  /** A pacer with its own clock; `spend` starts and finishes requests as early as allowed. */
  function setUp(): {
    pacer: Pacer
    at: (ms: number) => void
    spend: (count: number) => void
  } {
    let nowMs = 0
    const pacer = new Pacer(() => nowMs)
    const spend = (count: number) => {
      for (let index = 0; index < count; index++) {
        nowMs += pacer.delayMs()
        pacer.started()
        pacer.finished()
      }
    }
    return {
      pacer,
      at: (ms) => {
        nowMs = ms
      },
      spend,
    }
  }

  test('waits for the reset when nothing remains', () => {
    const { pacer, at } = setUp()
    pacer.onRateLimit({ limit: 10, remaining: 0, resetInMs: 700 })
    expect(pacer.delayMs()).toBe(700)
    at(700)
    expect(pacer.delayMs()).toBe(0)
  })

  test('counts its own requests since the last reply', () => {
    const { pacer, spend } = setUp()
    pacer.onRateLimit({ limit: 4, remaining: 2, resetInMs: 500 })
    spend(2)
    expect(pacer.delayMs()).toBe(500)
  })

  test('counts pending requests when a reply arrives', () => {
    const { pacer } = setUp()
    for (let count = 0; count < 4; count++) pacer.started()
    pacer.onRateLimit({ limit: 10, remaining: 3, resetInMs: 500 })
    expect(pacer.delayMs()).toBe(500)
  })

  test('spreads the last fifth of a window over the remaining time', () => {
    const { pacer, at } = setUp()
    pacer.started()
    pacer.finished()
    pacer.onRateLimit({ limit: 100, remaining: 20, resetInMs: 1_000 })
    expect(pacer.delayMs()).toBe(0)
    pacer.onRateLimit({ limit: 100, remaining: 19, resetInMs: 1_000 })
    expect(pacer.delayMs()).toBe(50)
    at(50)
    pacer.started()
    pacer.finished()
    expect(pacer.delayMs()).toBeCloseTo(50)
  })

  test('does not delay the first request because of a spread', () => {
    const { pacer } = setUp()
    pacer.onRateLimit({ limit: 100, remaining: 1, resetInMs: 1_000 })
    expect(pacer.delayMs()).toBe(0)
  })

  test('uses up the last fifth before the window ends, not after it', () => {
    const { pacer, at, spend } = setUp()
    spend(1)
    pacer.onRateLimit({ limit: 100, remaining: 19, resetInMs: 1_000 })
    spend(19)
    at(999)
    expect(pacer.delayMs()).toBeCloseTo(1)
  })

  test('starts a new window with the whole limit until a reply reports otherwise', () => {
    const { pacer, at } = setUp()
    pacer.onRateLimit({ limit: 3, remaining: 0, resetInMs: 500 })
    at(500)
    for (let count = 0; count < 3; count++) {
      expect(pacer.delayMs()).toBe(0)
      pacer.started()
    }
    expect(pacer.delayMs()).toBe(500)
  })

  test('accepts a later reply that leaves more', () => {
    const { pacer } = setUp()
    pacer.onRateLimit({ limit: 10, remaining: 0, resetInMs: 500 })
    pacer.onRateLimit({ limit: 10, remaining: 10, resetInMs: 500 })
    expect(pacer.delayMs()).toBe(0)
  })

  test('is blocked by a 429, and a shorter 429 does not lift the block', () => {
    const { pacer, at } = setUp()
    pacer.onRetryAfter(5_000)
    pacer.onRetryAfter(1_000)
    expect(pacer.delayMs()).toBe(5_000)
    at(5_000)
    expect(pacer.delayMs()).toBe(0)
  })

  test('is blocked by a 429 even if the headers leave requests', () => {
    const { pacer } = setUp()
    pacer.onRetryAfter(5_000)
    pacer.onRateLimit({ limit: 10, remaining: 10, resetInMs: 100 })
    expect(pacer.delayMs()).toBe(5_000)
  })
})

describe("the service's clock", () => {
  const date = (ms: number) => new Date(ms).toUTCString()

  test('is read at the middle of the exchange, half a second into the named second', () => {
    const clock = createServiceClock()
    clock.sample({ sentMs: NOW, receivedMs: NOW + 200, date: date(NOW + 7_000) })
    expect(clock.offsetMs(NOW + 200)).toBe(7_400)
  })

  test('is not read from a slow exchange, after a clock set back, or without a date', () => {
    const clock = createServiceClock()
    clock.sample({ sentMs: NOW, receivedMs: NOW + 2_001, date: date(NOW) })
    clock.sample({ sentMs: NOW, receivedMs: NOW - 1, date: date(NOW) })
    clock.sample({ sentMs: NOW, receivedMs: NOW, date: 'yesterday' })
    clock.sample({ sentMs: NOW, receivedMs: NOW, date: undefined })
    expect(clock.offsetMs(NOW + 5_000)).toBeUndefined()
    clock.sample({ sentMs: NOW, receivedMs: NOW + 2_000, date: date(NOW) })
    expect(clock.offsetMs(NOW + 5_000)).toBe(-500)
  })

  test('is read from the shortest of the last eight exchanges', () => {
    const clock = createServiceClock()
    clock.sample({ sentMs: NOW, receivedMs: NOW + 20, date: date(NOW) })
    for (let index = 1; index < 8; index++)
      clock.sample({ sentMs: NOW, receivedMs: NOW + 900, date: date(NOW) })
    expect(clock.offsetMs(NOW + 1_000)).toBe(490)
    clock.sample({ sentMs: NOW, receivedMs: NOW + 900, date: date(NOW) })
    expect(clock.offsetMs(NOW + 1_000)).toBe(50)
  })

  test('is read from the later of two equally short exchanges', () => {
    const clock = createServiceClock()
    clock.sample({ sentMs: NOW, receivedMs: NOW + 20, date: date(NOW) })
    clock.sample({ sentMs: NOW + 900, receivedMs: NOW + 920, date: date(NOW) })
    expect(clock.offsetMs(NOW + 1_000)).toBe(-410)
  })

  test('expires after ten minutes', () => {
    const clock = createServiceClock()
    clock.sample({ sentMs: NOW, receivedMs: NOW, date: date(NOW) })
    expect(clock.offsetMs(NOW + 600_000)).toBe(500)
    expect(clock.offsetMs(NOW + 600_001)).toBeUndefined()
  })

  test('drops its samples when a clock has been set', () => {
    const clock = createServiceClock()
    clock.sample({ sentMs: NOW, receivedMs: NOW + 10, date: date(NOW) })
    clock.sample({ sentMs: NOW, receivedMs: NOW + 800, date: date(NOW + 60_000) })
    expect(clock.offsetMs(NOW + 1_000)).toBe(60_100)
  })

  test('drops samples from before the local clock was set back', () => {
    const clock = createServiceClock()
    clock.sample({ sentMs: NOW, receivedMs: NOW, date: date(NOW) })
    expect(clock.offsetMs(NOW - 3_600_000)).toBeUndefined()
  })
})
