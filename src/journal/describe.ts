import { InvariantError } from '../domain/errors.ts'
import {
  contextOf,
  type JournalRecord,
  type ReadRecord,
  reduce,
  reduceRecorded,
} from './events/registry.ts'
import { NOT_SCHEDULED, strategyScheduled } from './events/strategy/strategies.ts'
import type { DaemonState } from './state/daemon-state.ts'
import { emptyState } from './state/state-image.ts'

/** Reads records of the journal with what was true before each of them. */

/**
 * Describes a journal, oldest record first. Where records are missing, what is left is described as far as it goes: `now` is
 * the state that the whole of them leads to.
 */
export async function* describeAll(
  records: AsyncIterable<JournalRecord>,
  now: DaemonState,
): AsyncGenerator<ReadRecord> {
  const state = emptyState()
  let isWhole = true
  let seq = 0
  for await (const record of records) {
    seq += 1
    if (record.seq !== seq) {
      isWhole = false
      introduce(state, now)
      seq = record.seq
    }
    yield isWhole ? reduceRecorded(state, record.event, record) : describePart(state, record)
  }
}

/**
 * Describes some records of one strategy, oldest first, as far as they go by themselves, without all that come before and
 * between them. Of a slot or an intent all of its own records are enough.
 */
export function describeSome(
  records: readonly JournalRecord[],
  strategy: string,
): readonly ReadRecord[] {
  const state = emptyState()
  enter(state, strategy)
  return records.map((record) => describePart(state, record))
}

function enter(state: DaemonState, strategy: string): void {
  const scheduled = { strategy, scheduleKey: NOT_SCHEDULED, fromSeconds: 0 }
  reduce(state, strategyScheduled(scheduled), 0)
}

/** What the missing records may have introduced, and later ones take for granted. */
function introduce(state: DaemonState, { bound, strategies }: DaemonState): void {
  state.bound ??= bound
  for (const strategy of strategies.keys()) {
    if (!state.strategies.has(strategy)) enter(state, strategy)
  }
}

function describePart(state: DaemonState, record: JournalRecord): ReadRecord {
  const { event, atMs } = record
  const context = unlessUnknown(() => contextOf(state, event, atMs))
  unlessUnknown(() => reduce(state, event, atMs))
  return { event, context, record } as ReadRecord
}

/** What the state does not allow here follows from what is missing: the daemon's own reducer has allowed it. */
function unlessUnknown<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof InvariantError) return undefined
    throw error
  }
}
