import { Virtualizer } from '@tanstack/virtual-core'
import { expect, test } from 'vitest'
import { rowOptions, shiftFor } from '../../../../src/ui/page/client/views/virtual-table.tsx'

const HEIGHT = 50
const SEEN = 800

/** Indexes of the rendered rows for a given distance of the list's top from the viewport. */
function drawnAt(top: number, { count = 100_000, focusedIndex = -1 } = {}): readonly number[] {
  const scrollMargin = Math.max(0, top)
  const list = new Virtualizer<Window, Element>({
    ...rowOptions({ count, rowHeight: HEIGHT, focusedIndex }),
    scrollMargin,
    getScrollElement: () => ({}) as Window,
    observeElementRect: (_, seen) => seen({ width: 1_280, height: SEEN }),
    observeElementOffset: (_, seen) => seen(scrollMargin - top, false),
    scrollToFn: () => {},
  })
  list._willUpdate()
  return list.getVirtualIndexes()
}

test('visible rows are rendered with a margin, and no more', () => {
  for (const top of [200, 0, -1, -12_345, -2_000_000, -4_999_000]) {
    const drawn = drawnAt(top)
    const [first = Number.NaN, last = Number.NaN] = [drawn[0], drawn.at(-1)]
    expect(first * HEIGHT).toBeLessThanOrEqual(Math.max(0, -top))
    expect((last + 1) * HEIGHT).toBeGreaterThanOrEqual(Math.min(100_000 * HEIGHT, SEEN - top))
    expect(drawn.length).toBe(last - first + 1)
    expect(drawn.length).toBeLessThan(60)
  }
})

test('a scroll of a few pixels renders no new rows', () => {
  expect(drawnAt(-10_010, { count: 1_000 })).toEqual(drawnAt(-10_040, { count: 1_000 }))
})

test('a short list is rendered in full, and an empty one not at all', () => {
  expect(drawnAt(300, { count: 3 })).toEqual([0, 1, 2])
  expect(drawnAt(300, { count: 0 })).toEqual([])
})

test('a list outside the viewport keeps some rows at its nearer end', () => {
  const [above, below] = [drawnAt(90_000, { count: 100 }), drawnAt(-90_000, { count: 100 })]
  expect([above[0], above.length < 60]).toEqual([0, true])
  expect([below.at(-1), below.length < 60]).toEqual([99, true])
})

test('the focused row is rendered once, at any position, while it exists', () => {
  const visible = drawnAt(-12_345)
  expect(drawnAt(-12_345, { focusedIndex: 7 })).toEqual([7, ...visible])
  expect(drawnAt(-12_345, { focusedIndex: 9_000 })).toEqual([...visible, 9_000])
  expect(drawnAt(-12_345, { focusedIndex: 250 })).toEqual(visible)
  expect(drawnAt(-12_345, { focusedIndex: 100_000 })).toEqual(visible)
})

test('rows keep their position when rows are added above, but only if the top is out of view', () => {
  const rows = { before: 40, now: 43, rowHeight: 50 }
  expect(shiftFor({ ...rows, top: -2_000 })).toBe(150)
  expect(shiftFor({ ...rows, top: 10 })).toBe(0)
  expect(shiftFor({ ...rows, now: -1, top: -2_000 })).toBe(0)
})
