import { rm } from 'node:fs/promises'
import type { Fact } from '../../domain/book/fact.ts'
import { imageOf, restoreState, type StateImage } from '../../domain/book/fields.ts'
import { applyEvent } from '../../domain/book/fold.ts'
import { type JournalEvent, type JournalRecord, recordName } from '../../domain/book/journal.ts'
import type { DaemonState } from '../../domain/book/state.ts'
import { applyAndTell } from '../../domain/book/tell.ts'
import type { Observation, RecordPlace } from '../../domain/observation.ts'
import type { Clock, Journal, RecordsFrom } from '../../ports.ts'
import type { JournalKey } from '../keys/journal-key.ts'
import { type ArchiveRule, archiveFinished } from './archiving.ts'
import { createFile, ensureDirectory, removeLeftovers, truncateFile } from './durable-file.ts'
import { upgradeFormer } from './former-format.ts'
import { GroupCommit, type LogFile, openLogFile } from './group-commit.ts'
import { decodeRecords, encodeRecords, GENESIS, type JournalHead } from './journal-codec.ts'
import { readRecords, segmentsSince } from './journal-reader.ts'
import { type Recovered, recover, requireSameAuthor, warningsOf } from './journal-recovery.ts'
import { SEGMENT_BYTES, SegmentLog } from './segment-log.ts'
import { listSegments, type Segment, segmentFile, withArchive } from './segments.ts'
import { keepDamaged, SnapshotFile } from './snapshot.ts'
import { lookAt, type StateFiles, stateFiles } from './state-files.ts'

const SNAPSHOT_EVERY_DEFAULT = 1_000
/** Length of a snapshot that costs next to nothing. */
const SMALL_SNAPSHOT_BYTES = 64 * 1024
/** How much longer than its last snapshot, if that was no small one, a journal grows before the next. */
const JOURNAL_PER_SNAPSHOT = 4
/** Files of the journal that are kept in memory at the most, however large the state is. */
const FILES_SINCE_MAX = 2

export type JournalOptions = {
  /** State directory. The caller holds its lock. */
  readonly dir: string
  readonly clock: Pick<Clock, 'now'>
  /** Of the wallet, whose daemon signs its records with it (rule T2). Without one, records carry no MAC: only dry-run. */
  readonly key?: JournalKey | undefined
  /** Whether a journal of format 1, which nobody signed, may still be believed; default true. */
  readonly mayUpgrade?: boolean | undefined
  /** Told each fact once it is on disk, in the order of the records, with which one it was; and how long the disk took. */
  readonly observe?: (event: Observation, record?: RecordPlace) => void
  /** Called once, when the disk fails. Stop the daemon: what is in memory can be ahead of what is on disk. */
  readonly onFatal: (error: Error) => void
  /** Records between snapshots, at least 1, default 1,000; a long snapshot waits for a journal that is longer still. */
  readonly snapshotEvery?: number
  /** Length from which on a file of the journal is finished, default 4 MiB. */
  readonly segmentBytes?: number | undefined
  /** Where finished files go once there are many; without it all of them stay. */
  readonly archive?: ArchiveRule | undefined
  /** What stands beside the journal; without it nothing does. */
  readonly fence?: JournalFence
  /** For tests of a failing disk. */
  readonly openLog?: (file: string) => Promise<LogFile>
}

/** A fact that is on disk, with the number and the time of its record. */
export type PlacedFact = { readonly seq: number; readonly atMs: number; readonly fact: Fact }

/** What stands beside the journal: a lock that may be lost, anchors that must not fall behind. */
export type JournalFence = {
  /** Asked right before anything is written. Throws where this process may not write any more, which ends the journal. */
  beforeFlush(): void
  /**
   * What has to follow records up to `head` once they are on disk and before their append resolves; undefined where nothing
   * has to. The last one's that was given stands for those before it.
   */
  afterFlush?(head: JournalHead, events: readonly JournalEvent[]): (() => Promise<void>) | undefined
  /** Records whose hashes `admit` is shown. */
  readonly positions?: readonly number[]
  /** Judges what was found, before anything is repaired or written. Throws to refuse it. */
  admit?(found: FoundState): void
}

/** What the files of a state directory say. */
export type FoundState = Pick<Recovered, 'state' | 'head' | 'hashes' | 'provenFrom'>

