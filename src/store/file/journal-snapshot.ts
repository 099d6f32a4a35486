import type { JournalRecord } from '../../domain/book/journal.ts'
import type { FoundState } from './journal-file.ts'
import { type MissingRecords, readRecords } from './journal-reader.ts'
import { recover, warningsOf } from './journal-recovery.ts'
import { withArchive } from './segments.ts'
import { lookAt } from './state-files.ts'

/** A journal as it is on disk now, for commands that only look. */
export type JournalView = FoundState & {
  readonly warnings: readonly string[]
  /** Those of an archive too, where one is named. Without `onMissing`, records that are in no file are a fault. */
  records(
    onMissing?: (missing: MissingRecords) => void,
    archive?: string | undefined,
  ): AsyncIterable<JournalRecord>
}

/**
 * Reads beside a running daemon: takes no lock, writes nothing, and needs no key: who wrote the records is not checked.
 * Throws StateCorruptError.
 */
export async function readJournal(
  dir: string,
  positions?: readonly number[],
): Promise<JournalView> {
  const sight = await lookAt(dir)
  const recovered = await recover(sight, { positions })
  const { state, head, hashes, provenFrom, end } = recovered
  const { segments, genesis: start } = sight
  const { bytes = 0 } = end ?? {}
  return {
    state,
    head,
    hashes,
    provenFrom,
    warnings: warningsOf(sight, recovered),
    async *records(onMissing, archive) {
      const all = await withArchive(segments, archive)
      yield* readRecords(all, { start, bytes, onMissing })
    },
  }
}
