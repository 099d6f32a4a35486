import type {
  Change,
  FillRow,
  FillsPage,
  HoldingsRange,
  HoldingsSeries,
  Overview,
  StrategyRow,
} from '../../model.ts'
import { FillNews, linkNews, overviewNews } from './announcing.ts'
import { FILLS_MAX, FillBook } from './fill-book.ts'
import type { LinkState } from './link.ts'
import { mergeStrategies } from './strategy-list.ts'
import { ValueTail } from './value-tail.ts'

export type FillsQuestion = {
  readonly limit: number
  readonly before?: string
  readonly strategy?: string
}

/** What is asked of the daemon. An answer that does not come rejects with a sentence that may be shown. */
export type Daemon = {
  overview(): Promise<Overview>
  strategies(): Promise<readonly StrategyRow[]>
  fills(question: FillsQuestion): Promise<FillsPage>
  holdings(range: HoldingsRange): Promise<HoldingsSeries>
}

/** A list of fills: all of them, or one strategy's. */
export type FillList = {
  readonly strategy: string | undefined
  readonly book: FillBook
  loading: boolean
  problem: string | undefined
}

export type SeriesState = {
  readonly series: HoldingsSeries | undefined
  readonly problem: string | undefined
  readonly askedAtMs: number
}

const PAGE_MIN = 100
const PAGE_MAX = 500
/** A change with as many fills may lack some. */
const CHANGE_FILLS_MAX = 100
const SERIES_MS_MAX = 60_000

/** All that the page knows, and the only place that changes it. */
export class Store {
  overview: Overview | undefined
  strategies: ReadonlyMap<string, StrategyRow> = new Map()
  link: LinkState = { tag: 'connecting' }
  readonly fills: FillList = fillList(undefined)
  /** The list that is looked at beside that of all. */
  chosenFills: FillList | undefined
  /** Came in with the last change, to be seen as new. */
  fresh: ReadonlySet<string> = new Set()
  said = ''
  /** Values since the page was opened: the daemon notes one in ten minutes. */
  readonly tail = new ValueTail()
  readonly #series = new Map<HoldingsRange, SeriesState>()
  readonly #readers = new Set<() => void>()
  readonly #fillNews = new FillNews()
  readonly #daemon: Daemon
  readonly #now: () => number
  /** Daemon's clock less ours. */
  #clockAheadMs = 0
  /** Changes that come while everything is asked for anew. */
  #held: Change[] | undefined
  /** Whether fills came of which others are not here. */
  #lacks = false
  #renewals = 0

  constructor(daemon: Daemon, now: () => number) {
    this.#daemon = daemon
    this.#now = now
  }

  /** @returns how to end it. */
  subscribe(reader: () => void): () => void {
    this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }

  /** By the daemon's clock: what it says of times is by that. */
  daemonNow(): number {
    return this.byDaemon(this.#now())
  }

  /** What the daemon's clock shows at a time of ours. */
  byDaemon(atMs: number): number {
    return atMs + this.#clockAheadMs
  }

  setLink(link: LinkState): void {
    this.#say(linkNews(this.link, link))
    this.link = link
    this.#tell()
  }

  /** Everything anew, after connecting. What changes meanwhile is put on top of it. */
  async refresh(): Promise<void> {
    const held: Change[] = []
    this.#held = held
    try {
      const [overview, strategies, fills] = await Promise.all([
        this.#daemon.overview(),
        this.#daemon.strategies(),
        this.#daemon.fills({ limit: PAGE_MIN }),
      ])
      // Another connection has been made meanwhile, and asks for itself.
      if (this.#held !== held) return
      const same = this.overview?.startedAtMs === overview.startedAtMs
      this.strategies = new Map(strategies.map((row) => [row.name, row]))
      this.#takeOverview(overview)
      this.fills.book.renew(fills, same)
      this.#lacks = false
      for (const change of held) this.#take(change)
      this.#series.clear()
      if (this.chosenFills !== undefined) this.chooseFills(this.chosenFills.strategy)
    } finally {
      if (this.#held === held) this.#held = undefined
      this.#tell()
    }
  }

  /** Whether the daemon has news that the stream did not bring. */
  async probe(): Promise<'nothing-new' | 'behind'> {
    const known = this.overview?.revision
    const overview = await this.#daemon.overview()
    if (this.overview?.revision !== known) return 'nothing-new'
    if (overview.revision !== known) return 'behind'
    this.#takeOverview(overview)
    this.#tell()
    return 'nothing-new'
  }

  take(change: Change): void {
    if (this.#held === undefined) {
      this.#take(change)
      this.#tell()
    } else this.#held.push(change)
  }

  #take({ overview, strategies, fills }: Change): void {
    // What was asked for may be newer than a change that was under way.
    if (overview.revision >= (this.overview?.revision ?? 0)) this.#takeOverview(overview)
    this.strategies = mergeStrategies(this.strategies, strategies)
    // Some may lie between what is here and what came: put together they would look whole.
    this.#lacks ||= fills.length >= CHANGE_FILLS_MAX
    if (this.#lacks) void this.#renewFills()
    else this.#takeFills(fills)
  }

  #takeFills(fills: readonly FillRow[]): void {
    const fresh = this.fills.book.merge(fills)
    this.fresh = new Set(fresh.map(({ intentId }) => intentId))
    this.#mergeChosen(fills)
    this.#say(this.#fillNews.add(fresh, this.#now()))
    if (this.fills.book.size > FILLS_MAX) void this.#renewFills({ keep: false })
  }

  /** Asks for the newest fills; older ones that do not follow on them are let go. */
  async #renewFills({ keep = true } = {}): Promise<void> {
    this.#renewals += 1
    const mine = this.#renewals
    const page = await this.#daemon.fills({ limit: PAGE_MIN }).catch(() => undefined)
    // A later one knows more; after a failure the next change tries again.
    if (page === undefined || mine !== this.#renewals) return
    this.#lacks = false
    this.fills.book.renew(page, keep)
    if (this.chosenFills !== undefined) this.chooseFills(this.chosenFills.strategy)
    this.#tell()
  }

  #mergeChosen(fills: readonly FillRow[]): void {
    const chosen = this.chosenFills
    if (chosen === undefined || chosen.book.next === undefined) return
    chosen.book.merge(fills.filter(({ strategy }) => strategy === chosen.strategy))
  }

  #takeOverview(overview: Overview): void {
    if (this.overview !== undefined) this.#say(overviewNews(this.overview, overview))
    if (this.overview?.startedAtMs !== overview.startedAtMs) this.tail.clear()
    this.overview = overview
    this.tail.add(overview)
    this.#clockAheadMs = overview.atMs - this.#now()
  }

  /** All fills for undefined. */
  chooseFills(strategy: string | undefined): void {
    this.chosenFills = strategy === undefined ? undefined : fillList(strategy)
    if (this.chosenFills !== undefined) void this.loadOlder(this.chosenFills)
    this.#tell()
  }

  /** Loads the next older page of a list, a larger one the more there are already. */
  async loadOlder(list: FillList): Promise<void> {
    const { book, strategy } = list
    if (list.loading || book.next === null || book.size >= FILLS_MAX) return
    list.loading = true
    list.problem = undefined
    this.#tell()
    try {
      const limit = Math.min(PAGE_MAX, Math.max(PAGE_MIN, book.size))
      const before = book.next === undefined ? {} : { before: book.next }
      const of = strategy === undefined ? {} : { strategy }
      const began = book.next
      const page = await this.#daemon.fills({ limit, ...before, ...of })
      // It began again meanwhile: this page would leave a gap.
      if (book.next === began) book.append(page)
    } catch (error) {
      list.problem = sentenceOf(error)
    } finally {
      list.loading = false
      this.#tell()
    }
  }

  series(range: HoldingsRange): SeriesState | undefined {
    return this.#series.get(range)
  }

  /** Asks for a range, unless what is known of it is less than a minute old. */
  wantSeries(range: HoldingsRange): void {
    const known = this.#series.get(range)
    const nowMs = this.#now()
    const isFresh = known !== undefined && nowMs - known.askedAtMs < SERIES_MS_MAX
    if (this.link.tag !== 'live' || isFresh) return
    void this.#loadSeries(range, { askedAtMs: nowMs, series: known?.series })
  }

  async #loadSeries(
    range: HoldingsRange,
    asked: Pick<SeriesState, 'askedAtMs' | 'series'>,
  ): Promise<void> {
    this.#series.set(range, { ...asked, problem: undefined })
    try {
      const series = await this.#daemon.holdings(range)
      this.#series.set(range, { ...asked, series, problem: undefined })
    } catch (error) {
      this.#series.set(range, { ...asked, problem: sentenceOf(error) })
    }
    this.#tell()
  }

  #say(text: string | undefined): void {
    if (text !== undefined) this.said = text
  }

  #tell(): void {
    for (const reader of this.#readers) reader()
  }
}

function fillList(strategy: string | undefined): FillList {
  return { strategy, book: new FillBook(), loading: false, problem: undefined }
}

/** What went wrong, as it may be shown. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : 'The daemon did not answer.'
}
