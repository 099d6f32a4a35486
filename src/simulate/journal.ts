import type { JournalEvent, JournalRecord } from '../domain/journal.ts'
import { applyEvent, type DaemonState, emptyState } from '../domain/state.ts'
import type { Hex } from '../domain/units.ts'
import type { Journal } from '../ports.ts'
import { never, type SimulatedProcess } from './process.ts'
import { fingerprint } from './random.ts'
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

  /** What is on disk, for onlookers. They share it; a starting process reads for itself. */
  records(): readonly JournalRecord[] {
    for (const line of this.lines.slice(this.#decoded.length)) this.#decoded.push(decode(line))
    return this.#decoded
  }

  events(): JournalEvent[] {
    return this.records().map(({ event }) => event)
  }

  /** The state that a daemon starting now would find. */
  fold(): DaemonState {
    const state = emptyState()
    for (const { event, atMs } of this.lines.map(decode)) applyEvent(state, event, atMs)
    return state
  }
}

export type SimulatedJournalOptions = {
  readonly disk: SimulatedDisk
  readonly clock: VirtualClock
  readonly process: SimulatedProcess
  /** Ends the process; called at a crash point. */
  readonly crash: () => void
}

/** A journal over a disk of text: nothing that a process holds in memory outlives it. */
export function createSimulatedJournal(options: SimulatedJournalOptions): Journal {
  const { disk, clock, process, crash } = options
  const state = disk.fold()
  const now = clock.asPort().now
  let head = disk.records().at(-1)
  let unwritten: string[] = []

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
      const atMs = now()
      for (const event of events) {
        const record = seal({ seq: (head?.seq ?? 0) + 1, atMs, event, prev: head?.hash ?? '0x' })
        head = record
        const text = encode(record)
        applyEvent(state, decode(text).event, atMs)
        unwritten.push(text)
      }
      if (crashes()) return never()
      return new Promise((resolve, reject) => {
        clock.processTimer(FSYNC_MS, () => {
          if (disk.full) return reject(new Error('no space left on device'))
          flush()
          resolve()
        })
      })
    },
    async *records() {
      yield* disk.records()
    },
  }
}

function seal(record: Omit<JournalRecord, 'hash'>): JournalRecord {
  const hash: Hex = fingerprint(encode(record))
  return { ...record, hash }
}

const BIGINT = /^(\d+)n$/

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
