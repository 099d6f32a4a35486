import { emptyState, fieldsMissingIn, restoreState } from '../../domain/book/fields.ts'
import type { DaemonState } from '../../domain/book/state.ts'
import { StateCorruptError, WrongStateError } from '../../domain/errors.ts'
import type { Hex } from '../../domain/units.ts'
import type { JournalKey } from '../keys/journal-key.ts'
import { fileSize, severFile } from './durable-file.ts'
import type { CheckedLine, JournalHead } from './journal-codec.ts'
import { Fold, segmentOf } from './journal-fold.ts'
import { type ChainStart, JournalWalk, placeOf, type WalkEnd } from './journal-reader.ts'
import { listSegments, type Segment, segmentsFrom } from './segments.ts'
import type { Snapshot } from './snapshot.ts'
import { badSnapshot, damagedJournal } from './state-faults.ts'
import { type StateFiles, type StateSight, stateFiles } from './state-files.ts'

/**
 * Cuts off a writer that was overtaken and may still have a write under way: it goes into a file that is no part of the state
 * any more. Only the last one is ever written to.
 */
export async function severJournal(dir: string): Promise<void> {
  const { journal, former } = stateFiles(dir)
  const last = (await listSegments(journal)).at(-1)
  for (const file of [former, last?.file ?? []].flat())
    if ((await fileSize(file)) !== undefined) await severFile(file)
}

/** What the files say, checked as far as they had to be read. */
export type Recovered = {
  readonly state: DaemonState
  readonly head: JournalHead
  /** Of the records that were asked for and are there; record 0 is what the first one follows. */
  readonly hashes: ReadonlyMap<number, Hex>
  /** The first record that this follows the chain from. For those before it the snapshot alone stands. */
  readonly provenFrom: number
  /** Last record in the snapshot; undefined where there is none to go by, and a new one has to be written. */
  readonly snapshotSeq: number | undefined
  /** What is wrong with the snapshot that is there. */
  readonly snapshotFault: string | undefined
  /** The last file of the journal; undefined before a first start has made it. */
  readonly end: WalkEnd | undefined
  /** Whether records, or else the snapshot, carry MACs; undefined while there is neither. */
  readonly hasMacs: boolean | undefined
  /** Of an append that was cut short. */
  readonly tornWarnings: readonly string[]
}

/** What the operator is to know of it. */
export function warningsOf(
  { snapshotFile }: StateSight,
  { snapshotFault, head, tornWarnings }: Recovered,
): readonly string[] {
  if (snapshotFault === undefined) return tornWarnings
  const made = `it was made anew from the journal, which proves whole (${head.seq} records)`
  return [`${snapshotFile}: ${snapshotFault}; ${made}`, ...tornWarnings]
}

export type RecoverOptions = {
  readonly key?: JournalKey | undefined
  /** Records whose hashes are asked for. */
  readonly positions?: readonly number[] | undefined
}

/**
 * Follows a journal from its snapshot on, and writes nothing. A last append that was cut short is left out, with a
 * warning. A snapshot that is damaged or missing is made anew in memory, with a warning, where every record is there and
 * all of them prove. Anything else that is not as it was written throws StateCorruptError (rules G4, T2).
 *
 * A first start makes the empty first segment, then the snapshot of record 0, then the first record. So an empty journal
 * alone is a first start that was cut short; a snapshot alone means that its journal was lost.
 */
export async function recover(
  sight: StateSight,
  { key, positions }: RecoverOptions = {},
): Promise<Recovered> {
  const { snapshot: reading, files } = sight
  switch (reading.tag) {
    case 'foreign':
      throw reading.error
    case 'sound': {
      requireJournal(sight)
      const { snapshot } = reading
      const lacking = fieldsMissingIn(snapshot.state)
      if (lacking.length === 0) return replay(sight, { ...reading, key, positions })
      const fault = `another version made it, without ${lacking.join(', ')}`
      return recoverFromJournal(sight, { key, positions, fault, atLeast: snapshot })
    }
    case 'missing':
      if (await isUnused(sight.segments)) return untouched(sight)
      return recoverFromJournal(sight, {
        key,
        positions,
        fault: 'it is missing although there is a journal',
      })
    case 'damaged':
      if (sight.segments.length === 0) throw journalMissing(files.journal)
      return recoverFromJournal(sight, { key, positions, fault: reading.detail })
  }
}

function requireJournal({ segments, files }: StateSight): void {
  if (segments.length === 0) throw journalMissing(files.journal)
}

function journalMissing(file: string): StateCorruptError {
  return damagedJournal(file, 'it is missing although there is a state.json')
}

/** Nothing was ever written, or no more than the file that a first start makes first. */
async function isUnused(segments: readonly Segment[]): Promise<boolean> {
  const [first, ...others] = segments
  if (first === undefined) return true
  return others.length === 0 && first.firstSeq === 1 && (await fileSize(first.file)) === 0
}

