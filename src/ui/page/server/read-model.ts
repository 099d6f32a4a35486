import type { Recorded } from '../../../journal/events/registry.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'
import type { DaemonState } from '../../../journal/state/daemon-state.ts'
import type { Strategy } from '../../../strategies/registry.ts'
import type { Overview } from '../model.ts'
import { type Explorers, type FillOnRecord, fillRow } from './fill-rows.ts'
import { Observations, type Touched } from './observations.ts'
import type { RecentEvents } from './recent-events.ts'
import { RecentFills } from './recent-fills.ts'
import { type StrategyText, strategyRow } from './strategy-rows.ts'

/** Rows hold up the daemon's loop for about this long at a time. */
const SLICE_MS = 2
/** Figures that change by time alone, such as how full a cap is, are computed this often. */
const CHECK_EVERY_MS = 5_000
/** Rows of strategies whose files are gone. */
const REMOVED_MAX = 500

/** Removes secrets, as the log does. */
export type Clean = (text: string) => string

/** Fields of web addresses, built of checked parts: cleaning would cut them to nothing. */
const KEPT: ReadonlySet<string> = new Set(['explorerUrl'])

type ReadModelInput = {
  readonly now: () => number
  readonly clean: Clean
  readonly explorers: Explorers
  readonly describe: (strategy: Strategy) => StrategyText
  /** Called only while there are readers. */
  readonly overview: (strategies: readonly Strategy[]) => Omit<Overview, 'revision' | 'atMs'>
  /** Greater than every revision of an earlier process. */
  readonly firstRevision: number
}

/** `revision`: of its last change. */
type Row = { readonly text: string; readonly revision: number }

export type ChangeText = { readonly revision: number; readonly text: string }

/** How often texts were made: never without readers. */
export type Made = { rows: number; overviews: number; texts: number }

/** Keeps the JSON that is sent, so that a change of one strategy costs one row. Events only mark rows; JSON is made on demand. */
export class ReadModel {
  readonly observations: Observations
  readonly fills = new RecentFills()
  readonly made: Made = { rows: 0, overviews: 0, texts: 0 }
  readonly #input: ReadModelInput
  readonly #rows = new Map<string, Row>()
  readonly #touched = new Set<string>()
  #isOverviewTouched = true
  #areFillsTouched = false
  #overview = ''
  #overviewAtMs = Number.NEGATIVE_INFINITY
  #revision: number
  #refreshing: Promise<void> | undefined
  #state: DaemonState | undefined
  #strategies: readonly Strategy[] = []
  #byName: ReadonlyMap<string, Strategy> = new Map()

  constructor(input: ReadModelInput) {
    this.#input = input
    this.#revision = input.firstRevision
    this.observations = new Observations(input.now)
  }

  get revision(): number {
    return this.#revision
  }

  /** Read only. */
  begin(state: DaemonState): void {
    this.#state = state
    for (const name of state.strategies.keys()) this.#touched.add(name)
  }

