import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  barriers,
  drawn,
  goTo,
  NARROW,
  openPage,
  picture,
  startBrowser,
  styleOf,
  type WatchedPage,
} from '../support/page/browser.ts'
import { NORMAL, PageRig } from '../support/page/page-rig.ts'
import { PageServer } from '../support/page/page-server.ts'
import { findBinary } from './binary.ts'

/** The browser's own messages when the server is down; no page can suppress them. */
const BROWSER_SAYS = /^Failed to load resource: net::ERR_/

let browser: Browser
let server: PageServer
let watched: WatchedPage
let page: Page

beforeAll(async () => {
  browser = await startBrowser(findBinary('chromium'))
})
afterAll(() => browser?.close())

beforeEach(async () => {
  server = new PageServer(new PageRig(NORMAL))
  await server.start()
  watched = await openPage(browser, server.url)
  page = watched.page
})
afterEach(async () => {
  await watched?.close()
  await server?.stop()
  expect(watched.faults.filter((fault) => !BROWSER_SAYS.test(fault))).toEqual([])
})

test('a fill appears as soon as it is sent, on every view that shows it', async () => {
  await goTo(page, 'fills')
  await page.locator('.rows.fills').waitFor()
  const change = server.rig.tick()
  server.send(change)
  const row = page.locator(`tr[data-key="${change.fills[0]?.intentId}"]`)
  await row.waitFor()
  expect(await row.getAttribute('aria-rowindex')).toBe('2')
  await goTo(page, 'overview')
  const tile = page.locator('.tile', { hasText: 'Fills' }).locator('.figure')
  expect(await tile.textContent()).toBe('241')
  server.send(server.rig.undo())
  await page.locator('.fills-brief .undone .pill', { hasText: 'undone' }).waitFor()
})

test('a stopped daemon is never shown as running, and the page reconnects', async () => {
  await server.stop()
  await page.locator('.page[data-link=lost]').waitFor()
  expect(await page.locator('.banner h2').textContent()).toMatch(
    /^Not connected since \d\d:\d\d:\d\d CET$/,
  )
  expect(await page.locator('.status').textContent()).toBe('Not connected')
  expect(await page.locator('.wall-clock').textContent()).toBe('--:--:--')
  expect(await page.title()).toMatch(/^Not connected/)
  expect(await page.locator('#root').textContent()).not.toMatch(/\d [smhd] ago|in \d+ [smd]\b/)
  expect(await barriers(page)).toEqual([])
  await picture(page, 'lost-overview-1280-light')

  const change = server.rig.tick(3)
  await server.start()
  await page.locator('.page[data-link=live]').waitFor()
  expect(await page.locator('.banner').count()).toBe(0)
  expect(await page.locator('.tile', { hasText: 'Fills' }).locator('.figure').textContent()).toBe(
    '243',
  )
  await goTo(page, 'fills')
  await page.locator(`tr[data-key="${change.fills[0]?.intentId}"][aria-rowindex="2"]`).waitFor()
  const later = server.rig.tick()
  server.send(later)
  await page.locator(`tr[data-key="${later.fills[0]?.intentId}"]`).waitFor()
})

test('while no node answers, money has the time of its reading, and a due slot waits', async () => {
  const nowMs = server.rig.now()
  const [strategy] = server.rig.strategies()
  if (strategy === undefined) throw new Error('there is no strategy')
  const ready = { ok: false, reasons: ['rpc answered last: unreachable'] }
  const change = server.rig.change({ ready, readAtMs: nowMs - 33_000 })
  const due = { ...strategy, nextSlotSeconds: Math.floor(nowMs / 1_000) - 22 }
  server.send({ ...change, strategies: [due] })
  const tile = (title: string) => page.locator('.tile', { hasText: title })
  await tile('Total value').getByText('as of 14:04').waitFor()
  expect(await tile('Total value').locator('.figure .muted').textContent()).toBe('12,048.33')
  expect(await page.locator('.holdings + .note-line').textContent()).toMatch(/^as of 14:04:\d\d$/)
  expect(await tile('Next slot').locator('.figure').textContent()).toBe('waits')
  expect(await tile('Next slot').locator('.note-line').textContent()).toMatch(
    /^due 2\ds ago, weekly-eth$/,
  )
  expect(await page.locator('.brief .next').allTextContents()).toContainEqual(
    expect.stringMatching(/^waits, due 2\ds ago14:04:\d\d CET$/),
  )
  expect(await barriers(page)).toEqual([])
  for (const width of [390, 1_280])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      await drawn(page)
      await picture(page, `unread-overview-${width}-${colorScheme}`)
    }
})

