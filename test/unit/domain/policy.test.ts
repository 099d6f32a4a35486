import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  agoMs,
  backoffMs,
  believedMs,
  CHAIN_LAG_MS_MAX,
  DEFAULT_POLICY,
  isFresh,
  lessBps,
  momentMs,
  pollDelayMs,
  trustedTime,
} from '../../../src/domain/policy.ts'

const NOW_MS = 1_800_000_000_000

describe('freshness', () => {
  test('requires both times to be more than ten seconds ahead', () => {
    const fresh = { expirationMs: NOW_MS + 10_001, validToSeconds: NOW_MS / 1000 + 11 }
    expect(isFresh(fresh, NOW_MS)).toBe(true)
    expect(isFresh({ ...fresh, expirationMs: NOW_MS + 10_000 }, NOW_MS)).toBe(false)
    expect(isFresh({ ...fresh, validToSeconds: NOW_MS / 1000 + 10 }, NOW_MS)).toBe(false)
  })
})

describe('trusted time', () => {
  const sources = { localMs: NOW_MS, serviceOffsetMs: 0, blockTimeSeconds: NOW_MS / 1000 }

  test('is the latest of the three clocks', () => {
    expect(trustedTime(sources)).toEqual({ ok: true, nowMs: NOW_MS })
    expect(trustedTime({ ...sources, serviceOffsetMs: 4_000 })).toEqual({
      ok: true,
      nowMs: NOW_MS + 4_000,
    })
    expect(trustedTime({ ...sources, serviceOffsetMs: -4_000 })).toEqual({
      ok: true,
      nowMs: NOW_MS,
    })
    expect(trustedTime({ ...sources, blockTimeSeconds: NOW_MS / 1000 + 5 })).toEqual({
      ok: true,
      nowMs: NOW_MS + 5_000,
    })
    expect(trustedTime({ ...sources, serviceOffsetMs: undefined })).toEqual({
      ok: true,
      nowMs: NOW_MS,
    })
  })

  test.each([
    ['the service is more than five seconds ahead', { serviceOffsetMs: 5_001 }, 'clock-skew'],
    ['the service is more than five seconds behind', { serviceOffsetMs: -5_001 }, 'clock-skew'],
    [
      'the chain is more than five seconds ahead',
      { blockTimeSeconds: NOW_MS / 1000 + 6 },
      'clock-skew',
    ],
    [
      'the newest block is older than two minutes',
      { blockTimeSeconds: NOW_MS / 1000 - 121 },
      'chain-stale',
    ],
  ])('is refused when %s', (_name, changes, reason) => {
    expect(trustedTime({ ...sources, ...changes })).toMatchObject({ ok: false, reason })
  })
})

test('backoff doubles from its minimum to its maximum and never falls below half of the step', () => {
  expect([1, 2, 3].map((tries) => backoffMs(DEFAULT_POLICY, tries, 0))).toEqual([250, 500, 1_000])
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (tries, jitter) => {
        const pause = backoffMs(DEFAULT_POLICY, tries, jitter)
        expect(pause).toBeGreaterThanOrEqual(DEFAULT_POLICY.backoffMsMin / 2)
        expect(pause).toBeLessThanOrEqual(DEFAULT_POLICY.backoffMsMax)
      },
    ),
  )
})

test('polling starts at one to two seconds and slows down to five', () => {
  expect(pollDelayMs(DEFAULT_POLICY, 0, 0)).toBe(1_000)
  expect(pollDelayMs(DEFAULT_POLICY, 0, 0.99)).toBeLessThan(2_000)
  expect(pollDelayMs(DEFAULT_POLICY, 15_000, 0)).toBe(2_000)
  expect(pollDelayMs(DEFAULT_POLICY, 600_000, 0)).toBe(5_000)
})

test('an amount less basis points is rounded down', () => {
  expect(lessBps(10_000n, 50)).toBe(9_950n)
  expect(lessBps(9_999n, 50)).toBe(9_949n)
  expect(lessBps(7n, 10_000)).toBe(0n)
})

describe('a moment recorded by two clocks', () => {
  const minutes = (count: number): number => NOW_MS + count * 60_000

  test.each([
    [
      'is the later time if the chain was behind',
      { clockMs: minutes(0), chainMs: minutes(-60) },
      0,
    ],
    [
      'is the later time if the clock was behind',
      { clockMs: minutes(-60), chainMs: minutes(0) },
      0,
    ],
    [
      'is the chain time if the clock was ahead',
      { clockMs: minutes(600), chainMs: minutes(-1) },
      -1,
    ],
    [
      'is the clock time if the chain was ahead',
      { clockMs: minutes(-1), chainMs: minutes(600) },
      -1,
    ],
    ['is now if both were ahead', { clockMs: minutes(600), chainMs: minutes(60) }, 5],
    [
      'is the clock time if the chain was unreadable',
      { clockMs: minutes(2), chainMs: undefined },
      2,
    ],
  ] as const)('%s', (_name, moment, after) => {
    expect(momentMs(moment, minutes(5))).toBe(minutes(after))
  })
})

test('a clock is believed up to the maximum age of the newest block', () => {
  expect(believedMs(NOW_MS, NOW_MS / 1000 - 120)).toBe(NOW_MS)
  expect(believedMs(NOW_MS + 1, NOW_MS / 1000 - 120)).toBe(NOW_MS)
  expect(believedMs(NOW_MS, NOW_MS / 1000 + 999)).toBe(NOW_MS)
})

test('a moment further ahead than clocks may differ counts as long ago', () => {
  expect(agoMs(NOW_MS, NOW_MS - 5)).toBe(5)
  expect(agoMs(NOW_MS, NOW_MS + CHAIN_LAG_MS_MAX)).toBe(-CHAIN_LAG_MS_MAX)
  expect(agoMs(NOW_MS, NOW_MS + CHAIN_LAG_MS_MAX + 1)).toBe(Number.POSITIVE_INFINITY)
})
