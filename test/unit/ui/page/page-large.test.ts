import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type {
  Change,
  FillsPage,
  StrategyDetail,
  StrategyRow,
  Why,
} from '../../../../src/ui/page/model.ts'
import type { Page } from '../../../../src/ui/page/server/page.ts'
import { said } from '../../../support/page/a-page.ts'
import {
  type LargeJournal,
  strategyName,
  writeLargeJournal,
} from '../../../support/page/large-journal.ts'
import { openLargePage, seqAfter, slotOfFill } from '../../../support/page/large-page.ts'

// bench/page measures the time this takes, and how long it blocks other work.

const STRATEGIES = 1_000
const FILLS = 100_000

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

let dir: string
let large: LargeJournal
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'tranched-large-'))
  large = writeLargeJournal(dir, { strategies: STRATEGIES, fills: FILLS })
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** How long other work waited at most. */
function gapsOfTheLoop() {
  let [lastMs, longestMs] = [performance.now(), 0]
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - lastMs)
    lastMs = performance.now()
  }, 1)
  onTestFinished(() => clearInterval(timer))
  return { longestMs: () => longestMs }
}

const open = (): Page => openLargePage(dir, large, STRATEGIES)

describe(`${STRATEGIES} strategies and ${FILLS} fills`, () => {
  test('the first request reads the past and builds a thousand rows', async () => {
    const rows = await said<StrategyRow[]>(open().strategies())
    expect(rows).toHaveLength(STRATEGIES)
    expect(rows.every(({ lastSlot }) => lastSlot?.outcome === 'filled')).toBe(true)
  })

  test.each([
    ['the newest', FILLS],
    ['the middle', FILLS / 2],
    ['the oldest', 100],
  ])('a hundred fills: %s', async (_, upTo) => {
    const page = open()
    const fills: FillsPage['fills'][number][] = []
    let before = upTo === FILLS ? undefined : seqAfter(upTo)
    // A search may end early on a busy machine; it returns where to continue.
    while (fills.length < 100) {
      const query = { limit: 100 - fills.length, before, strategy: undefined }
      const found: FillsPage = await said(page.fills(query))
      fills.push(...found.fills)
      if (found.next === null) break
      before = Number(found.next)
    }
    expect(fills).toHaveLength(100)
    expect(fills[0]?.slotSeconds).toBe(slotOfFill(upTo - 1))
    expect(fills.every(({ sold, bought }) => sold !== null && bought !== null)).toBe(true)
  })

  test("a search for one strategy's fills is bounded, and continues where it ended", async () => {
    const page = open()
    const strategy = strategyName(7)
    const slots: number[] = []
    let before: number | undefined
    // A search on a busy machine may find little, but the next one starts further back.
    for (let from = Number.POSITIVE_INFINITY; ; from = Number(before)) {
      const { fills, next }: FillsPage = await said(page.fills({ limit: 100, before, strategy }))
      slots.push(...fills.map(({ slotSeconds }) => slotSeconds))
      if (next === null) break
      before = Number(next)
      expect(before).toBeLessThan(from)
    }
    expect(slots).toHaveLength(FILLS / STRATEGIES)
    expect(slots).toEqual(slots.toSorted((a, b) => b - a))
  })

  test('a search ended by its time limit lets the next one start further back', async () => {
    const page = open()
    let nowMs = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 10_000))
    onTestFinished(() => clock.mockRestore())
    const before = seqAfter(FILLS / 2)
    const strategy = strategyName(7)
    const { next }: FillsPage = await said(page.fills({ limit: 100, before, strategy }))
    expect(next).not.toBeNull()
    expect(Number(next)).toBeLessThan(before)
  })

  test('a slot is explained at any point in the past', async () => {
    const page = open()
    for (const fill of [3, FILLS / 2, FILLS - 2]) {
      const slot = { strategy: strategyName(fill % STRATEGIES), slotSeconds: slotOfFill(fill) }
      expect((await said<Why>(page.why(slot))).lines).toHaveLength(5)
    }
    const never = { strategy: 'unknown', slotSeconds: slotOfFill(0) + 5 }
    expect(await page.why(never)).toBeUndefined()
  })

  test('the dialog of a strategy reads a bounded part of the journal, and never blocks for long', async () => {
    const page = openLargePage(dir, large, STRATEGIES, slotOfFill(FILLS) * 1000)
    const name = strategyName(7)
    const gaps = gapsOfTheLoop()
    const { chart } = await said<StrategyDetail>(page.strategy({ name, range: 'year' }))
    // How far back it reads within its time depends on the machine.
    expect(chart?.fills.length).toBeGreaterThan(0)
    expect(chart?.fills.at(-1)?.slotSeconds).toBe(slotOfFill(FILLS - STRATEGIES + 7))
    expect(gaps.longestMs()).toBeLessThan(500)
    const quick = open()
    const many = Array.from({ length: 40 }, () => quick.strategy({ name, range: 'day' }))
    const ends = await Promise.allSettled(many)
    const refused = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []))
    expect(new Set(refused)).toEqual(new Set(['TooManySearchesError']))
  })

  test('a change sends only the changed rows', async () => {
    const page = open()
    const revision = await page.refresh()
    const touch = (index: number): void =>
      page.observe({
        ...{ type: 'next-slot', strategy: strategyName(index), nextSlotSeconds: 1_900_000_000 },
        ...{ lastFillAtMs: undefined, paused: false, held: false },
      })
    touch(5)
    await page.refresh()
    const one = page.changeSince(revision).text
    expect((await said<Change>(one)).strategies).toHaveLength(1)
    expect(one.length).toBeLessThan(20_000)
    for (let index = 0; index < STRATEGIES; index += 1) touch(index)
    await page.refresh()
    const all = page.changeSince(revision).text
    expect((await said<Change>(all)).strategies).toHaveLength(STRATEGIES)
  })

  test('memory does not grow with the number of fills', async () => {
    const page = open()
    await page.strategies()
    let before: number | undefined
    const heaps: number[] = []
    for (let pages = 0; pages < 150; pages += 1) {
      const found: FillsPage = await said(page.fills({ limit: 300, before, strategy: undefined }))
      before = Number(found.next)
      if (pages % 50 === 49) {
        collectGarbage()
        heaps.push(process.memoryUsage().heapUsed / 1024 / 1024)
      }
    }
    expect(Math.max(...heaps) - Math.min(...heaps)).toBeLessThan(10)
  })
})
