import { applyEvent } from '../../domain/book/fold.ts'
import type { JournalRecord } from '../../domain/book/journal.ts'
import type { DaemonState } from '../../domain/book/state.ts'
import { type CheckedLine, decodeRecord } from './journal-codec.ts'
import { placeOf } from './journal-reader.ts'
import type { Segment } from './segments.ts'
import { damagedJournal } from './state-faults.ts'

/** Folds the records after `fromSeq` into a state, one complete append at a time. */
export class Fold {
  readonly #state: DaemonState
  readonly #fromSeq: number
  #unfinished: JournalRecord[] = []

  constructor(state: DaemonState, fromSeq: number) {
    this.#state = state
    this.#fromSeq = fromSeq
  }

  /** Throws StateCorruptError for a record that the state does not allow. */
  take(segments: readonly Segment[], { head, line, more }: CheckedLine): void {
    if (head.seq <= this.#fromSeq) return
    try {
      this.#unfinished.push(decodeRecord(line))
      if (more) return
      for (const { event, atMs } of this.#unfinished) applyEvent(this.#state, event, atMs)
    } catch (error) {
      // The line is as it was written, so what cannot be applied comes from another version or another fold.
      const detail = error instanceof Error ? error.message : String(error)
      const segment = segmentOf(segments, head.seq)
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