export type OpenedJournal = {
  readonly journal: Journal
  /** For the operator: what was left out at the start, and why that is safe. */
  readonly warnings: readonly string[]
  /** The journal has no record yet. */
  readonly firstStart: boolean
  /** The last record that was there. */
  readonly lastSeq: number
  /** Waits for what was appended, takes a snapshot, closes the file. Later appends reject. May be called again. */
  close(): Promise<void>
}

/**
 * Opens the journal for its one writer. An absent or empty directory is a first start; a journal of format 1 is upgraded. An
 * append that was cut short by a crash is removed from the file, and a snapshot that is damaged or missing is made anew
 * where the journal proves whole. Throws StateCorruptError for anything else that is not as it was written, and for what the
 * wallet's daemon did not write; WrongStateError for the state of another wallet.
 */
export async function openJournal(options: JournalOptions): Promise<OpenedJournal> {
  const { dir, key, clock } = options
  const files = stateFiles(dir)
  await ensureDirectory(dir)
  await removeLeftovers(files.snapshot)
  const { fence } = options
  const admit = (found: FoundState): void => {
    fence?.admit?.(found)
    fence?.beforeFlush()
  }
  const upgraded = await upgradeFormer(dir, { ...options, admit })
  const sight = await lookAt(dir, { key })
  const recovered = await recover(sight, { key, positions: fence?.positions })
  requireSameAuthor(files, recovered, key)
  admit(recovered)
  await rm(files.restoring, { recursive: true, force: true })
  const { head, state } = recovered
  const end = await repairTail(files, recovered)
  const snapshots = new SnapshotFile(files.snapshot, key)
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
      ...upgraded,
      ...warningsOf(sight, recovered),
      ...unprovenWarnings(files, recovered, fence?.positions ?? []),
    ],
    firstStart: head.seq === 0,
    lastSeq: head.seq,
    close: () => journal.close(),
  }
}

/** The chain cannot say that a record is still the one that was signed for when its file is not there. */
function unprovenWarnings(
  { journal }: StateFiles,
  { provenFrom, head }: Recovered,
  positions: readonly number[],
): readonly string[] {
  return [...new Set(positions)]
    .filter((seq) => seq > 0 && seq < provenFrom && seq <= head.seq)
    .map(
      (seq) =>
        `record ${seq}, up to which an anchor says that this state was signed with, is not in ${journal} (moved to an archive?): that it is the same is taken from the length of the journal alone`,
    )
}

