import { dirname } from 'node:path'
import type { Site } from '../../control/http/http-server.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Log } from '../../observe/log.ts'
import type { Clock } from '../../ports.ts'
import { kindOf, type Strategy } from '../../strategies/registry.ts'
import type { Scrubber } from '../../system/scrubber.ts'
import { createPage, type Page } from '../../ui/page/server/page.ts'
import { createSite, readAssets } from '../../ui/page/server/site.ts'
import { VERSION } from '../process/version.ts'
import { describeSchedule } from '../text/amount-data.ts'
import { installedPart } from './modules.ts'

const ENTRY = 'page/index.html'

/** Undefined if the config turns the page off. Reads nothing before the first request. */
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
  const page = createPage({
    settings,
    version: VERSION,
    now: clock.now,
    hiding: { clean: scrubber.text, value: scrubber.value },
    describe: (strategy) => ({
      kind: strategy.kind,
      enabled: strategy.enabled,
      does: kindOf(strategy).describe(strategy),
      schedule: describeSchedule(strategy.schedule),
    }),
    warn: (message) => log.warn(message, { event: 'page' }),
  })
  page.take({ strategies, account: settings.limits })
  return page
}

export async function siteOf(page: Page | undefined): Promise<Site | undefined> {
  const entry = installedPart(ENTRY)
  return page && createSite(page, await readAssets(entry && dirname(entry)))
}
