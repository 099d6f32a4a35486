import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** Folder of screenshots and figures for people. */
export const PICTURES = process.env['TRANCHED_PICTURES'] ?? join(tmpdir(), 'tranched-page')

export const WIDE = { width: 1_280, height: 900 }
export const NARROW = { width: 360, height: 740 }

/** Debian's Chromium, with a new and empty profile. */
export function startBrowser(executablePath: string, ...flags: string[]): Promise<Browser> {
  return chromium.launch({ executablePath, headless: true, args: [...FLAGS, ...flags] })
}

/** A page, and everything that it must not do. */
export type WatchedPage = {
  readonly page: Page
  /** Errors, policy violations, and requests to other hosts. */
  readonly faults: string[]
  close(): Promise<void>
}

/** Opens a daemon's page in a new profile and waits until it shows something. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const { origin } = new URL(url)
  const watched = await openWatched(
    browser,
    url,
    (requested) => requested.startsWith(origin),
    options,
  )
  await watched.page.locator('.page[data-link=live]').waitFor()
  return watched
}

/** Opens any page, which may send only the allowed requests. */
export async function openWatched(
  browser: Browser,
  url: string,
  isAllowed: (requested: string) => boolean,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: WIDE,
    timezoneId: 'Europe/Berlin',
    ...options,
  })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  })
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('request', (request) => {
    const requested = request.url()
    if (!isAllowed(requested) && !requested.startsWith('data:'))
      faults.push(`requested ${requested}`)
  })
  await page.goto(url)
  return { page, faults, close: () => context.close() }
}

/** Waits until the last change is on the screen. */
export async function drawn(page: Page): Promise<void> {
  const frames = 'requestAnimationFrame(() => requestAnimationFrame(done))'
  await page.evaluate(`new Promise((done) => ${frames})`)
}

/** Goes to a part of the page by its address, as a link does. */
export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await drawn(page)
}

export async function picture(page: Page, name: string): Promise<void> {
  await mkdir(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`) })
}

type Violation = {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** Findings of axe on the current page: rules and the elements that break them. */
export async function barriers(page: Page): Promise<readonly string[]> {
  await page.evaluate(`window.axe ?? (() => { ${axe.source} })()`)
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    "axe.run({ resultTypes: ['violations'] })",
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`),
  )
}

/** Whether the page scrolls sideways. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
}

/** The computed style of an element. */
export function styleOf(page: Page, selector: string, property: string): Promise<string> {
  const element = `document.querySelector(${JSON.stringify(selector)})`
  return page.evaluate<string>(`getComputedStyle(${element})[${JSON.stringify(property)}]`)
}
