import type { DaemonState } from '../../domain/book/state.ts'
import type { Observation } from '../../domain/observation.ts'
import type { Strategy } from '../../domain/strategy.ts'
import type { PlacedFact } from '../state/journal-file.ts'
import { type Clean, cleaned } from './clean.ts'
import { type Explorers, type FillEntry, fillRow } from './fill-rows.ts'
import type { Lately } from './lately.ts'
import type { Overview } from './model.ts'
import { RecentFills } from './recent-fills.ts'
import { Sightings, type Touched } from './sightings.ts'
import { type StrategyWords, strategyRow } from './strategy-rows.ts'

/** Work of the daemon waits this long for a row at the most, about. */
const SLICE_MS = 2
/** What changes by time alone, such as how full a cap is, is looked at this often. */
const LOOK_EVERY_MS = 5_000
/** Strategies that no file has any more and that have a past. */
const REMOVED_MAX = 500

export type ReadModelInput = {
  readonly now: () => number
  readonly clean: Clean
  readonly explorers: Explorers
  readonly describe: (strategy: Strategy) => StrategyWords
  /** All but the rows; asked for only when somebody looks. */
  readonly overview: (strategies: readonly Strategy[]) => Omit<Overview, 'revision' | 'atMs'>
  /** Greater than those of every process before this. */
  readonly firstRevision: number
}

/** Text of a row, and the revision at which it became so. */
type Row = { readonly text: string; readonly revision: number }

/** A change as it is sent. */
export type ChangeText = { readonly revision: number; readonly text: string }

/** What was made so far: nothing while nobody looks. */
export type Made = { rows: number; overviews: number; texts: number }

/**
 * What is shown, kept as the texts that are sent, so that a change of one strategy costs one row. Whatever is told is only noted;
 * it becomes text when somebody looks.
 */
export class ReadModel {
  readonly sightings: Sightings
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
    this.sightings = new Sightings(input.now)
  }

  get revision(): number {
    return this.#revision
  }

  /** The state that is shown from now on. Read only. */
  begin(state: DaemonState): void {
    this.#state = state
    for (const name of state.strategies.keys()) this.#touched.add(name)
  }

  /** What the operator's files say from now on, disabled ones included. */
  take(strategies: readonly Strategy[]): void {
    for (const { name } of [...this.#strategies, ...strategies]) this.#touched.add(name)
    this.#strategies = strategies.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    this.#byName = new Map(strategies.map((each) => [each.name, each]))
    this.#isOverviewTouched = true
  }

  saw(event: Observation): void {
    this.#touch(this.sightings.saw(event))
  }

  told(placed: PlacedFact): void {
    this.#touch(this.sightings.told(placed.fact))
    if (this.fills.told(placed, this.#revision + 1)) this.#areFillsTouched = true
  }

  /** What happened before this process began. */
  readBack({ fills, fromSeq, slots }: Lately): void {
    for (const { strategy, slot } of slots) {
      this.sightings.noteSlot(strategy, slot)
      this.#touched.add(strategy)
    }
    this.fills.readBack(fills, { fromSeq, revision: this.#revision })
  }

  /** Brings the texts up to date, in slices. Whoever asks meanwhile waits for the same. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshAll().finally(() => {
      this.#refreshing = undefined
    })
    return this.#refreshing
  }

  overviewText(): string {
    return `{"revision":${this.#revision},"atMs":${this.#input.now()},${this.#overview}`
  }

  /** All strategies, by name. */
  strategiesText(): string {
    const names = [...this.#rows.keys()].sort()
    return `[${names.map((name) => this.#rows.get(name)?.text ?? '').join(',')}]`
  }

  fillText(entry: FillEntry): string {
    return this.#textOf(fillRow(entry, this.#input.explorers))
  }

  /**
   * What changed after a revision; everything for one that is none of this process's, and without one only what is true of
   * the whole.
   */
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

  /** Whether it is another row than before. */
  #makeRow(name: string, revision: number): boolean {
    const strategy = this.#byName.get(name)
    const record = this.#state?.strategies.get(name)
    const known = this.#rows.get(name)
    if (strategy === undefined && known === undefined && !this.#hasPast(name)) return false
    this.made.rows += 1
    const sight = this.sightings.strategies.get(name)
    const words = strategy && this.#input.describe(strategy)
    const text = this.#textOf(strategyRow(name, { words, record, sight }))
    if (known?.text === text) return false
    this.#rows.set(name, { text, revision })
    return true
  }

  /** Of what no file has any more only what was once traded is shown. */
  #hasPast(name: string): boolean {
    const record = this.#state?.strategies.get(name)
    if (record === undefined || this.#rows.size >= this.#byName.size + REMOVED_MAX) return false
    return record.fills > 0 || record.openSlots.length > 0
  }

  #makeOverview(): boolean {
    const nowMs = this.#input.now()
    const isDue = Math.abs(nowMs - this.#overviewAtMs) >= LOOK_EVERY_MS
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
    return JSON.stringify(cleaned(value, this.#input.clean))
  }
}
