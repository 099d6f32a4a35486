import { StateCorruptError, WrongStateError } from '../../domain/errors.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import { emptyState, fieldsMissingIn, restoreState } from '../../journal/state/state-image.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { fileSize, severFile } from '../../system/durable-file.ts'
import { type CheckedLine, GENESIS, type JournalHead } from './journal-codec.ts'
import { type ChainStart, JournalWalk, placeOf, type WalkEnd } from './journal-reader.ts'
import { Replay, segmentOf } from './journal-replay.ts'
import { listSegments, type Segment, segmentsFrom } from './segments.ts'
import type { Snapshot } from './snapshot.ts'
import { badSnapshot, damagedJournal } from './state-faults.ts'
import { type StateFiles, type StateListing, stateFiles } from './state-files.ts'

/** Cuts off an overtaken writer: its pending write goes to a file outside the state. */
export async function severJournal(dir: string): Promise<void> {
  const last = (await listSegments(stateFiles(dir).journal)).at(-1)
  if (last !== undefined) await severFile(last.file)
}

export type Recovered = {
  readonly state: DaemonState
  readonly head: JournalHead
  /** Hashes of the requested records that exist; record 0 is the genesis. */
  readonly hashes: ReadonlyMap<number, Hex>
  /** The first record from which the chain is verified. Earlier ones rest on the snapshot alone. */
  readonly provenFrom: number
  /** Last record in the snapshot; undefined if it is unusable and a new one must be written. */
  readonly snapshotSeq: number | undefined
  readonly snapshotFault: string | undefined
  /** When journal or snapshot were last written, epoch ms; undefined before the first record. */
  readonly lastSeenMs: number | undefined
  /** The last journal file; undefined before the first start creates it. */
  readonly end: WalkEnd | undefined
  /** True if records, or otherwise the snapshot, have MACs; undefined without either. */
  readonly hasMacs: boolean | undefined
  readonly tornWarnings: readonly string[]
}

export type FoundState = Pick<Recovered, 'state' | 'head' | 'hashes' | 'provenFrom'>

export function warningsOf(
  { files }: StateListing,
  { snapshotFault, head, tornWarnings }: Recovered,
): readonly string[] {
  if (snapshotFault === undefined) return tornWarnings
  const made = `it was made anew from the journal, which proves whole (${head.seq} records)`
  return [`${files.snapshot}: ${snapshotFault}; ${made}`, ...tornWarnings]
}

/** Without its file, the hash chain cannot verify a record. */
export function unprovenWarnings(
  { journal }: StateFiles,
  { provenFrom, head }: Recovered,
  positions: readonly number[] = [],
): readonly string[] {
  return [...new Set(positions)]
    .filter((seq) => seq > 0 && seq < provenFrom && seq <= head.seq)
    .map(
      (seq) =>
        `record ${seq}, up to which an anchor says that this state was signed with, is not in ${journal} (moved to an archive?): that it is the same is taken from the length of the journal alone`,
    )
}

type RecoverOptions = {
  readonly key?: JournalKey | undefined
  readonly positions?: readonly number[] | undefined
}

/**
 * Replays a journal from its snapshot; writes nothing. A torn last append is dropped with a warning. A damaged or missing
 * snapshot is rebuilt in memory, with a warning, if all records exist and are valid. Throws StateCorruptError for any other
 * damage (rules G4, T2).
 *
 * A first start creates the empty first segment, then the snapshot of record 0, then the first record. So an empty journal
 * alone is an interrupted first start, and a snapshot alone means that its journal was lost.
 */
export async function recover(
  onDisk: StateListing,
  { key, positions }: RecoverOptions = {},
): Promise<Recovered> {
  const { snapshot: reading, files } = onDisk
  switch (reading.tag) {
    case 'foreign':
      throw reading.error
    case 'sound': {
      requireJournal(onDisk)
      const { snapshot } = reading
      const lacking = fieldsMissingIn(snapshot.state)
      if (lacking.length === 0) return replay(onDisk, { ...reading, key, positions })
      const fault = `another version made it, without ${lacking.join(', ')}`
      return recoverFromJournal(onDisk, { key, positions, fault, atLeast: snapshot })
    }
    case 'missing':
      if (await isUnused(onDisk.segments)) return untouched(onDisk)
      return recoverFromJournal(onDisk, {
        key,
        positions,
        fault: 'it is missing although there is a journal',
      })
    case 'damaged':
      if (onDisk.segments.length === 0) throw journalMissing(files.journal)
      return recoverFromJournal(onDisk, { key, positions, fault: reading.detail })
  }
}

