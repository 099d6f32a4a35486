import type { SlotRange } from './events/event.ts'
import { postingOf, type Recorded, slotsOf } from './events/registry.ts'
import { isSlotEnd, slotOpened } from './events/strategy/slots.ts'
import { programEnded } from './events/strategy/strategies.ts'
import type { Posting } from './ledger/entry.ts'
import type { DaemonState } from './state/daemon-state.ts'

/** Slots that records concern. `begins`: their first record is one of these. */
export type SlotMark = readonly [
  strategy: string,
  firstSeconds: number,
  lastSeconds: number,
  begins: boolean,
]

/** A record's change to the ledger. */
export type Posted = readonly [seq: number, posting: NonNullable<Posting>]

/** What readers of a part of the journal look for: its slots, in order, and its changes to the ledger. */
export class SegmentSummary {
  readonly marks: SlotMark[] = []
  readonly posted: Posted[] = []
  /** Time of the latest entry, epoch ms. */
  untilMs = 0
  readonly #marked = new Set<string>()
  /** Last slot of each strategy so far. Slots of a strategy begin in order. */
  readonly #lastSlots: Map<string, number>

  constructor(lastSlots: ReadonlyMap<string, number>) {
    this.#lastSlots = new Map(lastSlots)
  }

  /** Of records from a state on. */
  static after({ strategies }: Pick<DaemonState, 'strategies'>): SegmentSummary {
    return new SegmentSummary(
      new Map([...strategies].map(([name, { lastSlotSeconds }]) => [name, lastSlotSeconds])),
    )
  }

  /** Of the records after these. */
  next(): SegmentSummary {
    return new SegmentSummary(this.#lastSlots)
  }

  take(read: Recorded): void {
    const { event, record } = read
    for (const slots of slotsOf(read)) this.#mark(slots, slotOpened.is(event) || isSlotEnd(event))
    if (programEnded.is(event)) {
      const lastSeconds = this.#lastSlots.get(event.strategy) ?? 0
      this.#mark({ strategy: event.strategy, firstSeconds: lastSeconds, lastSeconds }, false)
    }
    const posting = postingOf(read)
    if (posting === undefined) return
    this.posted.push([record.seq, posting])
    if (posting.tag === 'entry') this.untilMs = Math.max(this.untilMs, posting.entry.atMs)
  }

  #mark({ strategy, firstSeconds, lastSeconds }: SlotRange, mayBegin: boolean): void {
    const key = `${strategy}:${firstSeconds}:${lastSeconds}`
    if (this.#marked.has(key)) return
    this.#marked.add(key)
    const begins = mayBegin && firstSeconds > (this.#lastSlots.get(strategy) ?? 0)
    if (begins) this.#lastSlots.set(strategy, lastSeconds)
    this.marks.push([strategy, firstSeconds, lastSeconds, begins])
  }
}
