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

/** Reads journal records together with the state before each. */

/**
 * Describes a journal, oldest record first. Records around a gap are described as far as possible. `now` is the state that
 * all records together produce.
 */
export async function* describeAll(
  records: AsyncIterable<JournalRecord>,
  now: DaemonState,
  state = emptyState(),
): AsyncGenerator<ReadRecord> {
  const description = new Description(now, state)
  for await (const record of records) yield description.take(record)
}

/** The same record by record. `state` is the one that they are reduced into, `after` the last record that it includes. */
export class Description {
  readonly #now: DaemonState
  readonly #state: DaemonState
  #seq: number
  #isWhole = true

  constructor(now: DaemonState, state: DaemonState, after = 0) {
    this.#now = now
    this.#state = state
    this.#seq = after
  }

  take(record: JournalRecord): ReadRecord {
    this.#seq += 1
    if (record.seq !== this.#seq) {
      this.#isWhole = false
      introduce(this.#state, this.#now)
      this.#seq = record.seq
    }
    return this.#isWhole
      ? reduceRecorded(this.#state, record.event, record)
      : describePart(this.#state, record)
  }
}

/**
 * Describes some records of one strategy, oldest first, as far as possible without the missing records. All records of one
 * slot or intent are enough to describe it.
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

/** Adds bindings and strategies that missing records may have introduced and later ones rely on. */
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

/** A violation here results from missing records: the daemon's own reducer accepted the event. */
function unlessUnknown<Result>(work: () => Result): Result | undefined {
  try {
    return work()
  } catch (error) {
    if (error instanceof InvariantError) return undefined
    throw error
  }
}