function untouched({ segments, genesis }: StateSight): Recovered {
  const [segment] = segments
  return {
    state: emptyState(),
    head: genesis,
    hashes: new Map([[genesis.seq, genesis.hash]]),
    provenFrom: 1,
    snapshotSeq: undefined,
    snapshotFault: undefined,
    end: segment && { segment, bytes: 0, fileBytes: 0 },
    hasMacs: undefined,
    tornWarnings: [],
  }
}

type ReplayFrom = RecoverOptions & { readonly snapshot: Snapshot; readonly hasMac: boolean }

/** From a sound snapshot, and of the journal only the files from its record on, or from the oldest that was asked for. */
async function replay(sight: StateSight, from: ReplayFrom): Promise<Recovered> {
  const { files, genesis } = sight
  const { snapshot, hasMac: hasMacs, key, positions = [] } = from
  if (snapshot.seq === 0 && snapshot.hash !== genesis.hash)
    throw badSnapshot(sight.snapshotFile, 'line 1 belongs to another format of the journal')
  const segments = segmentsFrom(sight.segments, snapshot.seq)
  const first = segments?.[0]
  if (segments === undefined || first === undefined)
    throw damagedJournal(
      files.journal,
      `the file with record ${snapshot.seq}, up to which state.json goes, is missing`,
    )
  const before = first.firstSeq - 1
  const earlier = await followTo(first, sight, from)
  const hashes = new Map([...earlier.hashes, [genesis.seq, genesis.hash]])
  note(hashes, snapshot, positions)
  const known = [genesis, snapshot, earlier.head].find(({ seq }) => seq === before)
  const walk = new JournalWalk(segments, {
    key,
    start: { seq: before, hash: known?.hash },
    hasMacs,
  })
  const state = emptyState()
  restoreState(state, snapshot.state)
  const fold = new Fold(state, snapshot.seq)
  for await (const lines of walk.lines()) {
    for (const line of lines) {
      requireSameHistory(segments, line, snapshot)
      note(hashes, line.head, positions)
      fold.take(segments, line)
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
    end,
    hasMacs,
    tornWarnings: tornWarningsOf(end, seq),
  }
}

/** Keeps the hash of a record that was asked for. */
function note(
  hashes: Map<number, Hex>,
  { seq, hash }: JournalHead,
  positions: readonly number[],
): void {
  if (positions.includes(seq)) hashes.set(seq, hash)
}

/**
 * Follows the files before the one that a start reads first, from the oldest record on whose hash is asked for: what the
 * anchor of a wallet names is proven only by the chain from there to the snapshot. Files that were moved away are no fault;
 * then it is followed from the first on after which none is missing.
 */
async function followTo(
  { firstSeq }: Segment,
  { segments, genesis }: StateSight,
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
    start: { seq: start, hash: start === genesis.seq ? genesis.hash : undefined },
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

/** Throws for a record that has the number of the one that state.json was made from, and is another. */
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

/**
 * With a snapshot that nobody believes: everything follows from the journal. Throws where that does not prove whole.
 * `fault` says what is wrong with the snapshot.
 */
export async function recoverFromJournal(
  sight: StateSight,
  options: {
    readonly key: JournalKey | undefined
    readonly fault: string
    readonly positions?: RecoverOptions['positions']
    /** A record that has to be among those of the journal. */
    readonly atLeast?: JournalHead
  },
): Promise<Recovered> {
  const { key, fault, atLeast, positions = [] } = options
  const { segments, genesis, snapshotFile } = sight
  requireJournal(sight)
  requireFirst(sight, fault)
  const state = emptyState()
  const walk = new JournalWalk(segments, { key, start: genesis })
  const hashes = new Map([[genesis.seq, genesis.hash]])
  const fold = new Fold(state, 0)
  try {
    for await (const lines of walk.lines()) {
      for (const line of lines) {
        if (atLeast !== undefined) requireSameHistory(segments, line, atLeast)
        note(hashes, line.head, positions)
        fold.take(segments, line)
      }
    }
  } catch (error) {
    if (!(error instanceof StateCorruptError)) throw error
    const { file, detail, remedy } = error
    throw new StateCorruptError({
      file: snapshotFile,
      detail: `${fault}, and the journal does not prove whole: ${file}: ${detail}`,
      remedy,
    })
  }
  const { head, end, hasMacs } = walk
  if (head.hash === undefined || end === undefined) throw journalMissing(sight.files.journal)
  if (atLeast !== undefined && head.seq < atLeast.seq) throw journalCut(end, head.seq, atLeast.seq)
  return {
    state,
    head: { seq: head.seq, hash: head.hash },
    hashes,
    provenFrom: 1,
    snapshotSeq: undefined,
    snapshotFault: fault,
    end,
    hasMacs,
    tornWarnings: tornWarningsOf(end, head.seq),
  }
}

/** Lines with and without a MAC in one journal would be a forgery to the next who reads it. */
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

function requireFirst({ segments, files, snapshotFile }: StateSight, fault: string): void {
  const firstSeq = segments[0]?.firstSeq ?? 1
  if (firstSeq === 1) return
  throw new StateCorruptError({
    file: snapshotFile,
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
