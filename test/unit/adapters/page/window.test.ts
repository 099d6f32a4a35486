import { expect, test } from 'vitest'
import { shiftFor, windowOf } from '../../../../src/adapters/page/client/table/window.ts'

const seen = { rowHeight: 50, seen: 800, spare: 8 }

test('what is seen is drawn, with some to spare, and no more', () => {
  for (const top of [200, 0, -1, -12_345, -2_000_000, -4_999_000]) {
    const { first, end } = windowOf({ ...seen, count: 100_000, top })
    expect(first * 50).toBeLessThanOrEqual(Math.max(0, -top))
    expect(end * 50).toBeGreaterThanOrEqual(Math.min(100_000 * 50, 800 - top))
    expect(end - first).toBeLessThan(60)
  }
})

test('scrolling a few pixels draws nothing anew', () => {
  const at = (top: number) => windowOf({ ...seen, count: 1_000, top })
  expect(at(-10_010)).toEqual(at(-10_040))
})

test('a short list is drawn whole, an empty one not at all', () => {
  expect(windowOf({ ...seen, count: 3, top: 300 })).toEqual({ first: 0, end: 3 })
  expect(windowOf({ ...seen, count: 0, top: 300 })).toEqual({ first: 0, end: 0 })
})

test('a list that is not in sight keeps some rows at its nearer end', () => {
  expect(windowOf({ ...seen, count: 100, top: 90_000 })).toEqual({ first: 0, end: 8 })
  expect(windowOf({ ...seen, count: 100, top: -90_000 })).toEqual({ first: 92, end: 100 })
})

test('what is read stays in its place when rows come above it, and only when the top is out of sight', () => {
  const rows = { before: 40, now: 43, rowHeight: 50 }
  expect(shiftFor({ ...rows, top: -2_000 })).toBe(150)
  expect(shiftFor({ ...rows, top: 10 })).toBe(0)
  expect(shiftFor({ ...rows, now: -1, top: -2_000 })).toBe(0)
})
