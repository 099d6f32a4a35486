import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { emptyState, fieldsMissingIn, imageOf, restoreState } from '../../../domain/book/fields.ts'
import type { DaemonState } from '../../../domain/book/state.ts'
import { StateCorruptError, type WrongStateError } from '../../../domain/errors.ts'
import type { Hex } from '../../../domain/units.ts'
import type { JournalKey } from '../../keys/journal-key.ts'
import { exactParse, exactStringify } from '../exact-json.ts'
import { type CheckedLine, decodeRecord } from '../journal-codec.ts'
import { Fold } from '../journal-fold.ts'
import { JournalWalk, type MissingRecords } from '../journal-reader.ts'
import { requireSameHistory } from '../journal-recovery.ts'
import type { Segment } from '../segments.ts'
import type { Snapshot } from '../snapshot.ts'
import { badSnapshot, damagedJournal } from '../state-faults.ts'
import { lookAt, type StateSight } from '../state-files.ts'

/** One thing that is not as it was written, and what to do. */
export type StateFault = { readonly file: string; readonly detail: string; readonly remedy: string }

/** What a state directory proves of itself, from the first record that is at hand to the last. */
export type StateProof = {
  readonly format: 1 | 2
  /** Files of the journal that were read, and how many of them in the archive. */
  readonly files: number
  readonly archived: number
  /** Records that were found in order; the last one of them, with its time. */
  readonly records: number
  readonly last: { readonly seq: number; readonly hash: Hex; readonly atMs: number } | undefined
  /** The oldest records, where they are not at hand. */
  readonly missing: MissingRecords | undefined
  /** What the records' MACs say: all by the wallet's key, not checked for want of it, or that there are none. */
  readonly macs: 'right' | 'unchecked' | 'none'
  /** Bytes of an append that was cut short; a daemon may be writing it. */
  readonly tornBytes: number
  /** Last record in state.json; undefined where it cannot be read. */
  readonly snapshotSeq: number | undefined
  /** The first of the journal, and of state.json. */
  readonly journalFault: StateFault | undefined
  readonly snapshotFault: StateFault | undefined
}

/** Nothing is wrong with what is there. It may still be only a part. */
export function isSound({ journalFault, snapshotFault }: StateProof): boolean {
  return journalFault === undefined && snapshotFault === undefined
}

/** Everything that state.json is made from is there and proves. */
export function provesWhole({ journalFault, missing, files }: StateProof): boolean {
  return files > 0 && journalFault === undefined && missing === undefined
}

export type ProofOptions = {
  /** Without it only the structure is checked. */
  readonly key?: JournalKey | undefined
  readonly archive?: string | undefined
  /** Ends it with its reason. */
  readonly signal?: AbortSignal | undefined
}

/** Reads every record of a state directory, and state.json against them. Writes nothing, and may be done beside a daemon. */
export async function proveState(dir: string, options: ProofOptions = {}): Promise<StateProof> {
  const sight = await lookAt(dir, options)
  const { snapshot: reading, segments, files } = sight
  // Nothing of format 1 is signed.
  const key = sight.isFormer ? undefined : options.key
  const snapshot = reading.tag === 'sound' ? reading.snapshot : undefined
  const proving = new Proving(sight, snapshot, key)
  const journalFault = await proving.read(options.signal)
  const isOwn = (file: string): boolean => [files.journal, files.dir].includes(dirname(file))
  const inJournal = segments.filter(({ file }) => isOwn(file)).length
  return {
    format: sight.isFormer ? 1 : 2,
    files: segments.length,
    archived: segments.length - inJournal,
    records: proving.records,
    last: proving.last,
    missing: proving.missing,
    macs: macsOf(proving.hasMacs, key),
    tornBytes: proving.tornBytes,
    snapshotSeq: snapshot?.seq,
    journalFault,
    snapshotFault: snapshotFaultOf(sight, proving),
  }
}

function macsOf(hasMacs: boolean | undefined, key: JournalKey | undefined): StateProof['macs'] {
  if (hasMacs !== true) return 'none'
  return key === undefined ? 'unchecked' : 'right'
}

function snapshotFaultOf(
  { snapshot: reading, snapshotFile, segments }: StateSight,
  proving: Proving,
): StateFault | undefined {
  switch (reading.tag) {
    case 'sound':
      return proving.snapshotFault
    case 'foreign':
      return faultOf(reading.error, snapshotFile)
    case 'missing':
      return segments.length === 0 ? undefined : badSnapshot(snapshotFile, 'it is missing')
    case 'damaged':
      return badSnapshot(snapshotFile, reading.detail)
  }
}

function faultOf(error: StateCorruptError | WrongStateError, file: string): StateFault {
  if (error instanceof StateCorruptError) return error
  return { file, detail: error.message, remedy: 'Nothing is wrong with it but that' }
}

function isOfThisVersion({ state }: Snapshot): boolean {
  return fieldsMissingIn(state).length === 0
}

/** One pass over the records: the chain, the fold, and the state at the snapshot's record. */
class Proving {
  readonly #sight: StateSight
  readonly #snapshot: Snapshot | undefined
  readonly #walk: JournalWalk
  readonly #state: DaemonState = emptyState()
  #fold: Fold
  #lastLine: CheckedLine | undefined
  records = 0
  missing: MissingRecords | undefined
  snapshotFault: StateFault | undefined

  constructor(sight: StateSight, snapshot: Snapshot | undefined, key: JournalKey | undefined) {
    this.#sight = sight
    this.#snapshot = snapshot
    this.#fold = new Fold(this.#state, 0)
    this.#walk = new JournalWalk(sight.segments, {
      key,
      start: sight.genesis,
      hasMacs: sight.snapshot.tag === 'sound' ? sight.snapshot.hasMac : undefined,
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

  /** The first fault of the journal, if it has one. */
  async read(signal: AbortSignal | undefined): Promise<StateFault | undefined> {
    const { segments, files } = this.#sight
    const snapshot = this.#snapshot
    try {
      if (segments.length === 0 && this.#sight.snapshot.tag !== 'missing')
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
    this.#fold.take(segments, line)
    this.records += 1
    this.#lastLine = line
    if (seq === snapshot?.seq && this.missing === undefined) this.#compare(snapshot)
  }

  /** Only the oldest may be missing. What follows them cannot be folded from nothing, but from the snapshot on. */
  #miss(missing: MissingRecords): void {
    const { segments, files } = this.#sight
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
    this.#fold = new Fold(this.#state, base?.seq ?? Number.POSITIVE_INFINITY)
  }

  /** One of another version holds something else, and a start makes it anew. */
  #compare(snapshot: Snapshot): void {
    if (this.#sight.isFormer || !isOfThisVersion(snapshot)) return
    const folded = exactParse(exactStringify(imageOf(this.#state)))
    const kept = exactParse(exactStringify(snapshot.state))
    if (isDeepStrictEqual(folded, kept)) return
    this.snapshotFault = badSnapshot(
      this.#sight.snapshotFile,
      `it does not hold what the records up to ${snapshot.seq} come to`,
    )
  }
}