test('the newest point of the value is the total value, at the time of its reading', async () => {
  const readAtMs = server.rig.now() + 1_000
  server.send(server.rig.change({ totalValue: '11999.129', readAtMs }))
  await page.locator('.tile .figure', { hasText: '11,999.12' }).waitFor()
  const reading = page.locator('.reading', { hasText: '11,999.12 USDC' })
  expect(await reading.textContent()).toMatch(/14:0\d:\d\d CET$/)
  server.send(server.rig.change({ totalValue: '12003.5', readAtMs: readAtMs + 2_000 }))
  await page.locator('.reading', { hasText: '12,003.5 USDC' }).waitFor()
  expect(await page.locator('.tile .figure').first().textContent()).toBe('12,003.50')
})

test('a halt is shown and announced to screen readers, and so is its end', async () => {
  const halted = { sinceMs: server.rig.now(), cause: 'operator', detail: 'by hand' }
  server.send(server.rig.change({ halted }))
  await page.locator('.banner.bad', { hasText: 'by hand' }).waitFor()
  const announcement = page.locator('p.unseen[role=status]')
  expect(await announcement.textContent()).toBe('Halted: operator. by hand')
  expect(await page.title()).toMatch(/^Halted/)
  server.send(server.rig.change({ halted: null }))
  await page.locator('.banner').waitFor({ state: 'detached' })
  expect(await announcement.textContent()).toBe('No longer halted.')
})

test('the keyboard reaches everything: content, views, rows, a panel, and the way back', async () => {
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('Skip to the content')
  await page.keyboard.press('Enter')
  expect(await focused(page)).toBe('Overview')

  await page.locator('.views a', { hasText: 'Strategies' }).focus()
  await page.keyboard.press('Enter')
  await page.locator('.rows.strategies').waitFor()
  expect(await focused(page)).toBe('Strategies')
  const reached: string[] = []
  for (let presses = 0; presses < 14; presses += 1) {
    await page.keyboard.press('Tab')
    reached.push(await focused(page))
    expect(await hasRing(page), reached.at(-1)).toBe(true)
  }
  expect(reached).toEqual(expect.arrayContaining(['Strategy', 'Fills', 'balance-aero']))

  await page.locator('a.strong', { hasText: 'take-profit' }).focus()
  await page.keyboard.press('Enter')
  await page.locator('dialog[open] h2', { hasText: 'take-profit' }).waitFor()
  for (let presses = 0; presses < 12; presses += 1) {
    await page.keyboard.press('Tab')
    const inside =
      'document.activeElement === document.body || document.activeElement.closest("dialog") !== null'
    expect(await page.evaluate(inside)).toBe(true)
  }
  await page.keyboard.press('Escape')
  await page
    .locator('dialog[open]')
    .waitFor({ state: 'detached' })
    .catch(() => {})
  expect(await page.locator('dialog[open]').count()).toBe(0)
  expect(await focused(page)).toBe('take-profit')
  expect(new URL(page.url()).hash).toBe('#strategies')
})

test('the focus stays on its row while rows arrive above it and while it scrolls away', async () => {
  await goTo(page, 'fills')
  const link = page.locator('.rows.fills tbody tr').nth(3).locator('.why a')
  await link.focus()
  const key = await page.evaluate<string>('document.activeElement.closest("tr").dataset.key')
  server.send(server.rig.tick(60))
  await page.locator(`tr[data-key="${key}"][aria-rowindex="65"]`).waitFor()
  const focusedKey = 'document.activeElement.closest("tr")?.dataset.key'
  expect(await page.evaluate(focusedKey)).toBe(key)
  for (const top of [0, 7_000]) {
    await page.evaluate(`scrollTo(0, ${top})`)
    await drawn(page)
    expect(await page.evaluate(focusedKey)).toBe(key)
  }
})

