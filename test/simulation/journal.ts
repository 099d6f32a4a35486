import { StateCorruptError, StateLockedError } from '../../src/domain/errors.ts'
import { fnv1a } from '../../src/domain/random.ts'
import type { Anchor, AnchoredState, SigningWallets } from '../../src/journal/anchor.ts'
import {
  anchorsOf,
  type JournalEvent,
  type JournalRecord,
  type Recorded,
  recordName,
  reduce,
  reduceRecorded,
} from '../../src/journal/events/registry.ts'
import type { DaemonState } from '../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../src/journal/state/state-image.ts'
import type { Journal } from '../../src/ports.ts'
import { fingerprint } from '../support/random-hex.ts'
import { copyOf } from '../support/state/copy-of.ts'
import { never, type SimulatedProcess } from './process.ts'
import type { VirtualClock } from './virtual-clock.ts'

const FSYNC_MS = 1
/** A note without a later append reaches the disk after this time. */
const NOTE_MS = 10
const NO_WALLETS: SigningWallets = { trader: undefined, operator: undefined }
const NO_RECORD = { seq: 0, hash: '0x' } as const

/** Error of a process whose lock another process has taken. */
export const OVERTAKEN = 'another daemon has taken over the state directory'

/** Error of a process whose anchor belongs to another copy of its state. */
const OVERRULED = 'the anchor was given to another state'

/** Where a process dies: at its n-th append (from 1), just before the records are on disk or just after. */
export type CrashPoint = { readonly append: number; readonly when: 'before' | 'after' }

/** Marks a record that is followed by others of the same append. */
const GOES_ON = ',"more":1'

/** Stands in for the journal key: only the simulated daemon has it. */
const JOURNAL_KEY = 0x7a11e7

/** The anchor outside every state directory of a wallet, and the process that has it open; see `StateAnchors`. */
export class AnchorShelf {
  /** Undefined until a daemon with an anchor has started. */
  anchor: Anchor | undefined
  keeper: SimulatedProcess | undefined
}

/** Contents that survive a crash: the records' text, one line each. Appends are counted over all processes. */
export class SimulatedDisk {
  readonly lines: string[] = []
  /** Every line ever written, by any daemon to any copy of the directory: the true history. */
  readonly written: string[]
  readonly shelf: AnchorShelf
  appends = 0
  crashAt: CrashPoint | undefined
  /** The disk is full: appends are applied in memory and then reject, as in the real journal. */
  full = false
  /** Called with the event types of an append before it is on disk, to inject a fault at that moment. */
  onAppend: ((type: JournalEvent['type']) => void) | undefined
  /** The process that holds the lock: writes of any other are discarded. */
  writer: SimulatedProcess | undefined
  /** How often records were removed. */
  cuts = 0
  #decoded: JournalRecord[] = []
  #reduced = emptyState()
  #reducedRecords = 0
  #own = 0
  readonly #history: JournalRecord[]

  constructor(of?: SimulatedDisk) {
    this.shelf = of?.shelf ?? new AnchorShelf()
    this.written = of?.written ?? []
    this.#history = of?.written.map(decode) ?? []
    this.lines.push(...(of?.lines ?? []))
  }

  get anchor(): Anchor | undefined {
    return this.shelf.anchor
  }

  set anchor(anchor: Anchor | undefined) {
    this.shelf.anchor = anchor
  }

  /** Cuts the journal or restores an older copy: only the first records are left. */
  cutTo(records: number): void {
    this.replaceWith(this.lines.slice(0, records))
  }

  /** How many of the first records a power cut may leave: an append survives whole or not at all. */
  wholeUpTo(records: number): number {
    let whole = records
    while (whole > 0 && this.lines[whole - 1]?.includes(GOES_ON)) whole -= 1
    return whole
  }

  /** Replaces all lines. */
  replaceWith(lines: readonly string[]): void {
    this.lines.splice(0, this.lines.length, ...lines)
    this.cuts += 1
    this.#decoded = []
    this.#reduced = emptyState()
    this.#reducedRecords = 0
    this.#own = 0
  }

  /** Writes lines as a daemon does. */
  write(lines: readonly string[]): void {
    this.lines.push(...lines)
    this.written.push(...lines)
  }

