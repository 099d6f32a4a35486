import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  drawn,
  goTo,
  openPage,
  PICTURES,
  picture,
  startBrowser,
  type WatchedPage,
} from '../support/page/browser.ts'
import { BIG, PageRig } from '../support/page/page-rig.ts'
import { PageServer } from '../support/page/page-server.ts'
import { findBinary } from './binary.ts'

const TURNS = 180
const ROWS_DRAWN_MAX = 80
/** Limits of the document in one frame, which a page exceeds when it renders rows that it does not show. */
const NODES_CHANGED_MAX = 1_000

const figures: Record<string, unknown> = {}
const server = new PageServer(new PageRig(BIG))
let browser: Browser
let watched: WatchedPage
let page: Page

beforeAll(async () => {
  browser = await startBrowser(findBinary('chromium'))
  await server.start()
  const startedAt = performance.now()
  watched = await openPage(browser, server.url)
  page = watched.page
  figures['openedMs'] = Math.round(performance.now() - startedAt)
})

afterAll(async () => {
  expect(watched.faults).toEqual([])
  await watched.close()
  await browser?.close()
  await server.stop()
  await mkdir(PICTURES, { recursive: true })
  await writeFile(join(PICTURES, 'large.json'), `${JSON.stringify(figures, undefined, 2)}\n`)
})

/** Measurements in the page: how much each frame draws and, for the report, how long it takes. */
const MEASURE = `(() => {
  const tasks = []
  const frames = []
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(Math.round(duration))
  })
  observer.observe({ entryTypes: ['longtask'] })
  let last = performance.now()
  let on = true
  let rows = 0
  let changed = 0
  let changedMax = 0
  const changes = new MutationObserver((list) => {
    for (const { addedNodes, removedNodes } of list) changed += 1 + addedNodes.length + removedNodes.length
  })
  changes.observe(document.body, { childList: true, characterData: true, attributes: true, subtree: true })
  const frame = (at) => {
    frames.push(at - last)
    last = at
    rows = Math.max(rows, document.querySelectorAll('.rows tbody tr').length)
    changedMax = Math.max(changedMax, changed)
    changed = 0
    if (on) requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
  window.measured = () => {
    on = false
    observer.disconnect()
    changes.disconnect()
    const sorted = frames.slice(1).sort((a, b) => a - b)
    const at = (share) => Math.round(sorted[Math.floor((sorted.length - 1) * share)])
    return {
      rows,
      changedMax,
      frames: sorted.length,
      frameMs: { p50: at(0.5), p95: at(0.95), p99: at(0.99), longest: at(1) },
      longTasks: { count: tasks.length, longestMs: Math.max(0, ...tasks) },
    }
  }
})()`

/** Scrolls to the end of the loaded rows until the page says that there are no more. */
const SCROLL_TO_THE_OLDEST = `new Promise((done) => {
  const step = () => {
    scrollTo(0, document.documentElement.scrollHeight)
    const isAll = document.querySelector('.end')?.textContent.startsWith('All ')
    if (isAll) done()
    else requestAnimationFrame(step)
  }
  step()
})`

/** Scrolls with the wheel, up and down, while strategies fill something: no frame draws much. */
async function scrollWhileChanging(name: string): Promise<void> {
  await page.mouse.move(600, 600)
  await page.evaluate(MEASURE)
  for (let turn = 0; turn < TURNS; turn += 1) {
    await page.mouse.wheel(0, turn % 60 < 40 ? 400 : -400)
    if (turn % 60 === 0) server.send(server.rig.tick(3))
  }
  await drawn(page)
  const measured = await page.evaluate<Record<'rows' | 'changedMax', number>>('measured()')
  figures[name] = measured
  expect(measured.rows).toBeLessThan(ROWS_DRAWN_MAX)
  expect(measured.changedMax).toBeGreaterThan(0)
  expect(measured.changedMax).toBeLessThan(NODES_CHANGED_MAX)
}

test('a thousand strategies scroll smoothly while they change', async () => {
  await goTo(page, 'strategies')
  await page.locator('.rows.strategies[aria-rowcount="1001"]').waitFor()
  expect(await page.locator('.rows tbody tr').count()).toBeLessThan(ROWS_DRAWN_MAX)
  await picture(page, 'big-strategies-1280-light')
  await scrollWhileChanging('strategies')
})

test('a hundred thousand fills load on scroll and then scroll smoothly while more arrive', async () => {
  await goTo(page, 'fills')
  const table = page.locator('.rows.fills')
  await table.waitFor()
  const startedAt = performance.now()
  await page.evaluate(SCROLL_TO_THE_OLDEST)
  figures['loadedAllMs'] = Math.round(performance.now() - startedAt)
  expect(Number(await table.getAttribute('aria-rowcount'))).toBeGreaterThan(100_000)
  const oldest = server.rig.fills({ limit: 200_000, before: null, strategy: null }).fills.at(-1)
  await page.locator(`tr[data-key="${oldest?.intentId}"]`).waitFor()
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)')
  await scrollWhileChanging('fills')
  expect(await page.locator('.rows tbody tr').count()).toBeLessThan(ROWS_DRAWN_MAX)
  await picture(page, 'big-fills-1280-light')
  figures['heapMiB'] = await page.evaluate(
    'Math.round(performance.memory.usedJSHeapSize / 2 ** 20)',
  )
})

test('the visible rows stay in place while fills arrive above them', async () => {
  await goTo(page, 'fills')
  await page.evaluate('scrollTo(0, 30_000)')
  await drawn(page)
  const rows = page.locator('.rows.fills tbody tr')
  const key = await rows.nth(16).getAttribute('data-key')
  const row = page.locator(`tr[data-key="${key}"]`)
  const before = {
    index: Number(await row.getAttribute('aria-rowindex')),
    box: await row.boundingBox(),
  }
  server.send(server.rig.tick(7))
  await page.locator(`tr[data-key="${key}"][aria-rowindex="${before.index + 7}"]`).waitFor()
  expect((await row.boundingBox())?.y).toBe(before.box?.y)
})

test('the overview of a thousand strategies updates each second without a hitch', async () => {
  await goTo(page, 'overview')
  await page.locator('.tiles').waitFor()
  await picture(page, 'big-overview-1280-light')
  await scrollWhileChanging('overview')
})
