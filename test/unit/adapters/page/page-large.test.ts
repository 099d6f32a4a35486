import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Change, FillsPage, StrategyRow, Why } from '../../../../src/adapters/page/model.ts'
import { Page } from '../../../../src/adapters/page/page.ts'
import { createScrubber } from '../../../../src/adapters/tell/scrubber.ts'
import { aStrategy } from '../../../support/builders.ts'
import { pageSettings, said } from '../../../support/page/a-page.ts'
import {
  FIRST_SLOT,
  type LargeJournal,
  SLOT_STEP,
  strategyName,
  writeLargeJournal,
} from '../../../support/page/large-journal.ts'
import { OWNER } from '../../../support/state/journal-story.ts'

const STRATEGIES = 1_000
const FILLS = 100_000
/** What another program on the machine adds is not ours: the best of some tries counts. */
const TRIES = 5
/** Alone on a machine it is about 5 ms; a file that is parsed in one go takes 60. */
const STALL_MS_MAX = 40

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

let dir: string
let large: LargeJournal
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'tranched-large-'))
  large = writeLargeJournal(dir, { strategies: STRATEGIES, fills: FILLS })
}, 120_000)
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const scrubber = createScrubber()
scrubber.add('hunter2hunter2')

function open(): Page {
  const settings = pageSettings(dir)
  const page = new Page({
    settings,
    version: '1',
    now: () => 1_800_000_000_000,
    hiding: { clean: scrubber.text, value: scrubber.value },
    describe: ({ kind, enabled, name }) => ({
      kind,
      enabled,
      does: `${name} does`,
      schedule: 'now',
    }),
    warn: (message) => {
      throw new Error(message)
    },
  })
  const strategies = Array.from({ length: STRATEGIES }, (_, index) =>
    aStrategy({ name: strategyName(index) }),
  )
  page.take({ strategies, account: settings.limits })
  page.begin({
    state: large.state,
    wallets: new Map([['trader', OWNER]]),
    ready: () => ({ ok: true, reasons: [] }),
  })
  return page
}

type Measured<Value> = { readonly value: Value; readonly tookMs: number; readonly stallMs: number }

/** How long a task takes, and the longest time in which nothing else gets its turn meanwhile. */
async function measure<Value>(task: () => Promise<Value>): Promise<Measured<Value>> {
  let stallMs = 0
  let lastMs = performance.now()
  let isOver = false
  const watch = (): void => {
    const nowMs = performance.now()
    stallMs = Math.max(stallMs, nowMs - lastMs)
    lastMs = nowMs
    if (!isOver) setImmediate(watch)
  }
  setImmediate(watch)
  const startedMs = performance.now()
  const value = await task()
  isOver = true
  return { value, stallMs, tookMs: performance.now() - startedMs }
}

/** The best of some tries. */
async function best<Value>(task: (attempt: number) => Promise<Value>): Promise<Measured<Value>> {
  const tries: Measured<Value>[] = []
  for (let attempt = 0; attempt < TRIES; attempt += 1)
    tries.push(await measure(() => task(attempt)))
  const [first] = tries.toSorted((a, b) => a.stallMs - b.stallMs)
  if (first === undefined) throw new Error('nothing was tried')
  const tookMs = Math.min(...tries.map((each) => each.tookMs))
  return { ...first, tookMs }
}

const told: string[] = []
afterAll(() => {
  if (process.env['TRANCHED_FIGURES'] !== undefined) process.stderr.write(`${told.join('\n')}\n`)
})

function note(what: string, { tookMs, stallMs }: Measured<unknown>, also = ''): void {
  told.push(`${what}: ${tookMs.toFixed(1)} ms, longest stall ${stallMs.toFixed(1)} ms${also}`)
}

