import type { JournalRecord } from '../../journal/events/registry.ts'
import { type IndexOptions, JournalIndex } from '../index/journal-index.ts'
import { GENESIS } from './journal-codec.ts'
import { type MissingRecords, readRecords } from './journal-reader.ts'
import type { FoundState } from './journal-recovery.ts'
import { recover, warningsOf } from './journal-recovery.ts'
import { withArchive } from './segments.ts'
import { listFiles } from './state-files.ts'

export type JournalView = FoundState & {
  readonly warnings: readonly string[]
  /** Includes the archive's records if given. Without `onMissing`, missing records are a fault. */
  records(
    onMissing?: (missing: MissingRecords) => void,
    archive?: string | undefined,
  ): AsyncIterable<JournalRecord>
  /** The index of all these records. */
  index(
    on: Pick<IndexOptions, 'madeBy' | 'onMissing'> & { readonly archive: string | undefined },
  ): Promise<JournalIndex>
}

/** Reads beside a running daemon: no lock, no writes, no key, so authorship is not checked. Throws StateCorruptError. */
export async function readJournal(
  dir: string,
  positions?: readonly number[],
): Promise<JournalView> {
  const onDisk = await listFiles(dir)
  const recovered = await recover(onDisk, { positions })
  const { bytes = 0 } = recovered.end ?? {}
  return {
    ...recovered,
    warnings: warningsOf(onDisk, recovered),
    async *records(onMissing, archive) {
      const all = await withArchive(onDisk.segments, archive)
      yield* readRecords(all, { start: GENESIS, bytes, onMissing })
    },
    async index({ archive, ...on }) {
      const segments = await withArchive(onDisk.segments, archive)
      return JournalIndex.open({ ...on, segments, bytes, now: recovered.state })
    },
  }
}