  /** Every record ever written, including those cut since. */
  history(): readonly JournalRecord[] {
    for (const line of this.written.slice(this.#history.length)) this.#history.push(decode(line))
    return this.#history
  }

  /** Why a process cannot write now. */
  faultFor(process: SimulatedProcess): Error | undefined {
    if (this.full) return new Error('no space left on device')
    return this.writer === process ? undefined : new StateLockedError(OVERTAKEN)
  }

  /** The state that a start finds, for the anchor check. */
  snapshot(): AnchoredState {
    const records = this.records()
    const { seq, hash } = records.at(-1) ?? NO_RECORD
    return {
      state: this.reducedState(),
      head: { seq, hash },
      hashes: new Map(records.map((each) => [each.seq, each.hash])),
      provenFrom: 1,
    }
  }

  /** The records on disk, shared: read only. */
  records(): readonly JournalRecord[] {
    for (const line of this.lines.slice(this.#decoded.length)) this.#decoded.push(decode(line))
    return this.#decoded
  }

  /** Appends a line under the wallet's key, as another program with that key, or a version with a bug, could. */
  plant(event: JournalEvent, atMs: number): void {
    this.write(sealAll(this.records().at(-1), [event], atMs, JOURNAL_KEY))
  }

  /** Appends a line without the wallet's key, as anyone who can write to the file could. */
  forge(event: JournalEvent, atMs: number): void {
    this.lines.push(...sealAll(this.records().at(-1), [event], atMs, 0))
  }

  events(): JournalEvent[] {
    return this.records().map(({ event }) => event)
  }

  /** Throws StateCorruptError for a line that the daemon did not write. */
  requireOwn(): void {
    for (; this.#own < this.lines.length; this.#own += 1) {
      const line = this.lines[this.#own] ?? ''
      const fault = faultOf(line, this.lines[this.#own - 1])
      if (fault === undefined) continue
      const detail = `line ${this.#own + 1} ${fault}`
      throw new StateCorruptError({ file: 'journal', detail, remedy: 'Nothing was acted on' })
    }
  }

  /** The state that a daemon starting now would find, copied for the caller. */
  reducedState(): DaemonState {
    const records = this.records()
    for (const { event, atMs } of records.slice(this.#reducedRecords))
      reduce(this.#reduced, event, atMs)
    this.#reducedRecords = records.length
    return copyOf(this.#reduced)
  }
}

/** Fault of a line, given the line before it. */
function faultOf(line: string, before: string | undefined): string | undefined {
  const { hash, mac, prev, seq } = JSON.parse(line) as JournalRecord & { readonly mac: number }
  const unsealed = `${line.slice(0, line.lastIndexOf(',"hash":'))}}`
  const isOwn = mac === fnv1a(hash, JOURNAL_KEY) && fingerprint(unsealed) === hash
  if (!isOwn) return "was not written by this wallet's daemon"
  const last = before === undefined ? NO_RECORD : (JSON.parse(before) as JournalRecord)
  return prev === last.hash && seq === last.seq + 1 ? undefined : 'does not follow the one before'
}

export type SimulatedJournalOptions = {
  readonly disk: SimulatedDisk
  readonly clock: VirtualClock
  readonly process: SimulatedProcess
  /** Ends the process; called at a crash point. */
  readonly crash: () => void
  /** Called with each record once it is on disk. */
  readonly recorded: (entry: Recorded) => void
  /** Called once when the disk fails, whether or not anything waits for the append. */
  readonly onFatal?: (error: Error) => void
  /** The wallets whose anchor follows the journal; default none. */
  readonly wallets?: SigningWallets
}

type Pending = {
  readonly entries: readonly Recorded[]
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/**
 * A journal over a disk of text: a process keeps nothing in memory beyond its end. Throws StateCorruptError for a disk
 * with foreign lines.
 */
export function createSimulatedJournal(options: SimulatedJournalOptions): Journal {
  const { disk, clock, process, crash, recorded } = options
  const { wallets = NO_WALLETS, onFatal = () => undefined } = options
  disk.requireOwn()
  disk.writer = process
  const state = disk.reducedState()
  const now = clock.asPort().now
  let head = disk.records().at(-1)
  let unwritten: string[] = []
  let lastAppend: Promise<void> = Promise.resolve()
  const pending: Pending[] = []
  let failure: Error | undefined

  const flush = (): void => {
    const written = unwritten.map(decode)
    disk.write(unwritten)
    unwritten = []
    const last = written.at(-1)
    const isAnchored = written.some(({ event }) => anchorsOf(event, wallets).length > 0)
    if (!isAnchored || last === undefined || disk.anchor === undefined) return
    const { seq, hash } = last
    disk.anchor = { ...disk.anchor, position: { seq, hash }, atMs: last.atMs }
  }

  /** Records on disk that the anchor does not cover are written, but nothing observes them. */
  const anchorFault = (): Error | undefined => {
    const { keeper } = disk.shelf
    const isOwed = unwritten.some((line) => anchorsOf(decode(line).event, wallets).length > 0)
    if (!isOwed || keeper === undefined || keeper === process) return undefined
    disk.write(unwritten)
    unwritten = []
    return new StateLockedError(OVERRULED)
  }

  const crashes = (): boolean => {
    disk.appends += 1
    if (disk.crashAt?.append !== disk.appends) return false
    const isAfter = disk.crashAt.when === 'after' && disk.faultFor(process) === undefined
    if (isAfter && anchorFault() === undefined) flush()
    crash()
    return true
  }

  /** Writes everything appended so far, or fails for good. */
  const write = (): void => {
    if (failure !== undefined) return
    failure = disk.faultFor(process) ?? anchorFault()
    if (failure === undefined) flush()
    else onFatal(failure)
  }

  const settle = ({ entries, resolve, reject }: Pending): void => {
    if (failure === undefined) {
      for (const entry of entries) recorded(entry)
      resolve()
    } else reject(failure)
  }

  /** Settles the appends up to one of them. */
  const settleUpTo = (last: Pending): void => {
    if (!pending.includes(last)) return
    write()
    pending.splice(0, pending.indexOf(last) + 1).forEach(settle)
  }

  const settleWithin = (ms: number): void => {
    const last = pending.at(-1)
    if (last !== undefined) process.timer(ms, () => settleUpTo(last))
  }

  /** False if the process died. */
  const take = (events: readonly JournalEvent[]): boolean => {
    const lines = sealAll(head, events, now(), JOURNAL_KEY)
    const records = lines.map(decode)
    const entries = applyAll(state, records)
    head = records.at(-1) ?? head
    unwritten.push(...lines)
    for (const { type } of events) disk.onAppend?.(type)
    if (crashes()) return false
    lastAppend = new Promise((resolve, reject) => {
      pending.push({ entries, resolve, reject })
    })
    return true
  }

  return {
    state,
    append(...events) {
      if (!process.alive) return never()
      if (failure !== undefined) return Promise.reject(failure)
      if (events.length > 0 && !take(events)) return never()
      settleWithin(FSYNC_MS)
      return lastAppend
    },
    note(...events) {
      if (!process.alive) return
      if (failure !== undefined) throw failure
      if (!take(events)) return
      lastAppend.catch(() => undefined)
      settleWithin(NOTE_MS)
    },
    isOnDisk: (name) => !unwritten.some((line) => recordName(decode(line).event) === name),
    async *records() {
      await lastAppend
      yield* disk.records()
    },
  }
}

/**
 * Applies all events or none. A single event that throws changes nothing; of several, the first ones would have been
 * applied.
 */
function applyAll(state: DaemonState, records: readonly JournalRecord[]): readonly Recorded[] {
  if (records.length > 1) {
    const rehearsal = copyOf(state)
    for (const { event, atMs } of records) reduce(rehearsal, event, atMs)
  }
  return records.map((record) => reduceRecorded(state, record.event, record))
}

function sealAll(
  head: JournalRecord | undefined,
  events: readonly JournalEvent[],
  atMs: number,
  key: number,
): string[] {
  let { seq, hash: prev }: Pick<JournalRecord, 'seq' | 'hash'> = head ?? NO_RECORD
  return events.map((event, at) => {
    seq += 1
    const text = encode({ seq, atMs, event, prev })
    prev = fingerprint(text)
    const end = at < events.length - 1 ? GOES_ON : ''
    return `${text.slice(0, -1)},"hash":"${prev}","mac":${fnv1a(prev, key)}${end}}`
  })
}

const BIGINT = /^-?\d+n$/

function encode(record: object): string {
  return JSON.stringify(record, (_key, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  )
}

function decode(line: string): JournalRecord {
  return withBigints(JSON.parse(line)) as JournalRecord
}

/** Works in place, which is faster than a reviver. */
function withBigints(value: unknown): unknown {
  if (typeof value === 'string') return BIGINT.test(value) ? BigInt(value.slice(0, -1)) : value
  if (typeof value !== 'object' || value === null) return value
  for (const key of Object.keys(value))
    Reflect.set(value, key, withBigints(Reflect.get(value, key)))
  return value
}
