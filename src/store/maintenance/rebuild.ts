import { rm } from 'node:fs/promises'
import { imageOf } from '../../journal/state/state-image.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { recoverFromJournal, requireSameAuthor } from '../file/journal-recovery.ts'
import { sideFileOf } from '../file/segments.ts'
import { keepDamaged } from '../file/snapshot.ts'
import { listFiles } from '../file/state-files.ts'
import { type BuildOptions, buildIndex } from '../index/build-index.ts'

/**
 * Rebuilds state.json and the side files; the caller holds the lock. Throws StateCorruptError for a journal that is invalid or shorter than a
 * sound state.json proves.
 */
export async function rebuildSnapshot(
  dir: string,
  options: {
    readonly key: JournalKey | undefined
    readonly archive?: string | undefined
    readonly nowMs: number
  } & Pick<BuildOptions, 'valueToken' | 'madeBy'>,
) {
  const { key, archive, nowMs, valueToken, madeBy } = options
  const onDisk = await listFiles(dir, { key, archive })
  const { files, snapshot, snapshots } = onDisk
  const recovered = await recoverFromJournal(onDisk, {
    key,
    fault: 'it is to be made anew',
    // A sound snapshot proves a minimum length of the journal, which must be kept.
    ...(snapshot.tag === 'sound' ? { atLeast: snapshot.snapshot } : {}),
  })
  requireSameAuthor(files, recovered, key)
  const isKept = snapshot.tag === 'damaged' || snapshot.tag === 'foreign'
  if (isKept) await keepDamaged(files.snapshot)
  const { head, state } = recovered
  await snapshots.write({ ...head, atMs: nowMs, state: imageOf(state) })
  const { segments } = onDisk
  for (const { file } of segments) await rm(sideFileOf(file), { force: true })
  const index = { segments, bytes: recovered.end?.bytes ?? 0, now: state, key }
  const rest = async (): Promise<void> => undefined
  return {
    records: head.seq,
    /** Number of journal files indexed anew. */
    indexed: await buildIndex({ ...index, valueToken, madeBy, rest }),
    /** Path of the unusable previous file; undefined if it was sound or missing. */
    kept: isKept ? `${files.snapshot}.damaged` : undefined,
  }
}
