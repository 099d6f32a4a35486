import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { StateCorruptError, type StateFault, type WrongStateError } from '../../domain/errors.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import {
  emptyState,
  fieldsMissingIn,
  imageOf,
  restoreState,
} from '../../journal/state/state-image.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { exactParse, exactStringify } from '../file/exact-json.ts'
import { type CheckedLine, decodeRecord, GENESIS } from '../file/journal-codec.ts'
import { JournalWalk, type MissingRecords } from '../file/journal-reader.ts'
import { requireSameHistory } from '../file/journal-recovery.ts'
import { Replay } from '../file/journal-replay.ts'
import type { Segment } from '../file/segments.ts'
import type { Snapshot } from '../file/snapshot.ts'
import { badSnapshot, damagedJournal } from '../file/state-faults.ts'
import { listFiles, type StateSight } from '../file/state-files.ts'

/** What a state directory proves, from its first available record to the last. */
export type StateProof = {
  readonly format: 1 | 2
  readonly files: number
  readonly archived: number
  readonly records: number
  readonly last: { readonly seq: number; readonly hash: Hex; readonly atMs: number } | undefined
  /** The oldest records, if unavailable. */
  readonly missing: MissingRecords | undefined
  /** MACs of the records: all valid, not checked without a key, or absent. */
  readonly macs: 'right' | 'unchecked' | 'none'
  /** Bytes of a torn append; a daemon may be writing it. */
  readonly tornBytes: number
  /** Last record in state.json; undefined if unreadable. */
  readonly snapshotSeq: number | undefined
  readonly journalFault: StateFault | undefined
  readonly snapshotFault: StateFault | undefined
}

/** The available part has no fault; it may be incomplete. */
export function isSound({ journalFault, snapshotFault }: StateProof): boolean {
  return journalFault === undefined && snapshotFault === undefined
}

/** Everything that state.json is made from is present and valid. */
export function provesWhole({ journalFault, missing, files }: StateProof): boolean {
  return files > 0 && journalFault === undefined && missing === undefined
}

