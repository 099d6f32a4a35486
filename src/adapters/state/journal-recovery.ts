import { join } from 'node:path'
import { emptyState, restoreState } from '../../domain/book/fields.ts'
import { applyEvent } from '../../domain/book/fold.ts'
import type { JournalRecord } from '../../domain/book/journal.ts'
import type { DaemonState } from '../../domain/book/state.ts'
import { fileSize } from './durable-file.ts'
import { type CheckedLine, decodeRecord, GENESIS, type JournalHead } from './journal-codec.ts'
import { badLine, ChainReader, corrupt, readChunks } from './journal-reader.ts'
import { type Snapshot, SnapshotFile } from './snapshot.ts'

export type StateFiles = { readonly journal: string; readonly snapshot: string }

export function stateFiles(dir: string): StateFiles {
  return { journal: join(dir, 'journal.jsonl'), snapshot: join(dir, 'state.json') }
}

/** What the files say, checked from the first byte to the last. */
export type Recovered = {
  readonly state: DaemonState
  readonly head: JournalHead
  /** Last record in the snapshot; undefined while there is no snapshot. */
  readonly snapshotSeq: number | undefined
  /** Length of the journal's complete appends. */
  readonly bytes: number
  /** Length of the whole file; more than `bytes` if its last append was cut short. Undefined without a file. */
  readonly fileBytes: number | undefined
  readonly warnings: readonly string[]
}

/**
 * Reads the state directory without writing to it. A last append that was cut short is left out, with a warning.
 * Anything else that is not as it was written throws StateCorruptError (rule G4).
 *
 * A first start makes the empty journal, then the snapshot of record 0, then the first record. So an empty journal
 * alone is a first start that was cut short; any other file alone means that its companion was lost.
 */
export async function recover(files: StateFiles): Promise<Recovered> {
  // In this order, because a daemon that starts meanwhile makes them in the other.
  const snapshotThere = (await fileSize(files.snapshot)) !== undefined
  const fileBytes = await fileSize(files.journal)
  if (snapshotThere && fileBytes === undefined)
    throw corrupt(files.journal, 'it is missing although there is a state.json')
  if (snapshotThere || (fileBytes ?? 0) > 0) return replayFiles(files)
  return {
    state: emptyState(),
    head: GENESIS,
    snapshotSeq: undefined,
    bytes: 0,
    fileBytes,
    warnings: [],
  }
}

async function replayFiles(files: StateFiles): Promise<Recovered> {
  const snapshot = await new SnapshotFile(files.snapshot).read()
  const reader = new ChainReader(files.journal)
  const replay = new Replay(files, snapshot)
  let fileBytes = 0
  for await (const chunk of readChunks(files.journal)) {
    fileBytes += chunk.length
    for (const line of reader.push(chunk)) replay.take(line)
  }
  const { head, bytes } = reader
  if (head.seq < snapshot.seq)
    throw corrupt(
      files.journal,
      `it ends after line ${head.seq}, but state.json goes up to record ${snapshot.seq}`,
    )
  const torn = fileBytes - bytes
  const warnings =
    torn > 0
      ? [
          `${files.journal}: the append after line ${head.seq} was cut short (${torn} bytes left out)`,
        ]
      : []
  return { state: replay.state, head, snapshotSeq: snapshot.seq, bytes, fileBytes, warnings }
}

/** Folds the records after a snapshot into its state, one complete append at a time. */
class Replay {
  readonly state = emptyState()
  readonly #files: StateFiles
  readonly #snapshot: Snapshot
  #unfinished: JournalRecord[] = []

  constructor(files: StateFiles, snapshot: Snapshot) {
    this.#files = files
    this.#snapshot = snapshot
    if (snapshot.seq === 0 && snapshot.hash !== GENESIS.hash)
      throw corrupt(files.snapshot, 'line 1 belongs to another format of the journal')
    restoreState(this.state, snapshot.state)
  }

  take({ head, line, more }: CheckedLine): void {
    if (head.seq === this.#snapshot.seq && head.hash !== this.#snapshot.hash)
      throw badLine(
        this.#files.journal,
        head.seq,
        'is not the record that state.json was made from',
      )
    if (head.seq <= this.#snapshot.seq) return
    try {
      this.#unfinished.push(decodeRecord(line))
      if (more) return
      for (const { event, atMs } of this.#unfinished) applyEvent(this.state, event, atMs)
    } catch (error) {
      // The line is as it was written, so what cannot be applied comes from another version or another fold.
      const detail = error instanceof Error ? error.message : String(error)
      throw badLine(this.#files.journal, head.seq, `does not fit the records before it: ${detail}`)
    }
    this.#unfinished = []
  }
}