  /** Disabled strategies included. */
  take(strategies: readonly Strategy[]): void {
    for (const { name } of [...this.#strategies, ...strategies]) this.#touched.add(name)
    this.#strategies = strategies.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    this.#byName = new Map(strategies.map((each) => [each.name, each]))
    this.#isOverviewTouched = true
  }

  observe(event: RuntimeEvent): void {
    this.#touch(this.observations.observe(event))
  }

  recorded(entry: Recorded): void {
    this.#touch(this.observations.recorded(entry.event))
    if (this.fills.take(entry, this.#revision + 1)) this.#areFillsTouched = true
  }

  readBack({ fills, fromSeq, slots }: RecentEvents): void {
    for (const slot of slots) {
      this.observations.noteSlot(slot)
      this.#touched.add(slot.strategy)
    }
    this.fills.readBack(fills, { fromSeq, revision: this.#revision })
  }

  /** Makes what changed, in slices. Concurrent callers share one refresh. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshAll().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  overviewText(): string {
    return `{"revision":${this.#revision},"atMs":${this.#input.now()},${this.#overview}`
  }

  strategiesText(): string {
    const names = [...this.#rows.keys()].sort()
    return `[${names.map((name) => this.#rows.get(name)?.text ?? '').join(',')}]`
  }

  fillText(entry: FillOnRecord): string {
    return this.#textOf(fillRow(entry, this.#input.explorers))
  }

  /** Everything for another process's revision; without one the overview alone. */
  changeSince(since: number | undefined): ChangeText {
    this.made.texts += 1
    const isOwn =
      since !== undefined && since >= this.#input.firstRevision && since <= this.#revision
    const after = isOwn ? since : Number.NEGATIVE_INFINITY
    const rows =
      since === undefined ? [] : [...this.#rows.values()].filter(({ revision }) => revision > after)
    const fills = since === undefined ? [] : this.fills.since(after)
    const strategiesText = rows.map(({ text }) => text).join(',')
    const fillsText = fills.map((entry) => this.fillText(entry)).join(',')
    return {
      revision: this.#revision,
      text: `{"overview":${this.overviewText()},"strategies":[${strategiesText}],"fills":[${fillsText}]}`,
    }
  }

  #touch(touched: Touched): void {
    if (touched === undefined) return
    if (touched.strategy !== undefined) this.#touched.add(touched.strategy)
    if (touched.overview) this.#isOverviewTouched = true
  }

  async #refreshAll(): Promise<void> {
    const next = this.#revision + 1
    let isChanged = this.#areFillsTouched
    this.#areFillsTouched = false
    const names = [...this.#touched]
    this.#touched.clear()
    const startedMs = performance.now()
    let sliceMs = startedMs
    for (const name of names) {
      if (this.#makeRow(name, next)) isChanged = true
      if (performance.now() - sliceMs < SLICE_MS) continue
      await new Promise(setImmediate)
      sliceMs = performance.now()
    }
    if (sliceMs !== startedMs) await new Promise(setImmediate)
    if (this.#makeOverview()) isChanged = true
    if (isChanged) this.#revision = next
  }

  /** @returns whether the row changed */
  #makeRow(name: string, revision: number): boolean {
    const strategy = this.#byName.get(name)
    const record = this.#state?.strategies.get(name)
    const known = this.#rows.get(name)
    if (strategy === undefined && known === undefined && !this.#hasPast(name)) return false
    this.made.rows += 1
    const observed = this.observations.strategies.get(name)
    const file = strategy && this.#input.describe(strategy)
    const text = this.#textOf(strategyRow(name, { file, record, observed }))
    if (known?.text === text) return false
    this.#rows.set(name, { text, revision })
    return true
  }

  /** A strategy without a file is shown only if it has traded. */
  #hasPast(name: string): boolean {
    const record = this.#state?.strategies.get(name)
    if (record === undefined || this.#rows.size >= this.#byName.size + REMOVED_MAX) return false
    return record.fills > 0 || record.openSlots.length > 0
  }

  #makeOverview(): boolean {
    const nowMs = this.#input.now()
    const isDue = Math.abs(nowMs - this.#overviewAtMs) >= CHECK_EVERY_MS
    if (!this.#isOverviewTouched && !isDue) return false
    this.#isOverviewTouched = false
    this.#overviewAtMs = nowMs
    this.made.overviews += 1
    const text = this.#textOf(this.#input.overview(this.#strategies)).slice(1)
    const isOther = text !== this.#overview
    this.#overview = text
    return isOther
  }

  #textOf(value: object): string {
    return cleanJson(value, this.#input.clean)
  }
}

/** Cleans every text of a value. Field names are our own. */
export function cleanJson(value: object, clean: Clean): string {
  return JSON.stringify(value, (name, field: unknown) =>
    typeof field === 'string' && !KEPT.has(name) ? clean(field) : field,
  )
}
