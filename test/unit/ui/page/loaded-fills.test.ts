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

/** Newest first, as a page is. */
const fills = (...times: number[]) => times.map((atMs) => fill(atMs))
const timesOf = (book: LoadedFills) =>
  Array.from({ length: book.size }, (_, index) => book.at(index)?.atMs)

function bookOf(...times: number[]): LoadedFills {
  const book = new LoadedFills()
  book.append({ fills: fills(...times), next: 'older' })
  return book
}

test('what comes in stands before what was there, and older pages behind it', () => {
  const book = bookOf(30, 20)
  expect(book.merge(fills(50, 40)).map(({ atMs }) => atMs)).toEqual([50, 40])
  book.append({ fills: fills(10), next: null })
  book.merge(fills(60))
  expect(timesOf(book)).toEqual([60, 50, 40, 30, 20, 10])
  expect(book.next).toBeNull()
})

test('a row knows its place, however many came above it', () => {
  const book = bookOf(30, 20)
  book.merge(fills(50, 40))
  const ids = [50, 40, 30, 20, 10].map((atMs) => book.indexOf(fill(atMs).intentId))
  expect(ids).toEqual([0, 1, 2, 3, -1])
})

test('a fill that was undone replaces itself and is not new', () => {
  const book = bookOf(30, 20)
  book.merge(fills(40))
  expect(book.merge([fill(40, { undone: true }), fill(20, { undone: true })])).toEqual([])
  expect(timesOf(book)).toEqual([40, 30, 20])
  expect([book.at(0)?.undone, book.at(1)?.undone, book.at(2)?.undone]).toEqual([true, false, true])
})

test('a change of a fill that was not loaded yet leaves it to its page', () => {
  const book = bookOf(30, 20)
  expect(book.merge(fills(5))).toEqual([])
  expect(timesOf(book)).toEqual([30, 20])
})

test('after a short loss of the connection nothing that was loaded is lost', () => {
  const book = bookOf(30, 20)
  book.append({ fills: fills(10), next: null })
  book.renew({ fills: fills(50, 40, 30), next: '30' }, true)
  expect(timesOf(book)).toEqual([50, 40, 30, 20, 10])
})

test('where the newest page does not reach what is here, everything begins with it: no gap is shown as whole', () => {
  const book = bookOf(30, 20)
  book.renew({ fills: fills(90, 80), next: '80' }, true)
  expect(timesOf(book)).toEqual([90, 80])
  expect(book.next).toBe('80')
  expect(book.indexOf(fill(30).intentId)).toBe(-1)
})

test('another daemon is not believed to go on with the fills of the one before', () => {
  const book = bookOf(30, 20)
  book.renew({ fills: fills(30), next: null }, false)
  expect(timesOf(book)).toEqual([30])
})

test('news cost as much as there is of it: a thousand changes of 100,000 fills take no second', () => {
  const book = new LoadedFills()
  const old = Array.from({ length: 100_000 }, (_, index) => fill(1_000_000 - index))
  book.append({ fills: old, next: null })
  const startedAt = performance.now()
  for (let round = 1; round <= 1_000; round += 1) book.merge(fills(2_000_000 + round))
  expect(performance.now() - startedAt).toBeLessThan(20_000)
  expect(book.at(0)?.atMs).toBe(2_001_000)
  expect(book.at(1_000)?.atMs).toBe(1_000_000)
})
