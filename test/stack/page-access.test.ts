import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  barriers,
  drawn,
  goTo,
  isTooWide,
  NARROW,
  openPage,
  picture,
  startBrowser,
  styleOf,
  WIDE,
} from '../support/page/browser.ts'
import { EMPTY, HOSTILE, NORMAL, PageRig } from '../support/page/page-rig.ts'
import { PageServer } from '../support/page/page-server.ts'
import { findBinary } from './binary.ts'

const VIEWS = ['overview', 'strategies', 'orders', 'fills', 'unfilled', 'holdings', 'limits']
const PANELS = [
  'strategy=balance-aero',
  'strategy=take-profit',
  'strategy=weekly-eth',
  'strategy=claim-weekly',
  'why=weekly-eth:1795438800',
]

const PARTS: Readonly<Record<string, string>> = { why: '.story', strategy: '.yaml' }

type Drawn = { readonly within: number; readonly beyond: number; readonly left: number }

/** Pixels of purchases inside the axes and outside, but for half a mark, and the distance of the first one from the left axis. */
const MARKED = `(() => {
  const canvas = document.querySelector('dialog canvas')
  const probe = document.createElement('span')
  probe.style.color = 'var(--mark-buy)'
  document.body.append(probe)
  const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number)
  probe.remove()
  const of = document.querySelector('dialog .u-over').getBoundingClientRect()
  const whole = canvas.getBoundingClientRect()
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
  const found = { within: 0, beyond: 0, left: Infinity }
  for (let at = 0; at < data.length; at += 4) {
    if (wanted.some((part, index) => data[at + index] !== part)) continue
    const x = ((at / 4) % canvas.width) / devicePixelRatio + whole.left - of.left
    const y = Math.floor(at / 4 / canvas.width) / devicePixelRatio + whole.top - of.top
    const isIn = x > -6 && x < of.width + 6 && y >= 0 && y <= of.height
    found[isIn ? 'within' : 'beyond'] += 1
    found.left = Math.min(found.left, x)
  }
  return found
})()`

let browser: Browser
const servers = {
  normal: new PageServer(new PageRig(NORMAL)),
  halted: new PageServer(new PageRig(NORMAL)),
  sandbox: new PageServer(new PageRig({ ...NORMAL, mode: 'sandbox' })),
  empty: new PageServer(new PageRig(EMPTY)),
  hostile: new PageServer(new PageRig(HOSTILE)),
}

beforeAll(async () => {
  browser = await startBrowser(findBinary('chromium'))
  await Promise.all(Object.values(servers).map((server) => server.start()))
  const { rig } = servers.halted
  rig.change({
    halted: {
      sinceMs: rig.now() - 4_000,
      cause: 'evidence',
      detail: 'wallet 0x5290… has sent 2 transactions that no record explains: nonces 41 and 42',
    },
    ready: { ok: false, reasons: ['halted'] },
    stale: { files: 1, detail: 'strategies/weekly-eth.yaml:12:3 schedule.timezon: unknown key' },
  })
})

afterAll(async () => {
  await browser?.close()
  await Promise.all(Object.values(servers).map((server) => server.stop()))
})

const VARIANTS = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [WIDE, NARROW].map((viewport) => ({ colorScheme, viewport, width: viewport.width })),
)
/** For parts that hardly differ: each colour and each width once. */
const TWO_VARIANTS = VARIANTS.filter(
  ({ colorScheme, viewport }) => (colorScheme === 'light') === (viewport === WIDE),
)

describe.each(VARIANTS)('$colorScheme, $width px wide', ({ colorScheme, viewport, width }) => {
  test('every view and panel is accessible and no wider than the screen', async () => {
    const { page, faults, close } = await openPage(browser, servers.normal.url, {
      colorScheme,
      viewport,
    })
    for (const hash of [...VIEWS, ...PANELS]) {
      await goTo(page, hash)
      await page
        .locator(PARTS[hash.replace(/=.*/, '')] ?? '.card, .rows')
        .first()
        .waitFor()
      expect(await barriers(page), hash).toEqual([])
      expect(await isTooWide(page), hash).toBe(false)
      await picture(page, `normal-${hash.replace(/:.*/, '')}-${width}-${colorScheme}`)
    }
    expect(faults).toEqual([])
    await close()
  })
})

describe.each(TWO_VARIANTS)('$colorScheme, $width px wide', ({ colorScheme, viewport, width }) => {
  const open = (server: PageServer) => openPage(browser, server.url, { colorScheme, viewport })

  test.each(['halted', 'empty', 'sandbox'] as const)(
    'a daemon that is %s is shown as such',
    async (state) => {
      const { page, faults, close } = await open(servers[state])
      expect(await barriers(page)).toEqual([])
      expect(await isTooWide(page)).toBe(false)
      await picture(page, `${state}-overview-${width}-${colorScheme}`)
      expect(faults).toEqual([])
      await close()
    },
  )

  test('hostile text stays text and breaks nothing', async () => {
    const { page, faults, close } = await open(servers.hostile)
    const name = servers.hostile.rig.strategies()[0]?.name ?? ''
    const panels = [
      `strategy=${encodeURIComponent(name)}`,
      `why=${encodeURIComponent(name)}:1893488400`,
    ]
    for (const hash of [...VIEWS, ...panels]) {
      await goTo(page, hash)
      await page.getByText('onerror=').first().waitFor({ state: 'attached' })
      expect(await page.locator('img, #root script, #root iframe').count(), hash).toBe(0)
      expect(await page.locator('a[href^="javascript"]').count(), hash).toBe(0)
      expect(await isTooWide(page), hash).toBe(false)
    }
    expect(await page.title()).not.toContain('owned')
    expect(faults).toEqual([])
    await close()
  })
})

