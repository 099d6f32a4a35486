import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import {
  barriers,
  drawn,
  isTooWide,
  NARROW,
  openWatched,
  picture,
  startBrowser,
} from '../support/page/browser.ts'
import { run, start } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/process/programs.ts'
import { findBinary } from './binary.ts'

const VIEW = 'token-of-those-who-look'
const CONTROL = 'token-of-those-who-act'
/** The browser's own messages about refused requests. */
const BROWSER_SAYS = /^Failed to load resource/

/** Badges and buttons of the header that have more than one line of text, or stick out of it. */
const BROKEN = `(() => {
  const { top, bottom, left, right } = document.querySelector('.top').getBoundingClientRect()
  return [...document.querySelectorAll('.bar :is(.mode .word, .status .pill, button)')]
    .filter((each) => {
      const box = each.getBoundingClientRect()
      const lines = new Range()
      lines.selectNodeContents(each)
      const tops = [...lines.getClientRects()].map((line) => Math.round(line.bottom))
      const isInside = box.top >= top && box.bottom <= bottom && box.left >= left && box.right <= right
      return !isInside || Math.max(...tops) - Math.min(...tops) > 12 || each.scrollWidth > each.clientWidth
    })
    .map((each) => each.textContent)
})()`

let browser: Browser
let directory: Awaited<ReturnType<typeof temporaryDirectory>>

beforeAll(async () => {
  browser = await startBrowser(findBinary('chromium'))
  directory = await temporaryDirectory()
})
afterAll(async () => {
  await browser?.close()
  await directory?.remove()
})

test('a phone looks with one token, and pauses, halts and resumes with another', async () => {
  const bot = join(directory.path, 'bot')
  await run(['init', bot, '--kinds', 'dca', '--mode', 'sandbox', '--yes'])
  const config = join(bot, 'config/sandbox.yaml')
  const secret = (name: string, token: string): string => {
    const file = join(bot, name)
    writeFileSync(file, `${token}\n`, { mode: 0o600 })
    return file
  }
  const http = {
    port: 0,
    viewTokenFile: secret('view.token', VIEW),
    control: { tokenFile: secret('control.token', CONTROL) },
  }
  writeFileSync(config, stringify({ ...parse(readFileSync(config, 'utf8')), http }))
  const daemon = start(['run', '--config', config], { cwd: bot })
  const [, address = ''] = await daemon.sees(/page at (http:\/\/[^"\s]+)\//)
  const { page, faults, close } = await openWatched(
    browser,
    address,
    (requested) => requested.startsWith(address),
    { viewport: NARROW },
  )

  const enter = async (token: string, title: string): Promise<void> => {
    const form = page.locator('form.token-form', { hasText: title })
    await form.locator('input').fill(token)
    await form.getByRole('button', { name: 'Continue' }).click()
  }
  await page.getByText('This page asks for a token').waitFor()
  expect(await barriers(page)).toEqual([])
  await picture(page, 'token-to-look-360')
  await enter('a-token-that-is-wrong', 'http.viewTokenFile')
  await page.getByText('This token is not accepted.').waitFor()
  await enter(VIEW, 'http.viewTokenFile')
  await page.locator('.page[data-link=live]').waitFor()

  await page.getByRole('button', { name: 'Halt' }).click()
  await enter('a-token-that-is-wrong', 'Token for commands')
  await page.getByText('This token does not permit commands.').waitFor()
  expect(await barriers(page)).toEqual([])
  await picture(page, 'token-for-commands-360')
  await enter(CONTROL, 'Token for commands')
  const banner = page.locator('.banner.bad', { hasText: 'halted by the operator, on the page' })
  await banner.waitFor()
  expect(await isTooWide(page)).toBe(false)
  await picture(page, 'halted-with-commands-360')

  await banner.getByRole('button', { name: 'Resume' }).click()
  const question = page.locator('dialog.question', { hasText: 'Resume?' })
  await question.getByText('the halt: halted by the operator, on the page').waitFor()
  expect(await barriers(page)).toEqual([])
  await picture(page, 'resume-question-360')
  await question.getByRole('button', { name: 'Resume' }).click()
  await banner.waitFor({ state: 'detached' })

  await page.goto(`${address}/#strategy=buy-weth`)
  await page.getByRole('button', { name: 'Pause buy-weth' }).click()
  await page.getByRole('button', { name: 'Resume buy-weth' }).waitFor()
  const status = await run(['status', '--config', config, '--json'], { cwd: bot })
  expect(status.stdout).toContain('paused by the operator, on the page')
  expect(daemon.output()).not.toMatch(new RegExp(`${VIEW}|${CONTROL}`))
  expect(faults.filter((fault) => !BROWSER_SAYS.test(fault))).toEqual([])

  await page.goto(`${address}/#overview`)
  await page.getByRole('button', { name: 'Halt' }).waitFor()
  expect((await daemon.stop()).code).toBe(0)
  await page.locator('.page[data-link=lost]').waitFor()
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [320, 360, 390, 1_280]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 844 })
      await drawn(page)
      expect(await page.locator('.status').textContent()).toBe('Not connected')
      expect(await page.evaluate(BROKEN), `${width} px`).toEqual([])
      expect(await isTooWide(page)).toBe(false)
      await picture(page, `lost-with-commands-${width}-${colorScheme}`)
    }
  await close()
})
