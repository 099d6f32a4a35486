import { rm } from 'node:fs/promises'
import { messageOf } from '../../domain/errors.ts'
import {
  type JournalEvent,
  type JournalRecord,
  type Recorded,
  recordName,
  reduce,
  reduceRecorded,
} from '../../journal/events/registry.ts'
import type { RuntimeEvent } from '../../journal/runtime-event.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import { imageOf, restoreState, type StateImage } from '../../journal/state/state-image.ts'
import type { Clock, Journal, RecordsFrom } from '../../ports.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { ensureDirectory, removeLeftovers } from '../../system/durable-file.ts'
import type { IndexFiles } from '../index/journal-index.ts'
import { type ArchiveRule, archiveFinished } from './archiving.ts'
import { GroupCommit, type LogFile, openLogFile } from './group-commit.ts'
import { decodeRecords, encodeRecords, GENESIS, type JournalHead } from './journal-codec.ts'
import { readRecords, segmentsSince } from './journal-reader.ts'
import {
  type FoundState,
  type Recovered,
  recover,
  requireSameAuthor,
  unprovenWarnings,
  warningsOf,
} from './journal-recovery.ts'
import { repairTail, SEGMENT_BYTES, SegmentLog } from './segment-log.ts'
import { listSegments, type Segment, withArchive } from './segments.ts'
import { growthPerSnapshot, keepDamaged, type SnapshotFile } from './snapshot.ts'
import { listFiles, type StateFiles, stateFiles } from './state-files.ts'

const SNAPSHOT_EVERY_DEFAULT = 1_000
/** Upper bound, in journal files, on records kept in memory between snapshots. */
const FILES_SINCE_MAX = 2

export type JournalOptions = {
  /** State directory. The caller holds its lock. */
  readonly dir: string
  readonly clock: Pick<Clock, 'now'>
  /** Wallet key that authenticates the records (rule T2). Without it records have no MAC, as in a dry run. */
  readonly key?: JournalKey | undefined
  /** Called for each record in order, once it is on disk. */
  readonly recorded?: ((entry: Recorded) => void) | undefined
  /** Receives disk times and archive events. */
  readonly observe?: (event: RuntimeEvent) => void
  /** Called once when the disk fails. Stop the daemon, because memory may be ahead of the disk. */
  readonly onFatal: (error: Error) => void
  /** Records between snapshots, at least 1, default 1,000; larger snapshots are taken less often. */
  readonly snapshotEvery?: number
  /** A journal file is finished at this length; default 4 MiB. */
  readonly segmentBytes?: number | undefined
  /** Archive for finished files. Without it all files stay. */
  readonly archive?: ArchiveRule | undefined
  readonly fence?: JournalFence
  /** For tests of a failing disk. */
  readonly openLog?: (file: string) => Promise<LogFile>
}

/** Guards around journal writes: a lock that may be lost, and anchors that must not fall behind. */
type JournalFence = {
  /** Called right before each write. Throws if this process may no longer write, which stops the journal. */
  beforeFlush(): void
  /** Returns a task to run between the write and its appends' resolution. A later task replaces earlier ones. */
  afterFlush?(head: JournalHead, events: readonly JournalEvent[]): (() => Promise<void>) | undefined
  readonly positions?: readonly number[]
  /** Checks the state found before anything is repaired or written. Throws to refuse it. */
  admit?(found: FoundState): void
}

export type OpenedJournal = {
  readonly journal: Journal
  /** Messages for the operator: what startup dropped, and why that is safe. */
  readonly warnings: readonly string[]
  readonly firstStart: boolean
  readonly lastSeq: number
  /** When journal or snapshot were last written before this, epoch ms; undefined for a first start. */
  readonly lastSeenMs: number | undefined
  /** Runs a task on the files of all records so far, archived ones included. None of them moves meanwhile. */
  beside<Result>(task: (files: IndexFiles) => Promise<Result>): Promise<Result>
  /** Waits for pending appends, takes a snapshot and closes the file. Later appends reject. Idempotent. */
  close(): Promise<void>
}

/**
 * Opens the journal for its single writer. A missing or empty directory is a first start. An append cut short by a crash is
 * removed from the file. A damaged or missing snapshot is rebuilt if the journal is complete and valid. Throws
 * StateCorruptError for any other damage and for records of a foreign author, and WrongStateError for the state of another
 * wallet.
 */
