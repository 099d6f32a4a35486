import type { Recorded } from '../../../journal/events/registry.ts'
import type { RuntimeEvent } from '../../../journal/runtime-event.ts'
import type { DaemonState, StrategyRecord } from '../../../journal/state/daemon-state.ts'
import type { Strategy } from '../../../strategies/registry.ts'
import type { Overview } from '../model.ts'
import { type Explorers, type FillOnRecord, fillRow } from './fill-rows.ts'
import { Observations, type Touched } from './observations.ts'
import { type RecentEvents, RecentFills } from './recent.ts'
import { type StrategyText, strategyRow } from './strategy-rows.ts'

/** Building rows blocks the daemon's loop for about this long at a time. */
const SLICE_MS = 2
/** Interval for figures that change only with time, such as use of a cap. */
const CHECK_EVERY_MS = 5_000
/** Maximum rows of strategies without a file. */
const REMOVED_MAX = 500

/** Masks secrets, as the log does. */
export type Clean = (text: string) => string

/** URL fields, built from checked parts: cleaning would mask them entirely. */
const KEPT: ReadonlySet<string> = new Set(['explorerUrl'])

/** `revision`: the row's last change. */
type Row = { readonly text: string; readonly revision: number }

export type ChangeText = { readonly revision: number; readonly text: string }

export type ReadModel = ReturnType<typeof createReadModel>

/** Caches the sent JSON, so that a change of one strategy costs one row. Events only mark rows; JSON is built on demand. */
export function createReadModel(input: {
  readonly now: () => number
  readonly clean: Clean
  readonly explorers: Explorers
  readonly describe: (strategy: Strategy) => StrategyText
  /** Called only while there are readers. */
  readonly overview: (strategies: readonly Strategy[]) => Omit<Overview, 'revision' | 'atMs'>
  /** Greater than every revision of an earlier process. */
  readonly firstRevision: number
}) {
  const { now, clean, explorers, describe, firstRevision } = input
  const observations = new Observations(now)
  const fills = new RecentFills()
  const rows = new Map<string, Row>()
  const touched = new Set<string>()
  let isOverviewTouched = true
  let areFillsTouched = false
  let overview = ''
  let overviewAtMs = Number.NEGATIVE_INFINITY
  let revision = firstRevision
  let refreshing: Promise<void> | undefined
  let state: DaemonState | undefined
  let strategies: readonly Strategy[] = []
  let byName: ReadonlyMap<string, Strategy> = new Map()

  const textOf = (value: object): string => cleanJson(value, clean)
  const fillText = (entry: FillOnRecord): string => textOf(fillRow(entry, explorers))
  const overviewText = (): string => `{"revision":${revision},"atMs":${now()},${overview}`

  function touch(by: Touched): void {
    if (by === undefined) return
    if (by.strategy !== undefined) touched.add(by.strategy)
    if (by.overview) isOverviewTouched = true
  }

  async function refreshAll(): Promise<void> {
    const next = revision + 1
    let isChanged = areFillsTouched
    areFillsTouched = false
    const names = [...touched]
    touched.clear()
    const startedMs = performance.now()
    let sliceMs = startedMs
    for (const name of names) {
      if (makeRow(name, next)) isChanged = true
      if (performance.now() - sliceMs < SLICE_MS) continue
      await new Promise(setImmediate)
      sliceMs = performance.now()
    }
    if (sliceMs !== startedMs) await new Promise(setImmediate)
    if (makeOverview()) isChanged = true
    if (isChanged) revision = next
  }

  /** @returns true if the row changed */
  function makeRow(name: string, at: number): boolean {
    const strategy = byName.get(name)
    const record = state?.strategies.get(name)
    const known = rows.get(name)
    if (strategy === undefined && known === undefined && !hasPast(record)) return false
    const observed = observations.strategies.get(name)
    const text = textOf(
      strategyRow(name, { file: strategy && describe(strategy), strategy, record, observed }),
    )
    if (known?.text === text) return false
    rows.set(name, { text, revision: at })
    return true
  }

  /** A strategy without a file is shown only if it has traded or has an open slot. */
  function hasPast(record: StrategyRecord | undefined): boolean {
    if (record === undefined || rows.size >= byName.size + REMOVED_MAX) return false
    return record.fills > 0 || record.openSlots.length > 0
  }

  function makeOverview(): boolean {
    const nowMs = now()
    const isDue = Math.abs(nowMs - overviewAtMs) >= CHECK_EVERY_MS
    if (!isOverviewTouched && !isDue) return false
    isOverviewTouched = false
    overviewAtMs = nowMs
    const before = overview
    overview = textOf(input.overview(strategies)).slice(1)
    return overview !== before
  }

  return {
    observations,
    fills,
    get revision(): number {
      return revision
    },
    /** Read-only. */
    begin(begun: DaemonState): void {
      state = begun
      for (const name of begun.strategies.keys()) touched.add(name)
    },
    /** Including disabled strategies. */
    take(taken: readonly Strategy[]): void {
      for (const { name } of [...strategies, ...taken]) touched.add(name)
      strategies = taken.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      byName = new Map(taken.map((each) => [each.name, each]))
      isOverviewTouched = true
    },
    observe: (event: RuntimeEvent): void => touch(observations.observe(event)),
    recorded(entry: Recorded): void {
      touch(observations.recorded(entry.event))
      if (fills.take(entry, revision + 1)) areFillsTouched = true
    },
    readBack(recent: RecentEvents): void {
      for (const slot of recent.slots) {
        observations.noteSlot(slot)
        touched.add(slot.strategy)
      }
      fills.readBack(recent.fills, { fromSeq: recent.fromSeq, revision })
    },
    /** Rebuilds changed rows, in slices. Concurrent callers share one refresh. */
    refresh(): Promise<void> {
      refreshing ??= refreshAll().finally(() => {
        refreshing = undefined
      })
      return refreshing
    },
    overviewText,
    strategiesText(): string {
      const names = [...rows.keys()].sort()
      return `[${names.map((name) => rows.get(name)?.text ?? '').join(',')}]`
    },
    fillText,
    /** Undefined without a file. */
    strategyNamed: (name: string): Strategy | undefined => byName.get(name),
    /** All rows for another process's revision; only the overview without a revision. */
    changeSince(since: number | undefined): ChangeText {
      const isOwn = since !== undefined && since >= firstRevision && since <= revision
      const after = isOwn ? since : Number.NEGATIVE_INFINITY
      const changed = [...rows.values()].filter(
        (row) => since !== undefined && row.revision > after,
      )
      const rowTexts = changed.map(({ text }) => text).join(',')
      const fillTexts = since === undefined ? [] : fills.since(after).map(fillText)
      const text = `{"overview":${overviewText()},"strategies":[${rowTexts}],"fills":[${fillTexts.join(',')}]}`
      return { revision, text }
    },
  }
}

/** Cleans all texts of a value. Field names are our own. */
export function cleanJson(value: object, clean: Clean): string {
  return JSON.stringify(value, (name, field: unknown) =>
    typeof field === 'string' && !KEPT.has(name) ? clean(field) : field,
  )
}
