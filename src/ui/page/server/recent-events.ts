import { decodeRecord } from '../state/journal-codec.ts'
import { BackwardSearch, type JournalPlace, type RecordLine } from '../state/journal-search.ts'
import type { FillEntry } from './fill-rows.ts'
import { FillSearch } from './fill-search.ts'
import type { EndedSlot } from './sightings.ts'

/** Files that are read back after a start. A few days of many orders, months of few. */
const FILES_MAX = 8
const HEAD_BYTES = 320
const STRATEGY = /"strategy":"([a-z0-9-]{1,63})"/
const SKIPPED = '"outcome":"skipped"'

/** What happened last before this process began, as far as the newest files say. */
export type Lately = {
  readonly fills: readonly FillEntry[]
  /** The record from which on no fill is missing. */
  readonly fromSeq: number
  readonly slots: readonly { readonly strategy: string; readonly slot: EndedSlot }[]
}

/** Reads the newest files backwards until all that is looked for is found, or there were enough. */
export async function readLately(
  journal: JournalPlace,
  wanted: { readonly fills: number; readonly strategies: readonly string[] },
): Promise<Lately> {
  const search = new BackwardSearch({ ...journal, filesMax: FILES_MAX })
  const before = Number.POSITIVE_INFINITY
  const fills = new FillSearch({ limit: wanted.fills, before, strategy: undefined })
  const ends = new SlotEnds(wanted.strategies)
  for await (const { lines } of search.batches()) {
    fills.take(lines)
    ends.take(lines)
    if (fills.isDone && ends.isDone) break
  }
  const reached = search.isWhole ? 1 : search.reachedSeq
  const fromSeq = fills.isFull ? fills.lastSeq : reached
  return { fills: fills.entries(), fromSeq: fromSeq ?? 1, slots: ends.found }
}

/** The last slot and the last skip of each strategy, from lines that come newest first. */
class SlotEnds {
  readonly found: { readonly strategy: string; readonly slot: EndedSlot }[] = []
  readonly #withoutSlot: Set<string>
  readonly #withoutSkip: Set<string>

  constructor(strategies: readonly string[]) {
    this.#withoutSlot = new Set(strategies)
    this.#withoutSkip = new Set(strategies)
  }

  get isDone(): boolean {
    return this.#withoutSlot.size === 0 && this.#withoutSkip.size === 0
  }

  take(lines: readonly RecordLine[]): void {
    for (const { type, line } of lines) {
      if (type !== 'slot-closed' && type !== 'slots-missed') continue
      const strategy = STRATEGY.exec(line.toString('latin1', 0, HEAD_BYTES))?.[1]
      if (strategy === undefined) continue
      const isSkip = line.includes(SKIPPED)
      if (!this.#withoutSlot.has(strategy) && !(isSkip && this.#withoutSkip.has(strategy))) continue
      this.#withoutSlot.delete(strategy)
      if (isSkip) this.#withoutSkip.delete(strategy)
      const slot = endIn(line)
      if (slot !== undefined) this.found.push({ strategy, slot })
    }
  }
}

function endIn(line: Buffer): EndedSlot | undefined {
  const { event } = decodeRecord(line)
  if (event.type === 'slots-missed')
    return {
      slotSeconds: event.lastSeconds,
      outcome: 'missed',
      reason: 'missed',
      detail: undefined,
    }
  if (event.type !== 'slot-closed') return undefined
  const { slotSeconds, outcome, reason, detail } = event
  return { slotSeconds, outcome, reason, detail }
}
