import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { writeStrategies } from '../e2e/rehearsal.ts'
import {
  barriers,
  isTooWide,
  NARROW,
  openWatched,
  picture,
  startBrowser,
  styleOf,
} from '../support/page/browser.ts'
import { launch, ROOT } from '../support/process/cli.ts'
import { findBinary } from './binary.ts'

const STRATEGIES = {
  weekly: {
    ...{ name: 'weekly', kind: 'dca', schedule: { cron: '0 9 * * 1' } },
    ...{ sell: 'USDC', buy: 'WETH', amount: '50', limits: { perDay: '500' } },
  },
  halves: {
    ...{ name: 'halves', kind: 'rebalance', schedule: { cron: '0 * * * *' } },
    ...{ targets: { WETH: '50%', USDC: '50%' }, quote: 'USDC', band: '5%', minTrade: '20' },
    limits: { perDay: { USDC: '600', WETH: '0.3' } },
  },
  dips: {
    ...{ name: 'dips', kind: 'threshold', schedule: { cron: '* * * * *' } },
    ...{ sell: 'USDC', buy: 'WETH', rearm: '1%', limits: { perDay: '60', perWeek: '150' } },
    ladder: [
      { below: '2450', amount: '50' },
      { below: '2300', amount: '50' },
    ],
  },
}
const PERIOD = '--from 2025-01-01 --to 2025-03-01 --balance USDC=5000 --balance WETH=1 --market 7'
const SWEEP = '--sweep halves.band=2%..6%:1% --sweep halves.minTrade=20,200 --walk-forward 2'

let browser: Browser
let dir: string
let whole: string
let swept: string

/** Two reports of the built program: one of all strategies, one with a sweep of a single strategy. */
beforeAll(async () => {
  browser = await startBrowser(findBinary('chromium'))
  dir = mkdtempSync(join(tmpdir(), 'tranched-report-'))
  mkdirSync(join(dir, 'config'))
  copyFileSync(join(ROOT, 'config/sandbox.yaml'), join(dir, 'config/sandbox.yaml'))
  writeStrategies(join(dir, 'strategies/sandbox'), STRATEGIES)
  const options = { cwd: dir, env: { XDG_CACHE_HOME: join(dir, 'cache') } }
  ;[whole = '', swept = ''] = await Promise.all(
    [
      `backtest ${PERIOD} --html whole.html`,
      `backtest halves ${PERIOD} --no-vary ${SWEEP} --html swept.html`,
    ].map(async (line) => {
      const { code, stderr } = await launch(line.split(' '), options).ended()
      const file = join(dir, line.split(' ').at(-1) ?? '')
      expect([code, stderr]).toEqual([0, expect.stringContaining('the report is in')])
      return file
    }),
  )
})
afterAll(async () => {
  await browser?.close()
  rmSync(dir, { recursive: true, force: true })
})

/** Opens a report from the disk; any page error fails the test. */
async function opened(file: string, options: BrowserContextOptions = {}): Promise<Page> {
  const url = pathToFileURL(file).href
  const { page, faults, close } = await openWatched(
    browser,
    url,
    (requested) => requested === url,
    options,
  )
  onTestFinished(async () => {
    await close()
    expect(faults).toEqual([])
  })
  return page
}

/** Number of colours on each canvas of the charts: an empty one has one. */
function coloursOn(page: Page): Promise<readonly number[]> {
  const pixels =
    'canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer'
  return page.evaluate(
    `[...document.querySelectorAll('.chart canvas')].map((canvas) => new Set(new Uint32Array(${pixels})).size)`,
  )
}

test('a report is one file that requests nothing and draws all its curves', async () => {
  expect(statSync(whole).size).toBeLessThan(2_000_000)
  const page = await opened(whole)
  expect(await page.title()).toContain('Backtest of dips, halves and weekly')
  const charts = page.locator('.chart')
  const titles = await charts.locator('h3').allTextContents()
  expect(titles).toEqual([
    ...['Value', 'Drawdown', 'Price of WETH/USDC'],
    ...['Holdings of USDC', 'Holdings of WETH', 'Caps', 'Slots skipped'],
  ])
  const colours = await coloursOn(page)
  expect(colours.length).toBe(titles.length)
  expect(Math.min(...colours)).toBeGreaterThan(5)
  const legend = page.locator('[data-chart="value"] .legend li')
  expect(await legend.allTextContents()).toEqual([
    expect.stringMatching(/^This backtest [\d,.]+ USDC$/),
    expect.stringMatching(/^Holding [\d,.]+ USDC$/),
    expect.stringMatching(/^Lump sum [\d,.]+ USDC$/),
    expect.stringMatching(/^Plain DCA [\d,.]+ USDC$/),
  ])
  await picture(page, 'backtest')
})