/** The file to write on, with nothing in it but complete appends. */
async function repairTail(
  { journal }: StateFiles,
  { end }: Recovered,
): Promise<{ readonly segment: Segment; readonly bytes: number }> {
  if (end === undefined) {
    const segment = { file: segmentFile(journal, 1), firstSeq: 1 }
    await ensureDirectory(journal)
    await createFile(segment.file)
    return { segment, bytes: 0 }
  }
  const { segment, bytes, fileBytes } = end
  if (fileBytes > bytes) await truncateFile(segment.file, bytes)
  return { segment, bytes }
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
  readonly #key: JournalKey | undefined
  readonly #clock: Pick<Clock, 'now'>
  readonly #observe: (event: Observation, record?: RecordPlace) => void
  readonly #snapshotEvery: number
  readonly #sinceBytesMax: number
  readonly #fence: JournalFence | undefined
  readonly #archive: ArchiveRule | undefined
  /** Walks over the files that are under way: nothing is moved from under them. */
  #readers = 0
  #head: JournalHead
  /** The state before the records of `#since`: undoes an append that the state refuses half-way. */
  #base: StateImage
  /** As text: what its events are made of would be in memory for as long. */
  #since: string[] = []
  #snapshotSeq: number
  /** Length of the last snapshot, and of what was appended since. */
  #snapshotBytes = 0
  #bytesSince = 0
  #lastAppend: Promise<void> = Promise.resolve()
  /** Names of records that are on their way to the disk, with how many of each. */
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
    this.#key = options.key
    this.#clock = options.clock
    this.#observe = options.observe ?? (() => undefined)
    this.#fence = options.fence
    this.#archive = options.archive
    this.#snapshotEvery = Math.max(1, options.snapshotEvery ?? SNAPSHOT_EVERY_DEFAULT)
    this.#sinceBytesMax = FILES_SINCE_MAX * (options.segmentBytes ?? SEGMENT_BYTES)
  }

  append(...events: readonly JournalEvent[]): Promise<void> {
    const { stopped } = this.#log
    if (stopped !== undefined) return Promise.reject(stopped)
    if (events.length === 0) return this.#lastAppend
    const atMs = this.#clock.now()
    const firstSeq = this.#head.seq + 1
    const { text, head } = encodeRecords(this.#head, events, atMs, this.#key)
    const facts = this.#apply(events, atMs)
    this.#since.push(text)
    this.#head = head
    this.#bytesSince += text.length
    const names = events.flatMap((event) => recordName(event) ?? [])
    for (const name of names) this.#unwritten.set(name, (this.#unwritten.get(name) ?? 0) + 1)
    const after = this.#fence?.afterFlush?.(head, events)
    this.#lastAppend = this.#log.append(text, events.length, head, after).then(() => {
      for (const name of names) this.#written(name)
      for (const [index, fact] of facts.entries())
        this.#observe(fact, { seq: firstSeq + index, atMs })
    })
    this.#snapshotWhenDue()
    return this.#lastAppend
  }

  isOnDisk(name: string): boolean {
    return !this.#unwritten.has(name)
  }

  #written(name: string): void {
    const left = (this.#unwritten.get(name) ?? 0) - 1
    if (left > 0) this.#unwritten.set(name, left)
    else this.#unwritten.delete(name)
  }

  async *records(from?: RecordsFrom): AsyncGenerator<JournalRecord> {
    await this.#lastAppend
    this.#readers += 1
    try {
      const { segment, bytes } = this.#file.end
      const segments = await listSegments(this.#files.journal)
      const own = segments.filter(({ firstSeq }) => firstSeq <= segment.firstSeq)
      const wanted =
        from === undefined
          ? own
          : await segmentsSince(await withArchive(own, this.#archive?.dir), from)
      const onMissing = (): void => undefined
      yield* readRecords(wanted, {
        ...{ key: this.#key, start: GENESIS, bytes, onMissing },
        isBeside: true,
      })
    } finally {
      this.#readers -= 1
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** The fold works in place, so a refusal is undone by folding again from `#base`. It ends the daemon: it may cost. */
  #apply(events: readonly JournalEvent[], atMs: number): readonly Fact[] {
    try {
      return events.map((event) => applyAndTell(this.state, event, atMs))
    } catch (error) {
      restoreState(this.state, this.#base)
      for (const record of decodeRecords(this.#since.join('')))
        applyEvent(this.state, record.event, record.atMs)
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

  /**
   * Right after the first record, too: from then on an emptied journal can be told from a new one. A snapshot costs what the
   * state holds, so a larger state takes one less often: it comes to no more than a part of what the journal does, until what is
   * kept in memory of the journal would be too much.
   */
  #isSnapshotDue(): boolean {
    const records = this.#head.seq - this.#snapshotSeq
    if (this.#snapshotSeq === 0) return records > 0
    if (records < this.#snapshotEvery) return false
    const isSmall = this.#snapshotBytes <= SMALL_SNAPSHOT_BYTES
    const bytesDue = Math.min(JOURNAL_PER_SNAPSHOT * this.#snapshotBytes, this.#sinceBytesMax)
    return isSmall || this.#bytesSince >= bytesDue
  }

  /** The image is taken at once; the file is written when the records that it stands for are on disk. Never rejects. */
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
      this.#snapshotBytes = await this.#snapshots.write({ ...head, atMs: this.#clock.now(), state })
    } catch (error) {
      this.#log.fail(error)
      return
    }
    await this.#archiveFinished(head.seq)
  }

  /** An archive that takes nothing stops no trading: the files stay where they are. */
  async #archiveFinished(snapshotSeq: number): Promise<void> {
    if (this.#archive === undefined || this.#readers > 0) return
    const { dir } = this.#archive
    try {
      const files = await archiveFinished(this.#files.journal, this.#archive, snapshotSeq)
      if (files > 0) this.#observe({ type: 'journal-archived', files, dir })
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.#observe({ type: 'archive-trouble', dir, message })
    }
  }

  async #close(): Promise<void> {
    await this.#log.close()
    await this.#snapshotting
    if (this.#log.failure === undefined && this.#head.seq > this.#snapshotSeq)
      await this.#takeSnapshot()
  }
}
