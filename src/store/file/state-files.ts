import { join } from 'node:path'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { fileSize } from '../../system/durable-file.ts'
import { listSegments, type Segment, withArchive } from './segments.ts'
import { SnapshotFile, type SnapshotReading } from './snapshot.ts'

/** The page's curve of holdings, beside the state. */
export const HOLDINGS_FILE = 'holdings.jsonl'

export type StateFiles = {
  readonly dir: string
  readonly journal: string
  readonly snapshot: string
  /** Work directory of a restore, left behind if the restore is killed. */
  readonly restoring: string
}

export function stateFiles(dir: string): StateFiles {
  return {
    dir,
    journal: join(dir, 'journal'),
    snapshot: join(dir, 'state.json'),
    restoring: join(dir, 'restore.tmp'),
  }
}

export async function holdsState(dir: string): Promise<boolean> {
  const { journal, snapshot } = stateFiles(dir)
  const sizes = await Promise.all([journal, snapshot].map(fileSize))
  return sizes.some((size) => size !== undefined)
}

export type StateListing = {
  readonly files: StateFiles
  readonly snapshot: SnapshotReading
  readonly snapshots: SnapshotFile
  readonly segments: readonly Segment[]
}

type StateFilesOptions = {
  readonly key?: JournalKey | undefined
  readonly archive?: string | undefined
}

/** Reads the snapshot before listing files: a running daemon creates a file before it writes a snapshot of its records. */
export async function listFiles(
  dir: string,
  options: StateFilesOptions = {},
): Promise<StateListing> {
  const files = stateFiles(dir)
  const { key, archive } = options
  const snapshots = new SnapshotFile(files.snapshot, key)
  return {
    files,
    snapshot: await snapshots.read(),
    snapshots,
    segments: await withArchive(await listSegments(files.journal), archive),
  }
}