type ProofOptions = {
  /** Without it only the structure is checked. */
  readonly key?: JournalKey | undefined
  readonly archive?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** Verifies every record of a state directory, and state.json against them. Writes nothing; safe beside a daemon. */
export async function proveState(dir: string, options: ProofOptions = {}): Promise<StateProof> {
  const onDisk = await listFiles(dir, options)
  const { snapshot: reading, segments, files } = onDisk
  const { key } = options
  const snapshot = reading.tag === 'sound' ? reading.snapshot : undefined
  const proving = new Proving(onDisk, snapshot, key)
  const journalFault = await proving.read(options.signal)
  const isOwn = (file: string): boolean => [files.journal, files.dir].includes(dirname(file))
  const inJournal = segments.filter(({ file }) => isOwn(file)).length
  return {
    format: 2,
    files: segments.length,
    archived: segments.length - inJournal,
    records: proving.records,
    last: proving.last,
    missing: proving.missing,
    macs: macsOf(proving.hasMacs, key),
    tornBytes: proving.tornBytes,
    snapshotSeq: snapshot?.seq,
    journalFault,
    snapshotFault: snapshotFaultOf(onDisk, proving),
  }
}

function macsOf(hasMacs: boolean | undefined, key: JournalKey | undefined): StateProof['macs'] {
  if (hasMacs !== true) return 'none'
  return key === undefined ? 'unchecked' : 'right'
}

function snapshotFaultOf(
  { snapshot: reading, files, segments }: StateSight,
  proving: Proving,
): StateFault | undefined {
  switch (reading.tag) {
    case 'sound':
      return proving.snapshotFault
    case 'foreign':
      return faultOf(reading.error, files.snapshot)
    case 'missing':
      return segments.length === 0 ? undefined : badSnapshot(files.snapshot, 'it is missing')
    case 'damaged':
      return badSnapshot(files.snapshot, reading.detail)
  }
}

function faultOf(error: StateCorruptError | WrongStateError, file: string): StateFault {
  if (error instanceof StateCorruptError) return error
  return { file, detail: error.message, remedy: 'Nothing is wrong with it but that' }
}

function isOfThisVersion({ state }: Snapshot): boolean {
  return fieldsMissingIn(state).length === 0
}

/** One pass over the records: the chain, the state, and the state at the snapshot's record. */
class Proving {
  readonly #files: StateSight
  readonly #snapshot: Snapshot | undefined
  readonly #walk: JournalWalk
  readonly #state: DaemonState = emptyState()
  #replay: Replay
  #lastLine: CheckedLine | undefined
  records = 0
  missing: MissingRecords | undefined
  snapshotFault: StateFault | undefined

  constructor(onDisk: StateSight, snapshot: Snapshot | undefined, key: JournalKey | undefined) {
    this.#files = onDisk
    this.#snapshot = snapshot
    this.#replay = new Replay(this.#state, 0)
    this.#walk = new JournalWalk(onDisk.segments, {
      key,
      start: GENESIS,
      hasMacs: onDisk.snapshot.tag === 'sound' ? onDisk.snapshot.hasMac : undefined,
      onMissing: (missing) => this.#miss(missing),
    })
  }

  get hasMacs(): boolean | undefined {
    return this.#walk.hasMacs
  }

  get tornBytes(): number {
    const { bytes = 0, fileBytes = 0 } = this.#walk.end ?? {}
    return fileBytes - bytes
  }

  get last(): StateProof['last'] {
    if (this.#lastLine === undefined) return undefined
    const { seq, hash, atMs } = decodeRecord(this.#lastLine.line)
    return { seq, hash, atMs }
  }

  async read(signal: AbortSignal | undefined): Promise<StateFault | undefined> {
    const { segments, files } = this.#files
    const snapshot = this.#snapshot
    try {
      if (segments.length === 0 && this.#files.snapshot.tag !== 'missing')
        throw damagedJournal(files.journal, 'it is missing although there is a state.json')
      for await (const lines of this.#walk.lines()) {
        signal?.throwIfAborted()
        for (const line of lines) this.#take(segments, line)
      }
      const { seq } = this.#walk.head
      if (snapshot !== undefined && seq < snapshot.seq)
        throw damagedJournal(
          this.#walk.end?.segment.file ?? files.journal,
          `it ends after record ${seq}, but state.json goes up to record ${snapshot.seq}`,
        )
    } catch (error) {
      if (error instanceof StateCorruptError) return error
      throw error
    }
    return undefined
  }

  #take(segments: readonly Segment[], line: CheckedLine): void {
    const { seq } = line.head
    const snapshot = this.#snapshot
    if (snapshot !== undefined) requireSameHistory(segments, line, snapshot)
    this.#replay.take(segments, line)
    this.records += 1
    this.#lastLine = line
    if (seq === snapshot?.seq && this.missing === undefined) this.#compare(snapshot)
  }

  /** Only the oldest records may be missing. Later ones are then applied from the snapshot on. */
  #miss(missing: MissingRecords): void {
    const { segments, files } = this.#files
    if (missing.from !== 1)
      throw damagedJournal(
        segments.find(({ firstSeq }) => firstSeq === missing.to + 1)?.file ?? files.journal,
        `the file before it is not here: records ${missing.from} to ${missing.to} are missing`,
      )
    this.missing = missing
    const snapshot = this.#snapshot
    if (snapshot !== undefined && snapshot.seq < missing.to)
      throw damagedJournal(
        files.journal,
        `records ${snapshot.seq + 1} to ${missing.to} are missing, and state.json goes up to ${snapshot.seq}`,
      )
    const base = snapshot !== undefined && isOfThisVersion(snapshot) ? snapshot : undefined
    if (base !== undefined) restoreState(this.#state, base.state)
    this.#replay = new Replay(this.#state, base?.seq ?? Number.POSITIVE_INFINITY)
  }

  /** Another version's snapshot has other fields; a start rebuilds it. */
  #compare(snapshot: Snapshot): void {
    if (!isOfThisVersion(snapshot)) return
    const folded = exactParse(exactStringify(imageOf(this.#state)))
    const kept = exactParse(exactStringify(snapshot.state))
    if (isDeepStrictEqual(folded, kept)) return
    this.snapshotFault = badSnapshot(
      this.#files.files.snapshot,
      `it does not hold what the records up to ${snapshot.seq} come to`,
    )
  }
}