test('a slot has a URL; back and Escape leave it, and the scroll position stays', async () => {
  await goTo(page, 'fills')
  await page.locator('.rows.fills').waitFor()
  await page.evaluate('scrollTo(0, 2000)')
  const row = page.locator('.rows.fills tbody tr').nth(12)
  await row.locator('.why a').click()
  await page.locator('dialog[open] .story li').nth(4).waitFor()
  expect(new URL(page.url()).hash).toMatch(/^#why=[a-z0-9-]+:\d+$/)
  const at = await page.evaluate('scrollY')
  await page.locator('dialog .above a').click()
  await page.locator('dialog[open] .does').waitFor()
  await page.goBack()
  await page.locator('dialog[open] .story').waitFor()
  await page.locator('dialog .above a').click()
  await page.locator('dialog[open] .does').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('dialog.panel:not([open])').waitFor({ state: 'attached' })
  expect(new URL(page.url()).hash).toBe('#fills')
  expect(await page.evaluate('scrollY')).toBe(at)
})

test('a page opened with a slot shows it, and the overview behind it', async () => {
  const opened = await openPage(browser, `${server.url}/#why=weekly-eth:1795438800`)
  await opened.page.locator('dialog[open] .story').waitFor()
  await opened.page.locator('dialog.panel .close').click()
  await opened.page.locator('dialog.panel:not([open])').waitFor({ state: 'attached' })
  expect(new URL(opened.page.url()).hash).toBe('#overview')
  await goTo(opened.page, 'why=missing:1795438800')
  await opened.page.locator('dialog .note', { hasText: 'no record of this slot' }).waitFor()
  await opened.close()
})

test('the fills view filters by strategy, and links to the explorer send no referrer', async () => {
  await goTo(page, 'strategy=weekly-eth')
  await page.locator('dialog a', { hasText: 'show them' }).click()
  await page.locator('h2', { hasText: 'Fills of weekly-eth' }).waitFor()
  await page.locator('.rows.fills tbody tr').first().waitFor()
  const names = await page.locator('.rows.fills tbody .name').allTextContents()
  expect(new Set(names)).toEqual(new Set(['weekly-eth']))
  const link = page.locator('.rows.fills .proof a').first()
  expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
  expect(await link.getAttribute('href')).toMatch(/^https:\/\/explorer\.example\/tx\/0x/)
})

test('search, filter and sort apply, and persist while the page is open', async () => {
  await goTo(page, 'strategies')
  await page.getByLabel('Search').fill('twap')
  await page.locator('.shown', { hasText: '1 of 9' }).waitFor()
  await page.getByLabel('Search').fill('')
  await page.getByLabel('Show').selectOption('attention')
  expect(await page.locator('.rows.strategies tbody tr').count()).toBe(5)
  await page.getByLabel('Show').selectOption('all')
  const heading = page.locator('th', { hasText: 'Fills' })
  await heading.locator('button').click()
  await heading.locator('button').click()
  expect(await heading.getAttribute('aria-sort')).toBe('descending')
  await goTo(page, 'overview')
  await goTo(page, 'strategies')
  expect(await heading.getAttribute('aria-sort')).toBe('descending')
})

test('the holdings chart can be read by arrow keys and as a table', async () => {
  await goTo(page, 'holdings')
  await page.locator('.plot canvas').waitFor()
  const reading = page.locator('.reading')
  const newest = await reading.textContent()
  await page.locator('.plot').focus()
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('ArrowLeft')
  expect(await reading.textContent()).not.toBe(newest)
  await page.getByLabel('Show').selectOption('WETH')
  await page.locator('.reading', { hasText: 'WETH' }).waitFor()
  await page.getByText('month').click()
  await page.getByRole('button', { name: 'Show as a table' }).click()
  expect(await page.locator('.points tbody tr').count()).toBe(60)
})

test('the colour scheme can be chosen, and persists', async () => {
  const ground = () => styleOf(page, 'body', 'backgroundColor')
  const light = await ground()
  await page.locator('button[aria-label^="Colours"]').click()
  expect(await ground()).toBe(light)
  await page.locator('button[aria-label^="Colours"]').click()
  const dark = await ground()
  expect(dark).not.toBe(light)
  await page.reload()
  await page.locator('.tiles').waitFor()
  expect(await ground()).toBe(dark)
})

test("times are shown in the reader's zone, by the daemon's clock", async () => {
  const india = await openPage(browser, server.url, {
    timezoneId: 'Asia/Kolkata',
    viewport: NARROW,
  })
  await goTo(india.page, 'strategies')
  const cell = india.page.locator('tr[data-key="weekly-eth"] .next')
  expect(await cell.textContent()).toMatch(/^in 1m( \d+s)?18:3\d:\d\d IST$/)
  await india.close()
})

/** The text or the label of the focused element. */
async function focused(of: Page): Promise<string> {
  return of.evaluate<string>(
    'const at = document.activeElement; (at.innerText || at.labels?.[0]?.innerText || at.ariaLabel || at.tagName).split("\\n")[0].trim()',
  )
}

function hasRing(of: Page): Promise<boolean> {
  return of.evaluate<boolean>('getComputedStyle(document.activeElement).outlineStyle !== "none"')
}
