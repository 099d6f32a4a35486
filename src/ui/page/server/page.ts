import { join } from 'node:path'
import PQueue from 'p-queue'
import { messageOf } from '../../../domain/errors.ts'
import type { AccountLimits, Settings } from '../../../domain/settings.ts'
import type { Recorded } from '../../../journal/events/registry.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'
import type { JournalPlace } from '../../../store/file/journal-search.ts'
import type { Strategy } from '../../../strategies/registry.ts'
import { byRoute } from '../../../venues/projections.ts'
import type { HoldingsRange, Overview } from '../model.ts'
import { createExplorer, type FillOnRecord } from './fill-rows.ts'
import { type FillQuery, searchFills, searchUnfilled, type UnfilledQuery } from './fill-search.ts'
import { createHoldingsCurve } from './holdings.ts'
import { overviewOf, type PageSubject } from './overview.ts'
import { type ChangeText, cleanJson, createReadModel } from './read-model.ts'
import { RECENT_FILLS_MAX, readRecentEvents } from './recent.ts'
import { type DetailQuery, type ReadStrategyFile, readDetail } from './strategy/detail.ts'
import type { StrategyText } from './strategy-rows.ts'
import { createValuation, type Valued } from './valuation.ts'
import { findWhy, type Hiding, type Slot } from './why.ts'

/** Maximum waiting disk searches. */
const SEARCHES_WAITING_MAX = 16

export class TooManySearchesError extends Error {
  override readonly name = 'TooManySearchesError'
}

export type PageInput = {
  readonly settings: Settings
  readonly version: string
  readonly now: () => number
  /** Masks what the log masks. */
  readonly hiding: Hiding
  readonly describe: (strategy: Strategy) => StrategyText
  readonly readFile: ReadStrategyFile
  readonly warn: (message: string) => void
}

export type Page = ReturnType<typeof createPage>

/** JSON of every route. Only reads and listens: the daemon never waits for the page, and is safe from its faults. */
export function createPage(input: PageInput) {
  const { settings, version, now, hiding, describe, readFile, warn } = input
  const { stateDir, journal, gasless } = settings
  const startedAtMs = now()
  const place: JournalPlace = { dir: join(stateDir, 'journal'), archive: journal.archive }
  const searches = new PQueue({ concurrency: 1 })
  let account: AccountLimits = settings.limits
  let subject: PageSubject | undefined
  let recentEvents: Promise<void> | undefined
  let isFaulty = false

  const explorers = byRoute(({ chainIn }) =>
    createExplorer(settings.chains.get(chainIn(settings) ?? '')),
  )
  const model = createReadModel({
    now,
    clean: hiding.clean,
    explorers,
    describe,
    overview,
    firstRevision: startedAtMs,
  })
  const { observations, fills } = model
  const valuation = createValuation({ wallet: gasless.wallet, ...settings })
  const value = (): Valued => {
    const { portfolio, balances } = observations
    return valuation({ portfolio, balances, nowMs: now() })
  }
  const curve = createHoldingsCurve({ stateDir, nowMs: now, value, warn })

  function overview(strategies: readonly Strategy[]): Omit<Overview, 'revision' | 'atMs'> {
    if (subject === undefined) throw new Error('the page has no data before the state is open')
    const times = { startedAtMs, nowMs: now() }
    const files = { settings, strategies, account }
    return overviewOf({ ...files, ...times, version, subject, observations, valued: value() })
  }

  /** Reads the records of earlier processes at the first request. */
  function earlierRead(): Promise<void> {
    recentEvents ??= readEarlier().catch(complain)
    return recentEvents
  }

  async function readEarlier(): Promise<void> {
    const strategies = [...(subject?.state.strategies.keys() ?? [])]
    model.readBack(
      await readRecentEvents(place, { fills: RECENT_FILLS_MAX, strategies, skips: true }),
    )
  }

  async function refresh(): Promise<number> {
    await earlierRead()
    await model.refresh()
    return model.revision
  }

  async function search<Found>(run: () => Promise<Found>): Promise<Found> {
    if (searches.size >= SEARCHES_WAITING_MAX) throw new TooManySearchesError()
    return searches.add(run)
  }

  /** A fault of the page must not reach the daemon. */
  function contain(task: () => void): void {
    try {
      task()
    } catch (error) {
      complain(error)
    }
  }

  function complain(error: unknown): void {
    if (!isFaulty) warn(`the page is incomplete: ${messageOf(error)}`)
    isFaulty = true
  }

  return {
    begin(begun: PageSubject): void {
      subject = begun
      model.begin(begun.state)
    },
    /** Including disabled strategies. */
    take(files: {
      readonly strategies: readonly Strategy[]
      readonly account: AccountLimits
    }): void {
      account = files.account
      model.take(files.strategies)
    },
    observe: (event: RuntimeEvent): void =>
      contain(() => {
        model.observe(event)
        curve.observe(event)
      }),
    recorded: (entry: Recorded): void => contain(() => model.recorded(entry)),
    async overview(): Promise<string> {
      await refresh()
      return model.overviewText()
    },
    async strategies(): Promise<string> {
      await refresh()
      return model.strategiesText()
    },
    /** @returns the revision */
    refresh,
    changeSince: (revision: number | undefined): ChangeText => model.changeSince(revision),
    /** Throws TooManySearchesError. */
    async fills({ limit, before = Infinity, strategy }: FillQuery): Promise<string> {
      await earlierRead()
      const recent = fills.before(before, strategy).slice(0, limit)
      const { fromSeq = recent.at(-1)?.seq ?? Infinity } = fills
      let next = recent.length === limit ? recent.at(-1)?.seq : undefined
      let older: typeof recent = []
      if (recent.length < limit && fromSeq > 1) {
        const query = { before: Math.min(before, fromSeq), limit: limit - recent.length, strategy }
        const found = await search(() => searchFills(place, query))
        older = found.entries.map((entry) => fills.asOfNow(entry))
        next = found.next
      }
      const texts = [...recent, ...older].map((entry) => model.fillText(entry))
      const cursor = next === undefined ? 'null' : `"${next}"`
      return `{"fills":[${texts.join(',')}],"next":${cursor}}`
    },
    /** Throws TooManySearchesError. */
    unfilled: async (query: UnfilledQuery): Promise<string> =>
      cleanJson(await search(() => searchUnfilled(place, query)), hiding.clean),
    holdings: async (range: HoldingsRange): Promise<string> =>
      cleanJson(await curve.series(range), hiding.clean),
    /** Undefined if neither a file nor the journal has the name. Throws TooManySearchesError. */
    async strategy(query: DetailQuery): Promise<string | undefined> {
      await earlierRead()
      const record = subject?.state.strategies.get(query.name)
      const strategy = model.strategyNamed(query.name)
      if (subject === undefined || (record ?? strategy) === undefined) return undefined
      const { state } = subject
      const parts = { settings, state, strategy, observations, explorers, readFile, nowMs: now() }
      const asOfNow = (entry: FillOnRecord): FillOnRecord => fills.asOfNow(entry)
      const detail = await search(() => readDetail(place, query, { ...parts, asOfNow }))
      return cleanJson(detail, hiding.clean)
    },
    /** Undefined if the journal has nothing about the slot. Throws TooManySearchesError. */
    async why(slot: Slot): Promise<string | undefined> {
      const tokens = settings.tokens.values()
      const why = await search(() => findWhy(place, slot, { hiding, tokens }))
      return why && JSON.stringify(why)
    },
  }
}
