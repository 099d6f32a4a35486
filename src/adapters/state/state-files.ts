import { join } from 'node:path'
import type { JournalKey } from '../keys/journal-key.ts'
import { fileSize } from './durable-file.ts'
import { FORMER_GENESIS, GENESIS, type JournalHead } from './journal-codec.ts'
import { listSegments, type Segment, withArchive } from './segments.ts'
import { FORMER_SNAPSHOT_VERSION, readSnapshot, type SnapshotReading } from './snapshot.ts'

export type StateFiles = {
  readonly dir: string
  /** Directory of segments. */
  readonly journal: string
  readonly snapshot: string
  /** The whole journal of format 1. While it is there, it is the journal. */
  readonly former: string
  /** Where the files of format 1 are kept once they were upgraded. */
  readonly formerKept: string
  /** What a restore makes before it puts it in place. A killed one leaves it behind. */
  readonly restoring: string
}

export function stateFiles(dir: string): StateFiles {
  return {
    dir,
    journal: join(dir, 'journal'),
    snapshot: join(dir, 'state.json'),
    former: join(dir, 'journal.jsonl'),
    formerKept: join(dir, 'format-1'),
    restoring: join(dir, 'restore.tmp'),
  }
}

/** Whether anything of a daemon's state is in a directory. */
export async function holdsState(dir: string): Promise<boolean> {
  const { journal, snapshot, former } = stateFiles(dir)
  const sizes = await Promise.all([journal, snapshot, former].map(fileSize))
  return sizes.some((size) => size !== undefined)
}

/** What there is of a daemon's state: its files, of which the snapshot was read. */
export type StateSight = {
  readonly files: StateFiles
  /** Not upgraded yet, or not to the end. */
  readonly isFormer: boolean
  readonly snapshotFile: string
  readonly snapshot: SnapshotReading
  readonly segments: readonly Segment[]
  /** What the first record follows. */
  readonly genesis: JournalHead
}

export type SightOptions = {
  readonly key?: JournalKey | undefined
  /** Where segments were moved to. */
  readonly archive?: string | undefined
}

/**
 * Looks at a state directory. The snapshot is read before the files are listed: a daemon beside this begins a file before
 * it writes a snapshot of what is in it.
 */
export async function lookAt(dir: string, options: SightOptions = {}): Promise<StateSight> {
  const files = stateFiles(dir)
  const { key, archive } = options
  if ((await fileSize(files.former)) !== undefined) return lookAtFormer(files)
  const snapshot = await readSnapshot(files.snapshot, { key })
  const segments = await withArchive(await listSegments(files.journal), archive)
  const snapshotFile = files.snapshot
  return { files, isFormer: false, snapshotFile, snapshot, segments, genesis: GENESIS }
}

/** Nothing of format 1 carries a MAC. An upgrade that was cut short may have replaced the snapshot, and kept the old one. */
async function lookAtFormer(files: StateFiles): Promise<StateSight> {
  const version = FORMER_SNAPSHOT_VERSION
  const kept = join(files.formerKept, 'state.json')
  const there = await readSnapshot(files.snapshot, { version })
  const isReplaced = there.tag !== 'sound' && (await fileSize(kept)) !== undefined
  return {
    files,
    isFormer: true,
    snapshotFile: isReplaced ? kept : files.snapshot,
    snapshot: isReplaced ? await readSnapshot(kept, { version }) : there,
    segments: [{ file: files.former, firstSeq: 1 }],
    genesis: FORMER_GENESIS,
  }
}
