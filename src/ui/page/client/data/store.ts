import { plain } from '../../../parts/wording/outcomes.ts'
import type {
  Change,
  FillRow,
  HoldingsRange,
  HoldingsSeries,
  Overview,
  StrategyRow,
} from '../../model.ts'
import { fillText } from '../parts/labels.ts'
import { Control } from './control.ts'
import { type Daemon, messageOf } from './daemon-requests.ts'
import { ValueTail } from './holdings-series.ts'
import type { LinkState } from './link.ts'
import { FILLS_MAX, LoadedFills } from './loaded-fills.ts'

export type FillList = {
  readonly strategy: string | undefined
  readonly loaded: LoadedFills
  loading: boolean
  problem: string | undefined
}

type SeriesState = {
  readonly series: HoldingsSeries | undefined
  readonly problem: string | undefined
  readonly askedAtMs: number
}

const PAGE_MIN = 100
const PAGE_MAX = 500
/** A change with this many fills may be incomplete. */
const CHANGE_FILLS_MAX = 100
const SERIES_MS_MAX = 60_000

/** The page's only state. */
export class Store {
  overview: Overview | undefined
  strategies: ReadonlyMap<string, StrategyRow> = new Map()
  link: LinkState = { tag: 'connecting' }
  readonly fills: FillList = fillList(undefined)
  chosenFills: FillList | undefined
  /** Ids of the fills to highlight. */
  fresh: ReadonlySet<string> = new Set()
  announcement = ''
  /** Values since the daemon's last record; it records one every ten minutes. */
  readonly tail = new ValueTail()
  readonly control = new Control(() => this.notify())
  readonly #series = new Map<HoldingsRange, SeriesState>()
  readonly #readers = new Set<() => void>()
  readonly #fillNews = new FillNews()
  readonly #daemon: Daemon
  readonly #now: () => number
  /** The daemon's clock minus ours. */
  #clockAheadMs = 0
  #held: Change[] | undefined
  /** True if fills between the known and the newest ones may be missing. */
  #lacks = false
  #renewals = 0

  constructor(daemon: Daemon, now: () => number) {
    this.#daemon = daemon
    this.#now = now
  }

  subscribe(reader: () => void): () => void {
    this.#readers.add(reader)
    return () => this.#readers.delete(reader)
  }

  daemonNow(): number {
    return this.byDaemon(this.#now())
  }

  byDaemon(atMs: number): number {
    return atMs + this.#clockAheadMs
  }

  setLink(link: LinkState): void {
    this.#announce(linkNews(this.link, link))
    this.link = link
    this.notify()
  }

  /** Reloads everything after connecting, then applies the changes that arrived meanwhile. */
  async refresh(): Promise<void> {
    const held: Change[] = []
    this.#held = held
    try {
      const [overview, strategies, fills] = await Promise.all([
        this.#daemon.overview(),
        this.#daemon.strategies(),
        this.#daemon.fills({ limit: PAGE_MIN }),
      ])
      if (this.#held !== held) return
      const same = this.overview?.startedAtMs === overview.startedAtMs
      this.strategies = mergeStrategies(new Map(), strategies)
      this.#takeOverview(overview)
      this.fills.loaded.renew(fills, same)
      this.#lacks = false
      for (const change of held) this.#take(change)
      this.#series.clear()
      if (this.chosenFills !== undefined) this.chooseFills(this.chosenFills.strategy)
    } finally {
      if (this.#held === held) this.#held = undefined
      this.notify()
    }
  }

  async probe(): Promise<'nothing-new' | 'behind'> {
    const known = this.overview?.revision
    const overview = await this.#daemon.overview()
    if (this.overview?.revision !== known) return 'nothing-new'
    if (overview.revision !== known) return 'behind'
    this.#takeOverview(overview)
    this.notify()
    return 'nothing-new'
  }

  take(change: Change): void {
    if (this.#held === undefined) {
      this.#take(change)
      this.notify()
    } else this.#held.push(change)
  }

  #take({ overview, strategies, fills }: Change): void {
    // A loaded overview may be newer than a change in transit.
    if (overview.revision >= (this.overview?.revision ?? 0)) this.#takeOverview(overview)
    this.strategies = mergeStrategies(this.strategies, strategies)
    // If merged despite a gap, the list would look complete.
    this.#lacks ||= fills.length >= CHANGE_FILLS_MAX
    if (this.#lacks) void this.#renewFills()
    else this.#takeFills(fills)
  }

  #takeFills(fills: readonly FillRow[]): void {
    const fresh = this.fills.loaded.merge(fills)
    this.fresh = new Set(fresh.map(({ intentId }) => intentId))
    const chosen = this.chosenFills
    if (chosen?.loaded.next !== undefined)
      chosen.loaded.merge(fills.filter(({ strategy }) => strategy === chosen.strategy))
    this.#announce(this.#fillNews.add(fresh, this.#now()))
    if (this.fills.loaded.size > FILLS_MAX) void this.#renewFills({ keep: false })
  }

  /** Loads the newest fills; drops older ones that do not connect to them. */
  async #renewFills({ keep = true } = {}): Promise<void> {
    this.#renewals += 1
    const mine = this.#renewals
    const page = await this.#daemon.fills({ limit: PAGE_MIN }).catch(() => undefined)
    // A later renewal is newer; after a failure, the next change retries.
    if (page === undefined || mine !== this.#renewals) return
    this.#lacks = false
    this.fills.loaded.renew(page, keep)
    if (this.chosenFills !== undefined) this.chooseFills(this.chosenFills.strategy)
    this.notify()
  }

  #takeOverview(overview: Overview): void {
    if (this.overview !== undefined) this.#announce(overviewNews(this.overview, overview))
    if (this.overview?.startedAtMs !== overview.startedAtMs) this.tail.clear()
    this.overview = overview
    this.tail.add(overview)
    this.#clockAheadMs = overview.atMs - this.#now()
  }

  chooseFills(strategy: string | undefined): void {
    this.chosenFills = strategy === undefined ? undefined : fillList(strategy)
    if (this.chosenFills !== undefined) void this.loadOlder(this.chosenFills)
    this.notify()
  }

  /** Loads larger pages for a longer list. */
  async loadOlder(list: FillList): Promise<void> {
    const { loaded, strategy } = list
    if (list.loading || loaded.next === null || loaded.size >= FILLS_MAX) return
    list.loading = true
    list.problem = undefined
    this.notify()
    try {
      const limit = Math.min(PAGE_MAX, Math.max(PAGE_MIN, loaded.size))
      const before = loaded.next === undefined ? {} : { before: loaded.next }
      const of = strategy === undefined ? {} : { strategy }
      const began = loaded.next
      const page = await this.#daemon.fills({ limit, ...before, ...of })
      // Skipped if the list restarted meanwhile: this page would leave a gap.
      if (loaded.next === began) loaded.append(page)
    } catch (error) {
      list.problem = messageOf(error)
    } finally {
      list.loading = false
      this.notify()
    }
  }

  series(range: HoldingsRange): SeriesState | undefined {
    return this.#series.get(range)
  }

  async wantSeries(range: HoldingsRange): Promise<void> {
    const known = this.#series.get(range)
    const nowMs = this.#now()
    const isFresh = known !== undefined && nowMs - known.askedAtMs < SERIES_MS_MAX
    if (this.link.tag !== 'live' || isFresh) return
    const loading = { askedAtMs: nowMs, series: known?.series, problem: undefined }
    this.#series.set(range, loading)
    const loaded = await this.#daemon.holdings(range).then(
      (series) => ({ series }),
      (error: unknown) => ({ problem: messageOf(error) }),
    )
    this.#series.set(range, { ...loading, ...loaded })
    this.notify()
  }

