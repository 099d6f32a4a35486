import { dirname } from 'node:path'
import type { Site } from '../../adapters/control/http-server.ts'
import { readAssets } from '../../adapters/page/assets.ts'
import { Page } from '../../adapters/page/page.ts'
import { createSite } from '../../adapters/page/site.ts'
import type { Log } from '../../adapters/tell/log.ts'
import type { Scrubber } from '../../adapters/tell/scrubber.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Strategy } from '../../domain/strategy.ts'
import type { Clock } from '../../ports.ts'
import { describeSchedule, describeStrategy } from '../describe.ts'
import { VERSION } from '../version.ts'
import { installedPart } from './installed.ts'

const ENTRY = 'page/index.html'

/** The page of a daemon; undefined where the config wants none. Nothing is read or made before somebody looks. */
export function openPage(
  settings: Settings,
  parts: {
    readonly strategies: readonly Strategy[]
    readonly clock: Clock
    readonly log: Log
    readonly scrubber: Scrubber
  },
): Page | undefined {
  if (!settings.http.page) return undefined
  const { clock, log, scrubber, strategies } = parts
  const page = new Page({
    settings,
    version: VERSION,
    now: clock.now,
    hiding: { clean: scrubber.text, value: scrubber.value },
    describe: (strategy) => ({
      kind: strategy.kind,
      enabled: strategy.enabled,
      does: describeStrategy(strategy),
      schedule: describeSchedule(strategy.schedule),
    }),
    warn: (message) => log.warn(message, { event: 'page' }),
  })
  page.take({ strategies, account: settings.limits })
  return page
}

/** What is served of it. */
export async function siteOf(page: Page | undefined): Promise<Site | undefined> {
  const entry = installedPart(ENTRY)
  return page && createSite(page, await readAssets(entry && dirname(entry)))
}
