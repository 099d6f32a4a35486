import { setImmediate } from 'node:timers/promises'
import { describeAll } from '../../journal/describe.ts'
import type { ReadRecord } from '../../journal/events/registry.ts'
import type { Journal } from '../../ports.ts'

const SLICE_MS = 4

/** Yields to orders whenever reading and handling took a few milliseconds. */
export async function* inSlices<Item>(
  items: AsyncIterable<Item>,
  rest: () => Promise<unknown>,
): AsyncGenerator<Item> {
  let sinceMs = performance.now()
  for await (const item of items) {
    yield item
    if (performance.now() - sinceMs < SLICE_MS) continue
    await rest()
    sinceMs = performance.now()
  }
}

/**
 * Records after one, oldest first. Reading starts at the file before the one that holds the record: an order that began earlier is
 * described without its amounts.
 */
export async function* recordsAfter(
  journal: Pick<Journal, 'records' | 'state'>,
  seq: number,
): AsyncGenerator<ReadRecord> {
  const read = describeAll(journal.records({ seq: seq + 1 }), journal.state)
  for await (const each of inSlices(read, () => setImmediate())) {
    if (each.record.seq > seq) yield each
  }
}
