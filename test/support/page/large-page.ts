import { readStrategyFile } from '../../../src/strategies/files/load-strategies.ts'
import { createScrubber } from '../../../src/system/scrubber.ts'
import { createPage, type Page } from '../../../src/ui/page/server/page.ts'
import { aStrategy } from '../builders.ts'
import { OWNER } from '../state/journal-events.ts'
import { FIRST_SLOT, type LargeJournal, SLOT_STEP, strategyName } from './large-journal.ts'
import { pageSettings } from './page-settings.ts'

const scrubber = createScrubber()
scrubber.add('hunter2hunter2')

/**
 * A page over the journal that `writeLargeJournal` left in a directory, with this many strategies. Throws where a page
 * would warn.
 */
export function openLargePage(
  dir: string,
  large: LargeJournal,
  strategies: number,
  nowMs = 1_800_000_000_000,
): Page {
  const settings = pageSettings(dir)
  const page = createPage({
    settings,
    version: '1',
    now: () => nowMs,
    hiding: { clean: scrubber.text, value: scrubber.value },
    describe: ({ kind, enabled, name }) => ({
      ...{ kind, enabled },
      does: `${name} does`,
      schedule: 'now',
    }),
    readFile: (file) => readStrategyFile(file, settings),
    warn: (message) => {
      throw new Error(message)
    },
  })
  const names = Array.from({ length: strategies }, (_, index) => strategyName(index))
  page.take({
    strategies: names.map((name) => aStrategy({ name })),
    account: settings.limits,
  })
  page.begin({
    waits: () => new Map(),
    state: large.state,
    wallets: new Map([['trader', OWNER]]),
    ready: () => ({ ok: true, reasons: [] }),
  })
  return page
}

/** Due time of a fill's slot. */
export function slotOfFill(fill: number): number {
  return FIRST_SLOT + fill * SLOT_STEP
}

/** The record after this many fills: six each, and one of a skip at every tenth. */
export function seqAfter(fills: number): number {
  return fills * 6 + Math.floor(fills / 10) + 1
}
