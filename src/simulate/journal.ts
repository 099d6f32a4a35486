import { emptyState } from '../domain/book/fields.ts'
import { applyEvent } from '../domain/book/fold.ts'
import type { JournalEvent, JournalRecord } from '../domain/book/journal.ts'
import type { DaemonState } from '../domain/book/state.ts'
import { applyAndTell, type Fact } from '../domain/book/tell.ts'
import { fingerprint } from '../domain/random.ts'
import type { Hex } from '../domain/units.ts'
import type { Journal } from '../ports.ts'
import { never, type SimulatedProcess } from './process.ts'
import type { VirtualClock } from './virtual-clock.ts'

const FSYNC_MS = 1

/** Where a process dies: at its n-th append (from 1), just before the records are on disk or just after. */
export type CrashPoint = { readonly append: number; readonly when: 'before' | 'after' }

/** What survives a crash: the records' text, one line each. Appends are counted over all processes. */
export class SimulatedDisk {
  readonly lines: string[] = []
  appends = 0
  crashAt: CrashPoint | undefined
  /** Nothing can be written any more: appends are applied in memory and then reject, as those of the real journal. */
  full = false
  readonly #decoded: JournalRecord[] = []
  readonly #folded = emptyState()
  #foldedRecords = 0

  /** What is on disk, shared: read it, never write it. */
  records(): readonly JournalRecord[] {
    for (const line of this.lines.slice(this.#decoded.length)) this.#decoded.push(decode(line))
    return this.#decoded
  }

  events(): JournalEvent[] {
    return this.records().map(({ event }) => event)
  }

  /** The state that a daemon starting now would find, for the caller alone. */
  fold(): DaemonState {
    const records = this.records()
    for (const { event, atMs } of records.slice(this.#foldedRecords))
      applyEvent(this.#folded, event, atMs)
    this.#foldedRecords = records.length
    return structuredClone(this.#folded)
  }
}

export type SimulatedJournalOptions = {
  readonly disk: SimulatedDisk
  readonly clock: VirtualClock
  readonly process: SimulatedProcess
  /** Ends the process; called at a crash point. */
  readonly crash: () => void
  /** Told each fact once it is on disk. */
  readonly observe: (fact: Fact) => void
}

/** A journal over a disk of text: nothing that a process holds in memory outlives it. */
export function createSimulatedJournal(options: SimulatedJournalOptions): Journal {
  const { disk, clock, process, crash, observe } = options
  const state = disk.fold()
  const now = clock.asPort().now
  let head = disk.records().at(-1)
  let unwritten: string[] = []
  let lastAppend: Promise<void> = Promise.resolve()
  let failure: Error | undefined

  const flush = (): void => {
    disk.lines.push(...unwritten)
    unwritten = []
  }

  const crashes = (): boolean => {
    disk.appends += 1
    if (disk.crashAt?.append !== disk.appends) return false
    if (disk.crashAt.when === 'after') flush()
    crash()
    return true
  }

  return {
    state,
    append(...events) {
      if (!process.alive) return never()
      if (failure !== undefined) return Promise.reject(failure)
      const records = sealAll(head, events, now())
      const lines = records.map(encode)
      const facts = applyAll(state, lines)
      head = records.at(-1) ?? head
      unwritten.push(...lines)
      if (crashes()) return never()
      lastAppend = new Promise((resolve, reject) => {
        clock.processTimer(FSYNC_MS, () => {
          if (disk.full) failure ??= new Error('no space left on device')
          if (failure !== undefined) return reject(failure)
          flush()
          for (const fact of facts) observe(fact)
          resolve()
        })
      })
      return lastAppend
    },
    async *records() {
      await lastAppend
      yield* disk.records()
    },
  }
}

/** All or none. One event alone changes nothing when it throws; of several, the first ones would have. */
function applyAll(state: DaemonState, lines: readonly string[]): readonly Fact[] {
  const records = lines.map(decode)
  if (records.length > 1) {
    const rehearsal = structuredClone(state)
    for (const { event, atMs } of records) applyEvent(rehearsal, event, atMs)
  }
  return records.map(({ event, atMs }) => applyAndTell(state, event, atMs))
}

function sealAll(
  head: JournalRecord | undefined,
  events: readonly JournalEvent[],
  atMs: number,
): JournalRecord[] {
  const records: JournalRecord[] = []
  for (const event of events) {
    const last = records.at(-1) ?? head
    records.push(seal({ seq: (last?.seq ?? 0) + 1, atMs, event, prev: last?.hash ?? '0x' }))
  }
  return records
}

function seal(record: Omit<JournalRecord, 'hash'>): JournalRecord {
  const hash: Hex = fingerprint(encode(record))
  return { ...record, hash }
}

const BIGINT = /^(-?\d+)n$/

function encode(record: object): string {
  return JSON.stringify(record, (_key, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  )
}

function decode(line: string): JournalRecord {
  return JSON.parse(line, (_key, value: unknown) => {
    const digits = typeof value === 'string' ? BIGINT.exec(value)?.[1] : undefined
    return digits === undefined ? value : BigInt(digits)
  }) as JournalRecord
}