describe(`${STRATEGIES} strategies and ${FILLS} fills`, () => {
  test('the first look reads back the past and makes a thousand rows beside the trading', async () => {
    const pages = Array.from({ length: TRIES }, open)
    const first = await best(async (attempt) => (await pages[attempt]?.strategies()) ?? '')
    note('first look', first, `, ${Math.round(first.value.length / 1024)} KiB of strategies`)
    const rows = await said<StrategyRow[]>(first.value)
    expect(rows).toHaveLength(STRATEGIES)
    expect(rows.every(({ lastSlot }) => lastSlot?.outcome === 'filled')).toBe(true)
    expect(first.stallMs).toBeLessThan(STALL_MS_MAX)
    expect(first.tookMs).toBeLessThan(3_000)
  })

  test.each([
    ['the newest', FILLS],
    ['those in the middle', FILLS / 2],
    ['the oldest', 100],
  ])('a page of a hundred fills comes within 50 ms of work: %s', async (what, upTo) => {
    const page = open()
    await page.overview()
    const before = upTo === FILLS ? undefined : seqAfter(upTo)
    const found = await best(() => page.fills({ limit: 100, before, strategy: undefined }))
    note(`100 fills, ${what}`, found)
    const { fills } = await said<FillsPage>(found.value)
    expect(fills).toHaveLength(100)
    expect(fills[0]?.slotSeconds).toBe(FIRST_SLOT + (upTo - 1) * SLOT_STEP)
    expect(fills.every(({ sold, bought }) => sold !== null && bought !== null)).toBe(true)
    expect(found.stallMs).toBeLessThan(STALL_MS_MAX)
    // Much of it waits for the disk.
    expect(found.tookMs).toBeLessThan(200)
  })

  test("a strategy's fills are searched for within bounds, and the search goes on where it ended", async () => {
    const page = open()
    await page.overview()
    const strategy = strategyName(7)
    const first = await best(() => page.fills({ limit: 100, before: undefined, strategy }))
    note('100 fills of one strategy among 1,000', first)
    expect(first.stallMs).toBeLessThan(STALL_MS_MAX)
    let next = (await said<FillsPage>(first.value)).next
    const slots = (await said<FillsPage>(first.value)).fills.map(({ slotSeconds }) => slotSeconds)
    for (let asked = 0; next !== null; asked += 1) {
      const more: FillsPage = await said(page.fills({ limit: 100, before: Number(next), strategy }))
      slots.push(...more.fills.map(({ slotSeconds }) => slotSeconds))
      next = more.next
      expect(asked).toBeLessThan(30)
    }
    expect(slots).toHaveLength(FILLS / STRATEGIES)
    expect(slots).toEqual(slots.toSorted((a, b) => b - a))
  })

  test('a slot is explained wherever in the past it lies', async () => {
    const page = open()
    for (const fill of [3, FILLS / 2, FILLS - 2]) {
      const slotSeconds = FIRST_SLOT + fill * SLOT_STEP
      const slot = { strategy: strategyName(fill % STRATEGIES), slotSeconds }
      const found = await best(() => page.why(slot))
      note(`why, of fill ${fill}`, found)
      expect((await said<Why>(found.value ?? 'null')).lines).toHaveLength(6)
      expect(found.stallMs).toBeLessThan(STALL_MS_MAX)
    }
    const none = await best(() => page.why({ strategy: 'nobody', slotSeconds: FIRST_SLOT + 5 }))
    note('why, of a slot that never was', none)
    expect(none.value).toBeUndefined()
  })

  test('a change of one strategy is made and sent in a moment, of all of them in slices', async () => {
    const page = open()
    const revision = await page.refresh()
    let slot = 1_900_000_000
    const touch = (index: number): void =>
      page.saw({
        ...{ type: 'next-slot', strategy: strategyName(index), nextSlotSeconds: slot },
        ...{ lastFillAtMs: undefined, paused: false },
      })
    const one = await best(async () => {
      slot += 1
      touch(5)
      await page.refresh()
      return page.changeSince(revision).text
    })
    note('a change of one strategy', one, `, ${one.value.length} bytes`)
    expect((await said<Change>(one.value)).strategies).toHaveLength(1)
    expect(one.value.length).toBeLessThan(20_000)
    const all = await best(async () => {
      slot += 1
      for (let index = 0; index < STRATEGIES; index += 1) touch(index)
      await page.refresh()
      return page.changeSince(revision).text
    })
    note('a change of all strategies', all, `, ${Math.round(all.value.length / 1024)} KiB`)
    expect((await said<Change>(all.value)).strategies).toHaveLength(STRATEGIES)
    expect(all.stallMs).toBeLessThan(STALL_MS_MAX)
  })

  test('the memory of it does not grow with what was ever filled', async () => {
    const page = open()
    await page.strategies()
    let before: number | undefined
    const heaps: number[] = []
    for (let pages = 0; pages < 300; pages += 1) {
      const found: FillsPage = await said(page.fills({ limit: 300, before, strategy: undefined }))
      before = Number(found.next)
      if (pages % 100 === 99) {
        collectGarbage()
        heaps.push(process.memoryUsage().heapUsed / 1024 / 1024)
      }
    }
    told.push(
      `heap after 100, 200, 300 pages of 300: ${heaps.map((mib) => mib.toFixed(0)).join(', ')} MiB`,
    )
    expect(Math.max(...heaps) - Math.min(...heaps)).toBeLessThan(20)
  })
})

/** The record after those of so many fills: six each, and one of a skip at every tenth. */
function seqAfter(fills: number): number {
  return fills * 6 + Math.floor(fills / 10) + 1
}