test('slots can be filtered by strategy, outcome and text, page by page', async () => {
  const page = await opened(whole)
  const rows = page.locator('#slots-table tbody tr')
  const pager = page.locator('#slots-pager p')
  expect(await rows.count()).toBe(25)
  await page.locator('#slots-choices [data-field="strategy"]').selectOption('weekly')
  expect(await pager.textContent()).toMatch(/^1 to 8 of 8 rows, of \d+$/)
  expect(await rows.locator('.strategy').allTextContents()).toEqual(Array(8).fill('weekly'))
  await page.locator('#slots-choices [data-field="strategy"]').selectOption('')
  await page.locator('#slots-choices [data-field="outcome"]').selectOption('skipped')
  expect(new Set(await rows.locator('.outcome').allTextContents())).toEqual(new Set(['skipped']))
  await page.locator('#slots-choices [data-field="text"]').fill('no slot says this')
  await page.locator('#slots-none').waitFor()
  await page.locator('#slots-none button').click()
  expect(await rows.count()).toBe(25)
  const first = await rows.first().textContent()
  await page.locator('#slots-pager [data-turn="next"]').click()
  expect(await pager.textContent()).toMatch(/^26 to 50 of /)
  expect(await rows.first().textContent()).not.toBe(first)
})

test('charts can be read by keyboard and zoomed, and their lines hidden', async () => {
  const page = await opened(whole)
  const plot = page.locator('[data-chart="value"] .plot')
  const at = page.locator('#at')
  const period = await at.textContent()
  await plot.focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  expect(await at.textContent()).toMatch(/^\d+ Jan 2025 \d\d:\d\d$/)
  expect(await page.locator('#pointed').textContent()).toMatch(
    /: This backtest [\d,.]+ USDC, Holding /,
  )
  await page.keyboard.press('+')
  const wholePeriod = page.locator('#whole-period')
  await expect.poll(() => wholePeriod.isEnabled(), { timeout: 120_000 }).toBe(true)
  await wholePeriod.click()
  await expect.poll(() => wholePeriod.isEnabled(), { timeout: 120_000 }).toBe(false)
  await plot.focus()
  await page.keyboard.press('+')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Escape')
  await expect.poll(() => at.textContent(), { timeout: 120_000 }).toBe(period)
  const holding = page.locator('[data-chart="value"] .legend button', { hasText: 'Holding' })
  await holding.click()
  expect(await holding.getAttribute('aria-pressed')).toBe('false')
})

test('a sweep shows its heat map, the best points, and the walk-forward results', async () => {
  const page = await opened(swept)
  const heat = page.locator('#heat')
  expect(await heat.locator('thead th').allTextContents()).toEqual([
    'halves.minTrade',
    ...['2%', '3%', '4%', '5%', '6%'],
  ])
  expect(await heat.locator('td.best').count()).toBe(1)
  expect(await heat.locator('td.heat').count()).toBe(10)
  const before = await heat.locator('td').allTextContents()
  await page.locator('#heat-choices [data-field="metric"]').selectOption('drawdownPercent')
  expect(await heat.locator('td').allTextContents()).not.toEqual(before)
  expect(await page.locator('.of-folds tbody tr').count()).toBe(1)
  await page.locator('#sweep').scrollIntoViewIfNeeded()
  await picture(page, 'backtest-sweep')
})

test('the report is accessible on a small screen, in dark mode, to a screen reader, and without scripts', async () => {
  for (const file of [whole, swept]) {
    const light = await opened(file)
    expect(await barriers(light)).toEqual([])
    const dark = await opened(file, { colorScheme: 'dark' })
    expect(await barriers(dark)).toEqual([])
    expect(await styleOf(dark, 'body', 'backgroundColor')).not.toBe(
      await styleOf(light, 'body', 'backgroundColor'),
    )
    const narrow = await opened(file, { viewport: NARROW })
    expect(await isTooWide(narrow)).toBe(false)
    expect(await barriers(narrow)).toEqual([])
    await picture(narrow, 'backtest-narrow')
    const plain = await opened(file, { javaScriptEnabled: false })
    expect(await plain.locator('#slots-table tbody tr').count()).toBeGreaterThan(5)
    expect(await plain.locator('.needs-script:visible').count()).toBe(0)
    expect(await plain.locator('noscript p').first().isVisible()).toBe(true)
  }
})

test('the page shows the figures of the result', async () => {
  const page = await opened(whole)
  const text = await page.locator('#figures').textContent()
  const html = readFileSync(whole, 'utf8')
  expect(html.match(/https?:\/\/(?!www\.w3\.org)/g)).toBeNull()
  expect(text).toMatch(/Return[+−][\d.]+ %/)
  expect(await page.locator('#definitions dt').allTextContents()).toContain('Worst drawdown')
  await page.locator('#figures a.defined').first().click()
  expect(await page.evaluate('location.hash')).toBe('#means-return')
})
