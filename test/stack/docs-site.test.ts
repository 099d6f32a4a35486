import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { extname, join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isTooWide, NARROW, openWatched, startBrowser } from '../support/page/browser.ts'
import { runProcess, temporaryDirectory } from '../support/process/programs.ts'
import { findBinary } from './binary.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.png': 'image/png',
}

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let browser: Browser
let server: Server
let url: string

beforeAll(async () => {
  directory = await temporaryDirectory()
  const site = join(directory.path, 'site')
  const env = { NODE_ENV: 'production' }
  const built = await runProcess('npm', ['run', 'docs', '--', '--outDir', site], { env })
  expect(built.code, `${built.stdout}\n${built.stderr}`).toBe(0)
  server = createServer(({ url: requested = '/' }, response) => {
    const path = new URL(requested, 'http://site').pathname
    const file = path.endsWith('/') ? `${path}index.html` : path
    try {
      const body = readFileSync(join(site, file))
      response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'text/plain' }).end(body)
    } catch {
      response.writeHead(404).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`
  browser = await startBrowser(findBinary('chromium'))
})

afterAll(async () => {
  await browser?.close()
  server?.closeAllConnections()
  server?.close()
  await directory?.remove()
})

test("the site's search finds a page, and the site requests no other host", async () => {
  const { page, faults, close } = await openWatched(browser, url, (requested) =>
    requested.startsWith(url),
  )
  expect(await page.locator('h1').textContent()).toContain('Documentation')
  await page.keyboard.press('Control+k')
  await page.locator('.VPLocalSearchBox input').fill('maxLateness')
  const found = page.locator('.VPLocalSearchBox .result').first()
  await found.click()
  await page.waitForURL(/\/\w[\w-]+\.html#/)
  await page.locator('main', { hasText: 'maxLateness' }).waitFor()
  expect(faults).toEqual([])
  await close()
})

test('the sidebar links every page of the index', async () => {
  const index = readFileSync('docs/README.md', 'utf8')
  const pages = new Set([...index.matchAll(/\]\(([\w-]+)\.md/g)].map(([, name]) => `/${name}.html`))
  const { page, faults, close } = await openWatched(browser, url, (requested) =>
    requested.startsWith(url),
  )
  const links = await page
    .locator('.VPSidebar a')
    .evaluateAll((all) => all.map((link) => link.getAttribute('href')))
  expect([...new Set(links)].sort()).toEqual([...pages].sort())
  expect(faults).toEqual([])
  await close()
})

test("an alert's runbook link opens its section, which fits a phone", async () => {
  const address = `${url}alerts.html#trancheddown`
  const options = { viewport: NARROW }
  const { page, close } = await openWatched(browser, address, () => true, options)
  expect(await page.locator('h3#trancheddown').isVisible()).toBe(true)
  expect(await isTooWide(page)).toBe(false)
  await close()
})