describe('the dialog of a strategy', () => {
  const openDialog = async (name: string, viewport = WIDE) => {
    const opened = await openPage(browser, servers.normal.url, { viewport })
    await goTo(opened.page, `strategy=${name}`)
    const dialog = opened.page.getByRole('dialog')
    await dialog.locator('.yaml').waitFor()
    return { ...opened, dialog }
  }

  test('shows profit, next trigger and levels, and tells purchases from sales', async () => {
    const { dialog, faults, close } = await openDialog('take-profit')
    const money = await dialog.locator('.money').textContent()
    expect(money).toContain('−12.40 USDC realised')
    expect(money).toContain('USDC unrealised, at average cost')
    expect(await dialog.locator('.next-trigger').textContent()).toMatch(
      /Next trigger: below 2940, at 2,940 USDC, [\d.]+ % (below|above) the last price/,
    )
    const levels = await dialog.getByRole('list', { name: 'Levels' }).getByRole('listitem').count()
    expect(levels).toBe(4)
    await dialog.getByText('week', { exact: true }).click()
    const legend = dialog.getByRole('list', { name: 'Fills in the chart' })
    await legend.getByText(/\d+ purchases/).waitFor()
    await legend.getByText(/\d+ sales/).waitFor()
    expect(faults).toEqual([])
    await close()
  })

  test('has every fill inside its axes, and in its lowest and highest price', async () => {
    for (const [viewport, colorScheme] of [
      [WIDE, 'light'],
      [{ width: 390, height: 844 }, 'dark'],
    ] as const) {
      const { page, dialog, close } = await openDialog('buy-exact-weth', viewport)
      await page.emulateMedia({ colorScheme })
      await dialog.locator('.legend', { hasText: 'purchases' }).waitFor()
      await drawn(page)
      const { within, beyond, left } = await page.evaluate<Drawn>(MARKED)
      expect(within).toBeGreaterThan(100)
      expect(beyond).toBe(0)
      // The oldest fill is older than the first price.
      expect(left).toBeLessThan(2)
      expect(await dialog.locator('figcaption p').textContent()).toMatch(
        /lowest 2,9[\d.]+, highest 3,011\.3\d, fills included\.$/,
      )
      expect(await dialog.locator('.next-trigger').textContent()).toBe(
        'Reached: dip of 2%, at 2,990 USDC, trades at its next slot',
      )
      expect(await dialog.locator('.level').allTextContents()).toEqual([
        expect.stringMatching(
          /^dip of 2% .* above the last price; reached, trades at its next slot$/,
        ),
      ])
      await dialog.locator('.levels').scrollIntoViewIfNeeded()
      await picture(page, `coarse-prices-${viewport.width}-${colorScheme}`)
      await close()
    }
  })

  test('reads a price and a fill by the arrow keys', async () => {
    const { page, dialog, close } = await openDialog('take-profit')
    const week = page.waitForResponse((response) => response.url().includes('range=week'))
    await dialog.getByText('week', { exact: true }).click()
    await (await week).finished()
    await drawn(page)
    await dialog.locator('.plot').focus()
    const read = async () => await dialog.locator('.reading').textContent()
    await page.keyboard.press('ArrowLeft')
    const before = await read()
    await page.keyboard.press('ArrowLeft')
    expect(await read()).not.toBe(before)
    const near = dialog.locator('.chart .near')
    for (let steps = 0; steps < 200 && (await near.textContent()) === ''; steps += 1)
      await page.keyboard.press('ArrowLeft')
    expect(await near.textContent()).toMatch(/: sold [\d.]+ (USDC|WETH) for [\d.]+ (USDC|WETH)$/)
    await close()
  })

  test('shows the file with a caret under its problem', async () => {
    const { dialog, close } = await openDialog('weekly-eth')
    expect(await dialog.locator('.yaml .fault').textContent()).toMatch(
      /^\^{6}\s+amuont: unknown key; expected: amount$/,
    )
    expect(await dialog.locator('.note.bad').textContent()).toContain('is refused')
    await close()
  })

  test('shows what a call strategy calls and pays, and no chart', async () => {
    const { dialog, close } = await openDialog('claim-weekly', { width: 390, height: 844 })
    expect(await dialog.locator('.money').textContent()).toMatch(
      /Target0x7104.*Functionclaim\(address\).*0\.000104177 ETH, average of 4 calls/,
    )
    expect(await dialog.locator('.plot').count()).toBe(0)
    await close()
  })
})

test('commands are shown in full, and each incident has its remedy', async () => {
  const { page, close } = await openPage(browser, servers.halted.url)
  const commands = await page.locator('.banner .command').allTextContents()
  expect(commands).toEqual(['tranched resume', 'tranched validate', 'tranched reload'])
  await close()
})

test.each([
  ['live', 'normal'],
  ['dry-run', 'empty'],
  ['sandbox', 'sandbox'],
] as const)('every view shows the mode %s', async (mode, state) => {
  const { page, close } = await openPage(browser, servers[state].url)
  const colours = new Set<string>()
  for (const view of VIEWS) {
    await goTo(page, view)
    expect(await page.locator('.mode .word').textContent()).toBe(mode)
    colours.add(await styleOf(page, '.mode', 'backgroundColor'))
  }
  expect(colours.size).toBe(1)
  expect(await page.title()).toContain(mode)
  await close()
})