function requireJournal({ segments, files }: StateListing): void {
  if (segments.length === 0) throw journalMissing(files.journal)
}

function journalMissing(file: string): StateCorruptError {
  return damagedJournal(file, 'it is missing although there is a state.json')
}

/** True if nothing was ever written, or only the file that a first start creates first. */
async function isUnused(segments: readonly Segment[]): Promise<boolean> {
  const [first, ...others] = segments
  if (first === undefined) return true
  return others.length === 0 && first.firstSeq === 1 && (await fileSize(first.file)) === 0
}

function untouched({ segments }: StateListing): Recovered {
  const [segment] = segments
  return {
    state: emptyState(),
    head: GENESIS,
    hashes: new Map([[GENESIS.seq, GENESIS.hash]]),
    provenFrom: 1,
    snapshotSeq: undefined,
    snapshotFault: undefined,
    lastSeenMs: undefined,
    end: segment && { segment, bytes: 0, fileBytes: 0 },
    hasMacs: undefined,
    tornWarnings: [],
  }
}

type ReplayFrom = RecoverOptions & { readonly snapshot: Snapshot; readonly hasMac: boolean }

/** Replays from a sound snapshot. Reads only files from its record on, or from the oldest requested record on. */
async function replay(onDisk: StateListing, from: ReplayFrom): Promise<Recovered> {
  const { files } = onDisk
  const { snapshot, hasMac: hasMacs, key, positions = [] } = from
  if (snapshot.seq === 0 && snapshot.hash !== GENESIS.hash)
    throw badSnapshot(onDisk.files.snapshot, 'line 1 belongs to another format of the journal')
  const segments = segmentsFrom(onDisk.segments, snapshot.seq)
  const first = segments?.[0]
  if (segments === undefined || first === undefined)
    throw damagedJournal(
      files.journal,
      `the file with record ${snapshot.seq}, up to which state.json goes, is missing`,
    )
  const before = first.firstSeq - 1
  const earlier = await followTo(first, onDisk, from)
  const hashes = new Map([...earlier.hashes, [GENESIS.seq, GENESIS.hash]])
  note(hashes, snapshot, positions)
  const known = [GENESIS, snapshot, earlier.head].find(({ seq }) => seq === before)
  const walk = new JournalWalk(segments, {
    key,
    start: { seq: before, hash: known?.hash },
    hasMacs,
  })
  const state = emptyState()
  restoreState(state, snapshot.state)
  const replay = new Replay(state, snapshot.seq)
  for await (const lines of walk.lines()) {
    for (const line of lines) {
      requireSameHistory(segments, line, snapshot)
      note(hashes, line.head, positions)
      replay.take(segments, line)
    }
  }
  const { seq, hash } = walk.head
  const { end } = walk
  if (end !== undefined && seq < snapshot.seq) throw journalCut(end, seq, snapshot.seq)
  if (end === undefined || hash === undefined) throw journalMissing(files.journal)
  return {
    state,
    head: { seq, hash },
    hashes,
    provenFrom: earlier.from,
    snapshotSeq: snapshot.seq,
    snapshotFault: undefined,
    lastSeenMs: Math.max(snapshot.atMs, replay.lastAtMs ?? 0),
    end,
    hasMacs,
    tornWarnings: tornWarningsOf(end, seq),
  }
}

function note(
  hashes: Map<number, Hex>,
  { seq, hash }: JournalHead,
  positions: readonly number[],
): void {
  if (positions.includes(seq)) hashes.set(seq, hash)
}

/**
 * Verifies earlier files from the oldest requested record on: only the chain from there to the snapshot proves an anchor's
 * record. Archived files are no fault; the walk then begins after the last missing one.
 */
async function followTo(
  { firstSeq }: Segment,
  { segments }: StateListing,
  { key, hasMac: hasMacs, positions = [] }: ReplayFrom,
): Promise<{
  readonly hashes: Map<number, Hex>
  readonly head: ChainStart
  readonly from: number
}> {
  const oldest = Math.min(...positions.filter((seq) => seq > 0))
  const before = segments.filter((segment) => segment.firstSeq < firstSeq)
  const files = oldest < firstSeq ? (segmentsFrom(before, oldest) ?? before) : []
  const start = (files[0]?.firstSeq ?? firstSeq) - 1
  const hashes = new Map<number, Hex>()
  let from = start + 1
  const walk = new JournalWalk(files, {
    key,
    start: { seq: start, hash: start === GENESIS.seq ? GENESIS.hash : undefined },
    hasMacs,
    onMissing({ to }) {
      hashes.clear()
      from = to + 1
    },
  })
  for await (const lines of walk.lines()) {
    for (const { head } of lines) note(hashes, head, positions)
  }
  const { head, end } = walk
  if (end !== undefined && end.fileBytes !== end.bytes)
    throw damagedJournal(
      end.segment.file,
      `it ends in the middle of the append after ${placeOf(end.segment, head.seq)}, and there is a later file`,
    )
  if (head.seq === firstSeq - 1) return { hashes, head, from }
  return { hashes: new Map(), head, from: firstSeq }
}

