import { expect, test } from 'vitest'
import { LoadedFills } from '../../../../src/ui/page/client/data/loaded-fills.ts'
import type { FillRow } from '../../../../src/ui/page/model.ts'

function fill(atMs: number, part: Partial<FillRow> = {}): FillRow {
  return {
    intentId: `weekly-eth:${atMs}:0`,
    strategy: 'weekly-eth',
    slotSeconds: atMs,
    atMs,
    venue: 'gasless',
    paper: false,
    sold: null,
    bought: null,
    call: null,
    vsFeedBps: null,
    charged: null,
    txHash: null,
    explorerUrl: null,
    undone: false,
    ...part,
  }
}

/** Newest first, like a page. */
const fills = (...times: number[]) => times.map((atMs) => fill(atMs))
const timesOf = (loaded: LoadedFills) =>
  Array.from({ length: loaded.size }, (_, index) => loaded.at(index)?.atMs)

function loadedOf(...times: number[]): LoadedFills {
  const loaded = new LoadedFills()
  loaded.append({ fills: fills(...times), next: 'older' })
  return loaded
}

test('new fills go before loaded fills, and older pages after them', () => {
  const loaded = loadedOf(30, 20)
  expect(loaded.merge(fills(50, 40)).map(({ atMs }) => atMs)).toEqual([50, 40])
  loaded.append({ fills: fills(10), next: null })
  loaded.merge(fills(60))
  expect(timesOf(loaded)).toEqual([60, 50, 40, 30, 20, 10])
  expect(loaded.next).toBeNull()
})

test("a row's index follows the rows added above it", () => {
  const loaded = loadedOf(30, 20)
  loaded.merge(fills(50, 40))
  const ids = [50, 40, 30, 20, 10].map((atMs) => loaded.indexOf(fill(atMs).intentId))
  expect(ids).toEqual([0, 1, 2, 3, -1])
})

test('an undone fill replaces itself and does not count as new', () => {
  const loaded = loadedOf(30, 20)
  loaded.merge(fills(40))
  expect(loaded.merge([fill(40, { undone: true }), fill(20, { undone: true })])).toEqual([])
  expect(timesOf(loaded)).toEqual([40, 30, 20])
  expect([loaded.at(0)?.undone, loaded.at(1)?.undone, loaded.at(2)?.undone]).toEqual([
    true,
    false,
    true,
  ])
})

test('a change to a fill that is not loaded yet is ignored', () => {
  const loaded = loadedOf(30, 20)
  expect(loaded.merge(fills(5))).toEqual([])
  expect(timesOf(loaded)).toEqual([30, 20])
})

test('a short disconnect loses no loaded fill', () => {
  const loaded = loadedOf(30, 20)
  loaded.append({ fills: fills(10), next: null })
  loaded.renew({ fills: fills(50, 40, 30), next: '30' }, true)
  expect(timesOf(loaded)).toEqual([50, 40, 30, 20, 10])
})

test('a newest page that does not overlap the loaded fills replaces them, so no gap appears complete', () => {
  const loaded = loadedOf(30, 20)
  loaded.renew({ fills: fills(90, 80), next: '80' }, true)
  expect(timesOf(loaded)).toEqual([90, 80])
  expect(loaded.next).toBe('80')
  expect(loaded.indexOf(fill(30).intentId)).toBe(-1)
})

test('fills of another daemon replace all loaded fills', () => {
  const loaded = loadedOf(30, 20)
  loaded.renew({ fills: fills(30), next: null }, false)
  expect(timesOf(loaded)).toEqual([30])
})

test('merging costs time in proportion to the changes: a thousand for 100,000 fills take under 20 seconds', () => {
  const loaded = new LoadedFills()
  const old = Array.from({ length: 100_000 }, (_, index) => fill(1_000_000 - index))
  loaded.append({ fills: old, next: null })
  const startedAt = performance.now()
  for (let round = 1; round <= 1_000; round += 1) loaded.merge(fills(2_000_000 + round))
  expect(performance.now() - startedAt).toBeLessThan(20_000)
  expect(loaded.at(0)?.atMs).toBe(2_001_000)
  expect(loaded.at(1_000)?.atMs).toBe(1_000_000)
})