  #announce(text: string | undefined): void {
    if (text !== undefined) this.announcement = text
  }

  notify(): void {
    for (const reader of this.#readers) reader()
  }
}

export function mergeStrategies(
  rows: ReadonlyMap<string, StrategyRow>,
  changed: readonly StrategyRow[],
): ReadonlyMap<string, StrategyRow> {
  if (changed.length === 0) return rows
  return new Map([...rows, ...changed.map((row) => [row.name, row] as const)])
}

function fillList(strategy: string | undefined): FillList {
  return { strategy, loaded: new LoadedFills(), loading: false, problem: undefined }
}

/** Announcements for screen readers: only changes of state, never values that tick each second. */

const FILLS_MS_APART = 15_000

function overviewNews(before: Overview, now: Overview): string | undefined {
  if (now.halted !== null && before.halted === null)
    return `Halted: ${plain(now.halted.cause)}. ${now.halted.detail}`
  if (now.halted === null && before.halted !== null) return 'No longer halted.'
  if (now.ready.ok !== before.ready.ok)
    return now.ready.ok ? 'Ready again.' : `Not ready: ${now.ready.reasons.join(', ')}.`
  if (now.counts.overdue > before.counts.overdue)
    return `${now.counts.overdue} orders are past their deadline.`
  return undefined
}

function linkNews(before: LinkState, now: LinkState): string | undefined {
  if (before.tag === now.tag) return undefined
  if (now.tag === 'lost') return 'The connection to the daemon is lost.'
  return before.tag === 'lost' ? 'Connected to the daemon again.' : undefined
}

/** Collects fills, and announces them at most once every fifteen seconds. */
class FillNews {
  #waiting = 0
  #last: FillRow | undefined
  #announcedAtMs = Number.NEGATIVE_INFINITY

  add(fills: readonly FillRow[], nowMs: number): string | undefined {
    this.#waiting += fills.length
    this.#last = fills[0] ?? this.#last
    if (this.#last === undefined || this.#waiting === 0) return undefined
    if (nowMs - this.#announcedAtMs < FILLS_MS_APART) return undefined
    const { strategy } = this.#last
    const text = `${strategy} ${fillText(this.#last)}.`
    const news = this.#waiting === 1 ? text : `${this.#waiting} fills. The last: ${text}`
    this.#waiting = 0
    this.#announcedAtMs = nowMs
    return news
  }
}
