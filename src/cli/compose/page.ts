import { dirname } from 'node:path'
import { tokenFiles } from '../../config/loose-files.ts'
import type { Problem } from '../../config/yaml/problem.ts'
import { problemAt } from '../../config/yaml/problem-at.ts'
import type { Tokens } from '../../control/http/access.ts'
import type { Site } from '../../control/http/http-server.ts'
import type { Settings } from '../../domain/settings.ts'
import { shellWord } from '../../domain/text/shell-word.ts'
import type { Log } from '../../observe/log.ts'
import type { Clock } from '../../ports.ts'
import { readPrivately, readSecretFile } from '../../signing/keys/keystore.ts'
import { readStrategyFile } from '../../strategies/files/load-strategies.ts'
import { kindOf, type Strategy } from '../../strategies/registry.ts'
import type { Scrubber } from '../../system/scrubber.ts'
import { createPage, type Page } from '../../ui/page/server/page.ts'
import { createSite, readAssets } from '../../ui/page/server/site.ts'
import { VERSION } from '../process/version.ts'
import { describeSchedule } from '../text/amount-data.ts'
import { installedPart } from './modules.ts'

const ENTRY = 'page/index.html'
/** A token is text without spaces, too long to be guessed. */
const TOKEN = /^\S{16,256}$/
const MAKE = 'head -c 24 /dev/urandom | base64'

type ReadTokens =
  | { readonly ok: true; readonly tokens: Tokens }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Reads the tokens of the page. */
export async function readTokens({
  file,
  http,
}: Pick<Settings, 'file' | 'http'>): Promise<ReadTokens> {
  const found = new Map<string, string>()
  const problems: Problem[] = []
  for (const { key, path, file: from } of tokenFiles(http)) {
    const refuse = (message: string, expected: string): void =>
      void problems.push(problemAt(file, { path, message, expected }))
    const name = shellWord(from)
    const read = await readPrivately(from, readSecretFile, `(umask 077; ${MAKE} > ${name})`)
    if (!read.ok) {
      refuse(read.message, read.remedy)
      continue
    }
    const token = read.text.trim()
    if (!TOKEN.test(token))
      refuse(`${from} holds no token of 16 to 256 characters without spaces`, `${MAKE} > ${name}`)
    else if ([...found.values()].includes(token))
      refuse(`${from} holds the token of http.viewTokenFile`, 'another token: who looks could act')
    else found.set(key, token)
  }
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, tokens: { view: found.get('view'), control: found.get('control') } }
}

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
    readFile: (file) => readStrategyFile(file, settings),
    warn: (message) => log.warn(message, { event: 'page' }),
  })
  page.take({ strategies, account: settings.limits })
  return page
}

export async function siteOf(page: Page | undefined): Promise<Site | undefined> {
  const entry = installedPart(ENTRY)
  return page && createSite(page, await readAssets(entry && dirname(entry)))
}
