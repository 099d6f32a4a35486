import { imageOf } from '../../../domain/book/fields.ts'
import { StateCorruptError } from '../../../domain/errors.ts'
import type { JournalKey } from '../../keys/journal-key.ts'
import { recoverFromJournal, requireSameAuthor } from '../journal-recovery.ts'
import { keepDamaged, SnapshotFile } from '../snapshot.ts'
import { lookAt } from '../state-files.ts'

export type Rebuilt = {
  /** Records that state.json was made from. */
  readonly records: number
  /** The one that was there, where it could not be believed; undefined where there was none, or it was sound. */
  readonly kept: string | undefined
}

/**
 * Makes state.json anew from every record of a journal that proves whole. The caller holds the lock. Throws
 * StateCorruptError where the journal does not prove, or is shorter than a sound state.json says.
 */
export async function rebuildSnapshot(
  dir: string,
  options: {
    readonly key: JournalKey | undefined
    readonly archive?: string | undefined
    readonly nowMs: number
  },
): Promise<Rebuilt> {
  const { key, archive, nowMs } = options
  const sight = await lookAt(dir, { key, archive })
  const { files, snapshot } = sight
  if (sight.isFormer)
    throw new StateCorruptError({
      file: files.former,
      detail: 'it is a journal of format 1',
      remedy: 'A start of the daemon upgrades it, and makes state.json anew with that',
    })
  const recovered = await recoverFromJournal(sight, {
    key,
    fault: 'it is to be made anew',
    // A sound one proves how long the journal was at least; that is not to be forgotten.
    ...(snapshot.tag === 'sound' ? { atLeast: snapshot.snapshot } : {}),
  })
  requireSameAuthor(files, recovered, key)
  const isKept = snapshot.tag === 'damaged' || snapshot.tag === 'foreign'
  if (isKept) await keepDamaged(files.snapshot)
  const { head, state } = recovered
  const made = { ...head, atMs: nowMs, state: imageOf(state) }
  await new SnapshotFile(files.snapshot, key).write(made)
  return { records: head.seq, kept: isKept ? `${files.snapshot}.damaged` : undefined }
}
