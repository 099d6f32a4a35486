import { NewerFormatError } from '../../domain/errors.ts'
import { isKnownEvent, type JournalRecord, reduce } from '../../journal/events/registry.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import { type CheckedLine, decodeRecord } from './journal-codec.ts'
import { placeOf } from './journal-reader.ts'
import type { Segment } from './segments.ts'
import { damagedJournal } from './state-faults.ts'

/** Applies records after `fromSeq` to a state, one complete append at a time. */
export class Replay {
  readonly #state: DaemonState
  readonly #fromSeq: number
  #unfinished: JournalRecord[] = []
  /** Time of the last record applied, epoch ms. */
  lastAtMs: number | undefined

  constructor(state: DaemonState, fromSeq: number) {
    this.#state = state
    this.#fromSeq = fromSeq
  }

  /** Throws StateCorruptError for a record that the state refuses. */
  take(segments: readonly Segment[], { head, line, more }: CheckedLine): void {
    if (head.seq <= this.#fromSeq) return
    try {
      this.#unfinished.push(decodeRecord(line))
      if (more) return
      for (const { event, atMs } of this.#unfinished) reduce(this.#state, event, atMs)
      this.lastAtMs = this.#unfinished.at(-1)?.atMs
    } catch (error) {
      // The line is authentic, so another version or reducer wrote it.
      const detail = error instanceof Error ? error.message : String(error)
      const segment = segmentOf(segments, head.seq)
      const unknown = this.#unfinished.find(({ event }) => !isKnownEvent(event))
      if (unknown !== undefined)
        throw new NewerFormatError(
          segment.file,
          `${placeOf(segment, unknown.seq)} is of type ${unknown.event.type}`,
        )
      throw damagedJournal(
        segment.file,
        `${placeOf(segment, head.seq)} does not fit the records before it: ${detail}`,
      )
    }
    this.#unfinished = []
  }
}

export function segmentOf(segments: readonly Segment[], seq: number): Segment {
  const segment = segments.findLast(({ firstSeq }) => firstSeq <= seq)
  if (segment === undefined) throw new Error(`record ${seq} is in no file`)
  return segment
}
