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
import { createExplorer } from './fill-rows.ts'
import { type FillQuery, searchFills } from './fill-search.ts'
import { HoldingsCurve } from './holdings.ts'
import { overviewOf, type PageSubject } from './overview.ts'
import { type ChangeText, cleanJson, type Made, ReadModel } from './read-model.ts'
import { readRecentEvents } from './recent-events.ts'
import { RECENT_FILLS_MAX } from './recent-fills.ts'
import type { StrategyText } from './strategy-rows.ts'
import { createValuation, type Valued } from './valuation.ts'
import { findWhy, type Hiding, type Slot } from './why.ts'

/** Searches of the disk that may wait. */
const SEARCHES_WAITING_MAX = 16

export class TooManySearchesError extends Error {
  override readonly name = 'TooManySearchesError'
}

export type PageInput = {
  readonly settings: Settings
  readonly version: string
  readonly now: () => number
  /** Hides what the log hides. */
  readonly hiding: Hiding
  readonly describe: (strategy: Strategy) => StrategyText
  readonly warn: (message: string) => void
}

/** JSON of every route. It only reads and listens: the daemon never waits for it, and its faults stay in it. */
export class Page {
  readonly #input: PageInput
  readonly #model: ReadModel
  readonly #place: JournalPlace
  readonly #curve: HoldingsCurve
  readonly #searches = new PQueue({ concurrency: 1 })
  readonly #value: () => Valued
  readonly #startedAtMs: number
  #account: AccountLimits
  #subject: PageSubject | undefined
  #recentEvents: Promise<void> | undefined
  #isFaulty = false

  constructor(input: PageInput) {
    this.#input = input
    const { settings, now, hiding } = input
    const { stateDir, journal, gasless } = settings
    this.#startedAtMs = now()
    this.#account = settings.limits
    this.#place = { dir: join(stateDir, 'journal'), archive: journal.archive }
    this.#model = new ReadModel({
      now,
      clean: hiding.clean,
      explorers: byRoute(({ chainIn }) =>
        createExplorer(settings.chains.get(chainIn(settings) ?? '')),
      ),
      describe: input.describe,
      overview: (strategies) => this.#overviewOf(strategies),
      firstRevision: this.#startedAtMs,
    })
    const valuation = createValuation({ wallet: gasless.wallet, ...settings })
    const { observations } = this.#model
    this.#value = () => {
      const { portfolio, balances } = observations
      return valuation({ portfolio, balances, nowMs: now() })
    }
    this.#curve = new HoldingsCurve({ stateDir, nowMs: now, value: this.#value, warn: input.warn })
  }

  get made(): Readonly<Made> {
    return this.#model.made
  }

  begin(subject: PageSubject): void {
    this.#subject = subject
    this.#model.begin(subject.state)
  }

  /** Disabled strategies included. */
  take(files: { readonly strategies: readonly Strategy[]; readonly account: AccountLimits }): void {
    this.#account = files.account
    this.#model.take(files.strategies)
  }

  observe(event: RuntimeEvent): void {
    this.#contain(() => {
      this.#model.observe(event)
      this.#curve.observe(event)
    })
  }

  recorded(entry: Recorded): void {
    this.#contain(() => this.#model.recorded(entry))
  }

  async overview(): Promise<string> {
    await this.#upToDate()
    return this.#model.overviewText()
  }

  async strategies(): Promise<string> {
    await this.#upToDate()
    return this.#model.strategiesText()
  }

  /** @returns the revision */
  async refresh(): Promise<number> {
    await this.#upToDate()
    return this.#model.revision
  }

  changeSince(revision: number | undefined): ChangeText {
    return this.#model.changeSince(revision)
  }

  /** Throws TooManySearchesError. */
  async fills({ limit, before = Infinity, strategy }: FillQuery): Promise<string> {
    await this.#known()
    const { fills } = this.#model
    const recent = fills.before(before, strategy).slice(0, limit)
    const { fromSeq = recent.at(-1)?.seq ?? Infinity } = fills
    let next = recent.length === limit ? recent.at(-1)?.seq : undefined
    let older: typeof recent = []
    if (recent.length < limit && fromSeq > 1) {
      const query = { before: Math.min(before, fromSeq), limit: limit - recent.length, strategy }
      const found = await this.#search(() => searchFills(this.#place, query))
      older = found.entries.map((entry) => fills.asOfNow(entry))
      next = found.next
    }
    const texts = [...recent, ...older].map((entry) => this.#model.fillText(entry))
    const cursor = next === undefined ? 'null' : `"${next}"`
    return `{"fills":[${texts.join(',')}],"next":${cursor}}`
  }

  async holdings(range: HoldingsRange): Promise<string> {
    const series = await this.#curve.series(range)
    return cleanJson(series, this.#input.hiding.clean)
  }

  /** Undefined if the journal holds nothing. Throws TooManySearchesError. */
  async why(slot: Slot): Promise<string | undefined> {
    const { hiding, settings } = this.#input
    const why = await this.#search(() =>
      findWhy(this.#place, slot, { hiding, tokens: settings.tokens.values() }),
    )
    return why && JSON.stringify(why)
  }

  async #upToDate(): Promise<void> {
    await this.#known()
    await this.#model.refresh()
  }

  /** What an earlier process recorded is read at the first request. */
  #known(): Promise<void> {
    this.#recentEvents ??= this.#readRecentEvents().catch((error: unknown) => this.#complain(error))
    return this.#recentEvents
  }

  async #readRecentEvents(): Promise<void> {
    const strategies = [...(this.#subject?.state.strategies.keys() ?? [])]
    const recent = await readRecentEvents(this.#place, { fills: RECENT_FILLS_MAX, strategies })
    this.#model.readBack(recent)
  }

  async #search<Found>(search: () => Promise<Found>): Promise<Found> {
    if (this.#searches.size >= SEARCHES_WAITING_MAX) throw new TooManySearchesError()
    return this.#searches.add(search)
  }

  #overviewOf(strategies: readonly Strategy[]): Omit<Overview, 'revision' | 'atMs'> {
    const { settings, version, now } = this.#input
    const subject = this.#subject
    if (subject === undefined) throw new Error('the page has no data before the state is open')
    return overviewOf({
      settings,
      version,
      startedAtMs: this.#startedAtMs,
      subject,
      strategies,
      account: this.#account,
      observations: this.#model.observations,
      valued: this.#value(),
      nowMs: now(),
    })
  }

  /** A fault of the page must not reach the daemon. */
  #contain(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#complain(error)
    }
  }

  #complain(error: unknown): void {
    if (this.#isFaulty) return
    this.#isFaulty = true
    this.#input.warn(`the page is incomplete: ${messageOf(error)}`)
  }
}
