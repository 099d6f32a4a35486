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
import { PageServer } from '../support/page/page-server.ts'
import { BIG, ToldWorld } from '../support/page/told-world.ts'
import { findBinary } from './binary.ts'

/** A hitch of a machine that has other things to do does not come back; one of the page does. */
const ROUNDS_MAX = 10
/** Beyond this somebody feels that the page hangs. The figures themselves are written down beside the pictures. */
const LONG_TASK_MS_MAX = 500
const MEASURED_MS = 2_500
const ROWS_DRAWN_MAX = 80

const figures: Record<string, unknown> = {}
const server = new PageServer(new ToldWorld(BIG))
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

/** What is measured in the page: how long each frame takes, and each task that holds it up. */
const MEASURE = `(() => {
  const tasks = []
  const frames = []
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) tasks.push(Math.round(duration))
  })
  observer.observe({ entryTypes: ['longtask'] })
  let last = performance.now()
  let on = true
  const frame = (at) => {
    frames.push(at - last)
    last = at
    if (on) requestAnimationFrame(frame)
  }
  requestAnimationFrame(frame)
  window.measured = () => {
    on = false
    observer.disconnect()
    const sorted = frames.slice(1).sort((a, b) => a - b)
    const at = (share) => Math.round(sorted[Math.floor((sorted.length - 1) * share)])
    return {
      frames: sorted.length,
      frameMs: { p50: at(0.5), p95: at(0.95), p99: at(0.99), longest: at(1) },
      longTasks: { count: tasks.length, longestMs: Math.max(0, ...tasks) },
    }
  }
})()`

/** Again and again to the end of what is loaded, until the page says that there is no more. */
const SCROLL_TO_THE_OLDEST = `new Promise((done) => {
  const step = () => {
    scrollTo(0, document.documentElement.scrollHeight)
    const isAll = document.querySelector('.end')?.textContent.startsWith('All ')
    if (isAll) done()
    else requestAnimationFrame(step)
  }
  step()
})`

type Measured = { readonly longTasks: { readonly longestMs: number } }

/** Scrolls with the wheel, up and down, while three strategies fill something each second. */
async function scrolledWhileChanging(name: string): Promise<Measured> {
  let measured = await measuredOnce()
  for (let round = 2; round <= ROUNDS_MAX && isLong(measured); round += 1)
    measured = await measuredOnce()
  figures[name] = measured
  return measured
}

function isLong({ longTasks }: Measured): boolean {
  return longTasks.longestMs >= LONG_TASK_MS_MAX
}

async function measuredOnce(): Promise<Measured> {
  await page.mouse.move(600, 600)
  await page.evaluate(MEASURE)
  const endAt = performance.now() + MEASURED_MS
  let sentAt = 0
  for (let turn = 0; performance.now() < endAt; turn += 1) {
    await page.mouse.wheel(0, turn % 60 < 40 ? 400 : -400)
    if (performance.now() - sentAt < 1_000) continue
    sentAt = performance.now()
    server.send(server.world.tick(3))
  }
  return page.evaluate<Measured>('measured()')
}

test('a thousand strategies are scrolled smoothly while they change', async () => {
  await goTo(page, 'strategies')
  await page.locator('.rows.strategies[aria-rowcount="1001"]').waitFor()
  expect(await page.locator('.rows tbody tr').count()).toBeLessThan(ROWS_DRAWN_MAX)
  await picture(page, 'big-strategies-1280-light')
  expect(await scrolledWhileChanging('strategies')).not.toSatisfy(isLong)
})

test('a hundred thousand fills are loaded as one scrolls, and are then scrolled smoothly while more come', async () => {
  await goTo(page, 'fills')
  const table = page.locator('.rows.fills')
  await table.waitFor()
  const startedAt = performance.now()
  await page.evaluate(SCROLL_TO_THE_OLDEST)
  figures['loadedAllMs'] = Math.round(performance.now() - startedAt)
  expect(Number(await table.getAttribute('aria-rowcount'))).toBeGreaterThan(100_000)
  const oldest = server.world.fills({ limit: 200_000, before: null, strategy: null }).fills.at(-1)
  await page.locator(`tr[data-key="${oldest?.intentId}"]`).waitFor()
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight / 2)')
  expect(await scrolledWhileChanging('fills')).not.toSatisfy(isLong)
  expect(await page.locator('.rows tbody tr').count()).toBeLessThan(ROWS_DRAWN_MAX)
  await picture(page, 'big-fills-1280-light')
  figures['heapMiB'] = await page.evaluate(
    'Math.round(performance.memory.usedJSHeapSize / 2 ** 20)',
  )
})

test('what is read stays where it is while fills come in above it', async () => {
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
  server.send(server.world.tick(7))
  await page.locator(`tr[data-key="${key}"][aria-rowindex="${before.index + 7}"]`).waitFor()
  expect((await row.boundingBox())?.y).toBe(before.box?.y)
})

test('the overview of a thousand strategies changes each second without a hitch', async () => {
  await goTo(page, 'overview')
  await page.locator('.tiles').waitFor()
  await picture(page, 'big-overview-1280-light')
  expect(await scrolledWhileChanging('overview')).not.toSatisfy(isLong)
})