/** Throws if the snapshot's record number holds a different record. */
export function requireSameHistory(
  segments: readonly Segment[],
  { head: { seq, hash } }: CheckedLine,
  snapshot: JournalHead,
): void {
  if (seq !== snapshot.seq || hash === snapshot.hash) return
  const segment = segmentOf(segments, seq)
  throw damagedJournal(
    segment.file,
    `${placeOf(segment, seq)} is not the record that state.json was made from`,
  )
}

function journalCut({ segment }: WalkEnd, seq: number, snapshotSeq: number): StateCorruptError {
  return damagedJournal(
    segment.file,
    `it ends after record ${seq}, but state.json goes up to record ${snapshotSeq}`,
  )
}

/** Ignores the snapshot. Throws unless the journal is complete and valid. `fault` is the snapshot's fault. */
export async function recoverFromJournal(
  onDisk: StateListing,
  options: {
    readonly key: JournalKey | undefined
    readonly fault: string
    readonly positions?: RecoverOptions['positions']
    /** A record that the journal must contain. */
    readonly atLeast?: JournalHead
  },
): Promise<Recovered> {
  const { key, fault, atLeast, positions = [] } = options
  const { segments, files } = onDisk
  requireJournal(onDisk)
  requireFirst(onDisk, fault)
  const state = emptyState()
  const walk = new JournalWalk(segments, { key, start: GENESIS })
  const hashes = new Map([[GENESIS.seq, GENESIS.hash]])
  const replay = new Replay(state, 0)
  try {
    for await (const lines of walk.lines()) {
      for (const line of lines) {
        if (atLeast !== undefined) requireSameHistory(segments, line, atLeast)
        note(hashes, line.head, positions)
        replay.take(segments, line)
      }
    }
  } catch (error) {
    if (!(error instanceof StateCorruptError)) throw error
    const { file, detail, remedy } = error
    throw new StateCorruptError({
      file: files.snapshot,
      detail: `${fault}, and the journal does not prove whole: ${file}: ${detail}`,
      remedy,
    })
  }
  const { head, end, hasMacs } = walk
  if (head.hash === undefined || end === undefined) throw journalMissing(onDisk.files.journal)
  if (atLeast !== undefined && head.seq < atLeast.seq) throw journalCut(end, head.seq, atLeast.seq)
  return {
    state,
    head: { seq: head.seq, hash: head.hash },
    hashes,
    provenFrom: 1,
    snapshotSeq: undefined,
    snapshotFault: fault,
    lastSeenMs: replay.lastAtMs,
    end,
    hasMacs,
    tornWarnings: tornWarningsOf(end, head.seq),
  }
}

/** Lines with and without a MAC in one journal would look like a forgery to the next reader. */
export function requireSameAuthor(
  files: StateFiles,
  { hasMacs, state }: Recovered,
  key: JournalKey | undefined,
): void {
  if (key !== undefined || hasMacs !== true) return
  throw new WrongStateError(
    `${files.dir}: the state directory belongs to a daemon in mode ${state.bound?.mode ?? 'live'}, whose records carry a MAC; this one signs nothing and has no key: use another stateDir`,
  )
}

function requireFirst({ segments, files }: StateListing, fault: string): void {
  const firstSeq = segments[0]?.firstSeq ?? 1
  if (firstSeq === 1) return
  throw new StateCorruptError({
    file: files.snapshot,
    detail: `${fault}, and it takes every record to make it anew: 1 to ${firstSeq - 1} are not in ${files.journal}`,
    remedy:
      'Where they were moved to an archive, `tranched state rebuild --archive DIR` reads them there and loses nothing',
  })
}

function tornWarningsOf({ segment, bytes, fileBytes }: WalkEnd, seq: number): readonly string[] {
  const torn = fileBytes - bytes
  if (torn === 0) return []
  const after = seq < segment.firstSeq ? `record ${seq}` : placeOf(segment, seq)
  return [`${segment.file}: the append after ${after} was cut short (${torn} bytes left out)`]
}
