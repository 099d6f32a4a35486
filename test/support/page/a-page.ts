import { join } from 'node:path'
import type { Settings } from '../../../src/domain/settings.ts'
import type { JournalOptions, OpenedJournal } from '../../../src/store/file/journal-file.ts'
import { readStrategyFile } from '../../../src/strategies/files/load-strategies.ts'
import type { Strategy } from '../../../src/strategies/registry.ts'
import { createPage, type Page, type PageInput } from '../../../src/ui/page/server/page.ts'
import { OWNER } from '../state/journal-events.ts'
import { openForTest, temporaryDirectory } from '../state/state-directory.ts'
import { pageSettings } from './page-settings.ts'

export type APage = {
  readonly page: Page
  readonly dir: string
  readonly settings: Settings
  readonly warnings: readonly string[]
  /** How often a strategy was described, and an overview made. */
  readonly built: { readonly rows: number; readonly overviews: number }
  readonly clock: { nowMs: number }
  readonly journal: OpenedJournal['journal']
  close(): Promise<void>
}

/** A page over its own journal, as in a daemon. */
export async function aPage(
  options: {
    readonly dir?: string
    readonly strategies?: readonly Strategy[]
    readonly nowMs?: number
    readonly settings?: Partial<Settings>
    readonly input?: Partial<PageInput>
    readonly journal?: Partial<JournalOptions>
  } = {},
): Promise<APage> {
  const { dir = temporaryDirectory(), strategies = [], nowMs = 1_800_000_000_000 } = options
  const clock = { nowMs }
  const warnings: string[] = []
  const built = { rows: 0, overviews: 0 }
  const settings = pageSettings(join(dir), options.settings)
  const page = createPage({
    settings,
    version: '1.2.3',
    now: () => clock.nowMs,
    hiding: { clean: (text) => text, value: (value) => value },
    describe({ kind, enabled, name }) {
      built.rows += 1
      return { kind, enabled, does: `${name} does`, schedule: 'now' }
    },
    readFile: (file) => readStrategyFile(file, settings),
    warn: (message) => warnings.push(message),
    ...options.input,
  })
  page.take({ strategies, account: settings.limits })
  const opened = await openForTest(dir, {
    clock: { now: () => clock.nowMs },
    observe: (event) => page.observe(event),
    recorded: (entry) => page.recorded(entry),
    ...options.journal,
  })
  page.begin({
    waits: () => new Map(),
    state: opened.journal.state,
    wallets: new Map([['trader', OWNER]]),
    ready() {
      built.overviews += 1
      return { ok: true, reasons: [] }
    },
  })
  const { journal, close } = opened
  return { page, dir, settings, warnings, built, clock, journal, close }
}

/** The plain text of the page's HTML. */
export async function said<Value>(text: Promise<string | undefined> | string): Promise<Value> {
  return JSON.parse((await text) ?? 'null') as Value
}
