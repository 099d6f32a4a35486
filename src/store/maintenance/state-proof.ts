import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type OperatorError, StateCorruptError, type StateFault } from '../../domain/errors.ts'
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
import type { Snapshot } from '../file/snapshot.ts'
import { badSnapshot, damagedJournal } from '../file/state-faults.ts'
import { listFiles, type StateListing } from '../file/state-files.ts'
import { unfitSideFiles } from '../index/side-file.ts'

/** The proof of a state directory, from its first available record to the last. */
export type StateProof = {
  readonly format: 1 | 2
  readonly files: number
  readonly archived: number
  readonly records: number
  readonly last: { readonly seq: number; readonly hash: Hex; readonly atMs: number } | undefined
  /** Records without a file; always the oldest ones. */
  readonly missing: MissingRecords | undefined
  /** MACs of the records: all valid, not checked without a key, or absent. */
  readonly macs: 'right' | 'unchecked' | 'none'
  /** Bytes of a torn append; a daemon may be writing it. */
  readonly tornBytes: number
  /** Last record in state.json; undefined if unreadable. */
  readonly snapshotSeq: number | undefined
  readonly journalFault: StateFault | undefined
  readonly snapshotFault: StateFault | undefined
  /** No fault: nothing depends on them. */
  readonly unfitSideFiles: readonly string[]
}

/** True if the available part has no fault; it may be incomplete. */
export function isSound({ journalFault, snapshotFault }: StateProof): boolean {
  return journalFault === undefined && snapshotFault === undefined
}

/** True if all records that state.json is made from are present and valid. */
export function provesWhole({ journalFault, missing, files }: StateProof): boolean {
  return files > 0 && journalFault === undefined && missing === undefined
}

type ProofOptions = {
  /** Without a key only the structure is checked. */
  readonly key?: JournalKey | undefined
  readonly archive?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** Verifies every record of a state directory, and state.json against them. Writes nothing; safe beside a daemon. */
export async function proveState(dir: string, options: ProofOptions = {}): Promise<StateProof> {
  const onDisk = await listFiles(dir, options)
  const { snapshot: reading, segments, files } = onDisk
  const proved = await proveRecords(onDisk, options)
  const isOwn = (file: string): boolean => [files.journal, files.dir].includes(dirname(file))
  const inJournal = segments.filter(({ file }) => isOwn(file)).length
  return {
    format: 2,
    files: segments.length,
    archived: segments.length - inJournal,
    ...proved,
    snapshotSeq: reading.tag === 'sound' ? reading.snapshot.seq : undefined,
    snapshotFault: snapshotFaultOf(onDisk, proved.snapshotFault),
    unfitSideFiles: await unfitSideFiles(segments, options.key),
  }
}

function macsOf(hasMacs: boolean | undefined, key: JournalKey | undefined): StateProof['macs'] {
  if (hasMacs !== true) return 'none'
  return key === undefined ? 'unchecked' : 'right'
}

function snapshotFaultOf(
  { snapshot: reading, files, segments }: StateListing,
  proved: StateFault | undefined,
): StateFault | undefined {
  switch (reading.tag) {
    case 'sound':
      return proved
    case 'foreign':
      return faultOf(reading.error, files.snapshot)
    case 'missing':
      return segments.length === 0 ? undefined : badSnapshot(files.snapshot, 'it is missing')
    case 'damaged':
      return badSnapshot(files.snapshot, reading.detail)
  }
}

function faultOf(error: OperatorError, file: string): StateFault {
  if (error instanceof StateCorruptError) return error
  return { file, detail: error.message, remedy: 'Nothing is wrong with it but that' }
}

function isOfThisVersion({ state }: Snapshot): boolean {
  return fieldsMissingIn(state).length === 0
}

/** One pass over the records: the chain, the state, and the state at the snapshot's record. */
async function proveRecords(
  { snapshot: reading, segments, files }: StateListing,
  { key, signal }: ProofOptions,
) {
  const sound = reading.tag === 'sound' ? reading : undefined
  const snapshot = sound?.snapshot
  const state = emptyState()
  let replay = new Replay(state, 0)
  let lastLine: CheckedLine | undefined
  let records = 0
  let missing: MissingRecords | undefined
  let snapshotFault: StateFault | undefined

  /** Only the oldest records may be missing. Later ones are then applied from the snapshot on. */
  const miss = ({ from, to }: MissingRecords): void => {
    if (from !== 1)
      throw damagedJournal(
        segments.find(({ firstSeq }) => firstSeq === to + 1)?.file ?? files.journal,
        `the file before it is not here: records ${from} to ${to} are missing`,
      )
    missing = { from, to }
    if (snapshot !== undefined && snapshot.seq < to)
      throw damagedJournal(
        files.journal,
        `records ${snapshot.seq + 1} to ${to} are missing, and state.json goes up to ${snapshot.seq}`,
      )
    const base = snapshot !== undefined && isOfThisVersion(snapshot) ? snapshot : undefined
    if (base !== undefined) restoreState(state, base.state)
    replay = new Replay(state, base?.seq ?? Number.POSITIVE_INFINITY)
  }
  const walk = new JournalWalk(segments, {
    key,
    start: GENESIS,
    hasMacs: sound?.hasMac,
    onMissing: miss,
  })
  const take = (line: CheckedLine): void => {
    if (snapshot !== undefined) requireSameHistory(segments, line, snapshot)
    replay.take(segments, line)
    records += 1
    lastLine = line
    if (line.head.seq !== snapshot?.seq || missing !== undefined || holds(snapshot, state)) return
    const detail = `it does not hold what the records up to ${snapshot.seq} come to`
    snapshotFault = badSnapshot(files.snapshot, detail)
  }
  const readAll = async (): Promise<void> => {
    if (segments.length === 0 && reading.tag !== 'missing')
      throw damagedJournal(files.journal, 'it is missing although there is a state.json')
    for await (const lines of walk.lines()) {
      signal?.throwIfAborted()
      for (const line of lines) take(line)
    }
    const { seq } = walk.head
    if (snapshot !== undefined && seq < snapshot.seq)
      throw damagedJournal(
        walk.end?.segment.file ?? files.journal,
        `it ends after record ${seq}, but state.json goes up to record ${snapshot.seq}`,
      )
  }
  const journalFault = await readAll().catch((error: unknown): StateFault => {
    if (error instanceof StateCorruptError) return error
    throw error
  })
  const { bytes = 0, fileBytes = 0 } = walk.end ?? {}
  const last = lastLine && decodeRecord(lastLine.line)
  return {
    records,
    last: last && { seq: last.seq, hash: last.hash, atMs: last.atMs },
    missing,
    macs: macsOf(walk.hasMacs, key),
    tornBytes: fileBytes - bytes,
    journalFault: journalFault ?? undefined,
    snapshotFault,
  }
}

/** Compares the snapshot with the state. Another version's snapshot has other fields, and a start rebuilds it. */
function holds(snapshot: Snapshot, state: DaemonState): boolean {
  if (!isOfThisVersion(snapshot)) return true
  const folded = exactParse(exactStringify(imageOf(state)))
  const kept = exactParse(exactStringify(snapshot.state))
  return isDeepStrictEqual(folded, kept)
}