export async function openJournal(options: JournalOptions): Promise<OpenedJournal> {
  const { dir, key, clock, fence } = options
  const files = stateFiles(dir)
  await ensureDirectory(dir)
  await removeLeftovers(files.snapshot)
  const onDisk = await listFiles(dir, { key })
  const { snapshots } = onDisk
  const recovered = await recover(onDisk, { key, positions: fence?.positions })
  requireSameAuthor(files, recovered, key)
  fence?.admit?.(recovered)
  fence?.beforeFlush()
  await rm(files.restoring, { recursive: true, force: true })
  const { head, state } = recovered
  const end = await repairTail(files, recovered)
  if (recovered.snapshotSeq === undefined) {
    if (recovered.snapshotFault !== undefined) await keepDamaged(files.snapshot)
    await snapshots.write({ ...head, atMs: clock.now(), state: imageOf(state) })
  }
  const file = await SegmentLog.open({
    dir: files.journal,
    ...end,
    head,
    openLog: options.openLog ?? openLogFile,
    requireHeld: fence && (() => fence.beforeFlush()),
    segmentBytes: options.segmentBytes,
  })
  const log = new GroupCommit({
    name: files.journal,
    file,
    onCommit: (batch) => options.observe?.({ type: 'journal-appended', ...batch }),
    onFatal: options.onFatal,
  })
  const journal = new JournalFile({ files, recovered, snapshots, file, log, options })
  return {
    journal,
    warnings: [
      ...warningsOf(onDisk, recovered),
      ...unprovenWarnings(files, recovered, fence?.positions),
    ],
    firstStart: head.seq === 0,
    lastSeq: head.seq,
    lastSeenMs: recovered.lastSeenMs,
    beside: (task) => journal.beside(task),
    close: () => journal.close(),
  }
}

type Parts = {
  readonly files: StateFiles
  readonly recovered: Recovered
  readonly snapshots: SnapshotFile
  readonly file: SegmentLog
  readonly log: GroupCommit
  readonly options: JournalOptions
}

