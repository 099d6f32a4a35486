import { describeAll } from '../../journal/describe.ts'
import type { ReadRecord } from '../../journal/events/registry.ts'
import type { Journal } from '../../ports.ts'
import { inSlices } from '../../system/slices.ts'

/**
 * Records after one, oldest first. Reading starts at the file before the one that holds the record: an order that began earlier is
 * described without its amounts.
 */
export async function* recordsAfter(
  journal: Pick<Journal, 'records' | 'state'>,
  seq: number,
): AsyncGenerator<ReadRecord> {
  const read = describeAll(journal.records({ seq: seq + 1 }), journal.state)
  for await (const each of inSlices(read)) {
    if (each.record.seq > seq) yield each
  }
}
