import { join } from 'node:path'
import PQueue from 'p-queue'
import type { DaemonState } from '../../domain/book/state.ts'
import type { Observation } from '../../domain/observation.ts'
import type { AccountLimits, ChainSettings, Settings } from '../../domain/settings.ts'
import type { Strategy } from '../../domain/strategy.ts'
import { ETHER } from '../../domain/token.ts'
import type { Address } from '../../domain/units.ts'
import type { PlacedFact } from '../state/journal-file.ts'
import type { JournalPlace } from '../state/journal-search.ts'
import { cleaned } from './clean.ts'
import { createExplorer } from './explorer.ts'
import { searchFills } from './fill-pages.ts'
import { HoldingsCurve } from './holdings-curve.ts'
import { readLately } from './lately.ts'
import type { HoldingsRange, Overview } from './model.ts'
import { overviewOf } from './overview.ts'
import { type ChangeText, type Made, ReadModel } from './read-model.ts'
import { RECENT_FILLS_MAX } from './recent-fills.ts'
import type { StrategyWords } from './strategy-rows.ts'
import { createValuation, type Valued } from './valuation.ts'
import { findWhy, type Hiding, type Slot } from './why.ts'

/** Searches of the disk that wait for the one under way. */
const SEARCHES_WAITING_MAX = 16

/** Too many ask for what takes a search of the disk. */
export class TooManySearchesError extends Error {
  override readonly name = 'TooManySearchesError'
}

export type PageInput = {
  readonly settings: Settings
  readonly version: string
  readonly now: () => number
  /** As the log hides. */
  readonly hiding: Hiding
  readonly describe: (strategy: Strategy) => StrategyWords
  /** Hears what the page could not do. */
  readonly warn: (message: string) => void
}

/** What is shown once the state is open. */
export type PageSubject = {
  /** Read only. */
  readonly state: DaemonState
  /** Addresses by wallet name. */
  readonly wallets: ReadonlyMap<string, Address>
  readonly ready: () => Overview['ready']
}

export type FillsQuery = {
  readonly limit: number
  /** Undefined for the newest. */
  readonly before: number | undefined
  readonly strategy: string | undefined
}

/**
 * What the page shows, as JSON texts. It only reads and listens: nothing of the daemon waits for it, and whatever goes wrong in it
 * stays in it.
 */
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
  #lately: Promise<void> | undefined
  #isFaulty = false

  constructor(input: PageInput) {
    this.#input = input
    const { settings, now, hiding } = input
    const { stateDir, journal, gasless, aggregator } = settings
    this.#startedAtMs = now()
    this.#account = settings.limits
    this.#place = { dir: join(stateDir, 'journal'), archive: journal.archive }
    const swaps = settings.chains.get(gasless.chain)
    const calls = aggregator && settings.chains.get(aggregator.chain)
    this.#model = new ReadModel({
      now,
      clean: hiding.clean,
      explorers: { swaps: createExplorer(swaps), calls: createExplorer(calls) },
      describe: input.describe,
      overview: (strategies) => this.#overviewOf(strategies, { swaps, calls }),
      firstRevision: this.#startedAtMs,
    })
    const valuation = createValuation({ wallet: gasless.wallet, ...settings })
    const { sightings } = this.#model
    this.#value = () => {
      const { portfolio, balances } = sightings
      return valuation({ portfolio, balances, nowMs: now() })
    }
    this.#curve = new HoldingsCurve({ stateDir, now, value: this.#value, warn: input.warn })
  }

  /** What was made so far. */
  get made(): Readonly<Made> {
    return this.#model.made
  }

  begin(subject: PageSubject): void {
    this.#subject = subject
    this.#model.begin(subject.state)
  }

  /** The operator's files are these from now on, disabled strategies included. */
  take(files: { readonly strategies: readonly Strategy[]; readonly account: AccountLimits }): void {
    this.#account = files.account
    this.#model.take(files.strategies)
  }

  saw(event: Observation): void {
    this.#contain(() => {
      this.#model.saw(event)
      this.#curve.saw(event)
    })
  }

  told(placed: PlacedFact): void {
    this.#contain(() => this.#model.told(placed))
  }

  async overview(): Promise<string> {
    await this.#upToDate()
    return this.#model.overviewText()
  }

  async strategies(): Promise<string> {
    await this.#upToDate()
    return this.#model.strategiesText()
  }

  /** Brings what is sent up to date, and gives its revision. */
  async refresh(): Promise<number> {
    await this.#upToDate()
    return this.#model.revision
  }

  /** What changed after a revision, as of the last refresh. */
  changeSince(revision: number | undefined): ChangeText {
    return this.#model.changeSince(revision)
  }

  /** Throws TooManySearchesError. */
  async fills({ limit, before = Infinity, strategy }: FillsQuery): Promise<string> {
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
    return JSON.stringify(cleaned(series, this.#input.hiding.clean))
  }

  /** Undefined where the journal has nothing about a slot. Throws TooManySearchesError. */
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

  /** What happened last before this process began is read when somebody first looks. */
  #known(): Promise<void> {
    this.#lately ??= this.#readLately().catch((error: unknown) => this.#complain(error))
    return this.#lately
  }

  async #readLately(): Promise<void> {
    const strategies = [...(this.#subject?.state.strategies.keys() ?? [])]
    const lately = await readLately(this.#place, { fills: RECENT_FILLS_MAX, strategies })
    this.#model.readBack(lately)
  }

  async #search<Found>(search: () => Promise<Found>): Promise<Found> {
    if (this.#searches.size >= SEARCHES_WAITING_MAX) throw new TooManySearchesError()
    return this.#searches.add(search)
  }

  #overviewOf(
    strategies: readonly Strategy[],
    { swaps, calls }: Record<'swaps' | 'calls', ChainSettings | undefined>,
  ): Omit<Overview, 'revision' | 'atMs'> {
    const { settings, version, now } = this.#input
    const { aggregator } = settings
    if (this.#subject === undefined) throw new Error('nothing is shown before the state is open')
    const { state, wallets, ready } = this.#subject
    return overviewOf({
      ...{ version, mode: settings.mode, startedAtMs: this.#startedAtMs },
      wallets: [...wallets].map(([name, address]) => {
        const chain = name === settings.gasless.wallet ? swaps : calls
        return { name, address, explorerUrl: createExplorer(chain).address(address) }
      }),
      tokens: [...settings.tokens.values(), ETHER],
      finality: { gasless: swaps?.finality ?? 0, aggregated: calls?.finality ?? 0 },
      gasTank: aggregator && {
        account: aggregator.wallet,
        alertBelowWei: aggregator.gasTank.alertBelowWei,
      },
      ...{ state, strategies, account: this.#account },
      ready: ready(),
      sightings: this.#model.sightings,
      valued: this.#value(),
      nowMs: now(),
    })
  }

  /** An observer's fault is nobody else's. */
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
    const why = error instanceof Error ? error.message : String(error)
    this.#input.warn(`the page does not show everything: ${why}`)
  }
}