class JournalFile implements Journal {
  readonly state: DaemonState
  readonly #files: StateFiles
  readonly #snapshots: SnapshotFile
  readonly #file: SegmentLog
  readonly #log: GroupCommit
  readonly #options: JournalOptions
  /** Active readers. No file is archived while there are any. */
  #readers = 0
  #head: JournalHead
  /** State before the records of `#since`, to undo an append that the reducer refuses halfway. */
  #base: StateImage
  /** As text, because parsed events would take more memory. */
  #since: string[] = []
  #snapshotSeq: number
  /** Length of the last snapshot, and bytes appended since. */
  #snapshotBytes = 0
  #bytesSince = 0
  #lastAppend: Promise<void> = Promise.resolve()
  /** Names of records that are not yet on disk, with a count each. */
  readonly #unwritten = new Map<string, number>()
  #snapshotting: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor({ files, recovered, snapshots, file, log, options }: Parts) {
    this.state = recovered.state
    this.#head = recovered.head
    this.#base = imageOf(recovered.state)
    this.#snapshotSeq = recovered.snapshotSeq ?? 0
    this.#files = files
    this.#snapshots = snapshots
    this.#file = file
    this.#log = log
    this.#options = options
  }

  append(...events: readonly JournalEvent[]): Promise<void> {
    const { stopped } = this.#log
    if (stopped !== undefined) return Promise.reject(stopped)
    if (events.length > 0) this.#take(events)
    this.#log.flush()
    return this.#lastAppend
  }

  note(...events: readonly JournalEvent[]): void {
    if (this.#log.stopped !== undefined) throw this.#log.stopped
    this.#take(events)
    this.#log.flushSoon()
    // A failing disk reaches `onFatal`.
    this.#lastAppend.catch(() => undefined)
  }

  #take(events: readonly JournalEvent[]): void {
    const { key, clock, fence, recorded } = this.#options
    const atMs = clock.now()
    const { text, head } = encodeRecords(this.#head, events, atMs, key)
    const entries = this.#apply(events, this.#head.seq + 1, atMs)
    this.#since.push(text)
    this.#head = head
    this.#bytesSince += text.length
    const names = events.flatMap((event) => recordName(event) ?? [])
    this.#count(names, 1)
    const after = fence?.afterFlush?.(head, events)
    this.#lastAppend = this.#log.append(text, events.length, head, after).then(() => {
      this.#count(names, -1)
      for (const entry of entries) recorded?.(entry)
    })
    this.#snapshotWhenDue()
  }

  isOnDisk(name: string): boolean {
    return !this.#unwritten.has(name)
  }

  #count(names: readonly string[], more: 1 | -1): void {
    for (const name of names) {
      const left = (this.#unwritten.get(name) ?? 0) + more
      if (left > 0) this.#unwritten.set(name, left)
      else this.#unwritten.delete(name)
    }
  }

  async *records(from?: RecordsFrom): AsyncGenerator<JournalRecord> {
    this.#readers += 1
    try {
      const { own, bytes } = await this.#onDisk()
      const archive = this.#options.archive?.dir
      const wanted =
        from === undefined ? own : await segmentsSince(await withArchive(own, archive), from)
      const { key } = this.#options
      const onMissing = (): void => undefined
      yield* readRecords(wanted, { key, start: GENESIS, bytes, onMissing, isBeside: true })
    } finally {
      this.#readers -= 1
    }
  }

  async beside<Result>(task: (files: IndexFiles) => Promise<Result>): Promise<Result> {
    this.#readers += 1
    try {
      const { own, bytes } = await this.#onDisk()
      const segments = await withArchive(own, this.#options.archive?.dir)
      return await task({ segments, bytes, now: this.state, key: this.#options.key })
    } finally {
      this.#readers -= 1
    }
  }

  /** The files with all records appended so far, and the length of the last one. */
  async #onDisk(): Promise<{ readonly own: readonly Segment[]; readonly bytes: number }> {
    await this.#lastAppend
    // It may be moving files.
    await this.#snapshotting
    const { segment, bytes } = this.#file.end
    const segments = await listSegments(this.#files.journal)
    return { own: segments.filter(({ firstSeq }) => firstSeq <= segment.firstSeq), bytes }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /**
   * The reducer works in place, so a refused append is undone by reducing again from `#base`. It ends the daemon, so cost
   * does not matter.
   */
  #apply(events: readonly JournalEvent[], firstSeq: number, atMs: number): readonly Recorded[] {
    try {
      return events.map((each, at) =>
        reduceRecorded(this.state, each, { seq: firstSeq + at, atMs }),
      )
    } catch (error) {
      restoreState(this.state, this.#base)
      for (const record of decodeRecords(this.#since.join('')))
        reduce(this.state, record.event, record.atMs)
      throw error
    }
  }

  #snapshotWhenDue(): void {
    if (this.#snapshotting !== undefined || this.#log.stopped !== undefined) return
    if (!this.#isSnapshotDue()) return
    this.#snapshotting = this.#takeSnapshot().finally(() => {
      this.#snapshotting = undefined
      this.#snapshotWhenDue()
    })
  }

  /** Also true after the first record, so that an emptied journal differs from a new one. */
  #isSnapshotDue(): boolean {
    const records = this.#head.seq - this.#snapshotSeq
    if (this.#snapshotSeq === 0) return records > 0
    const { snapshotEvery = SNAPSHOT_EVERY_DEFAULT, segmentBytes = SEGMENT_BYTES } = this.#options
    if (records < Math.max(1, snapshotEvery)) return false
    return (
      this.#bytesSince >= growthPerSnapshot(this.#snapshotBytes, FILES_SINCE_MAX * segmentBytes)
    )
  }

  /** Captures the image at once, and writes it once its records are on disk. Never rejects. */
  async #takeSnapshot(): Promise<void> {
    const head = this.#head
    const state = imageOf(this.state)
    this.#base = state
    this.#since = []
    this.#snapshotSeq = head.seq
    this.#bytesSince = 0
    try {
      await this.#lastAppend
      this.#file.requireOwn()
      const atMs = this.#options.clock.now()
      this.#snapshotBytes = await this.#snapshots.write({ ...head, atMs, state })
    } catch (error) {
      this.#log.fail(error)
      return
    }
    await this.#archiveFinished(head.seq)
  }

  /** A failing archive must not stop trading; the files stay in place. */
  async #archiveFinished(snapshotSeq: number): Promise<void> {
    const { archive, observe } = this.#options
    if (archive === undefined || this.#readers > 0) return
    const { dir } = archive
    try {
      const files = await archiveFinished(this.#files.journal, archive, snapshotSeq)
      if (files > 0) observe?.({ type: 'journal-archived', files, dir })
    } catch (error) {
      observe?.({ type: 'archive-trouble', dir, message: messageOf(error) })
    }
  }

  async #close(): Promise<void> {
    await this.#log.close()
    await this.#snapshotting
    const isBehind = this.#head.seq > this.#snapshotSeq
    if (isBehind && this.#log.failure === undefined) await this.#takeSnapshot()
  }
}
