import { isSlotEnd, type SlotEnd, slotEndOf } from '../../../journal/events/strategy/slots.ts'
import { decodeRecord } from '../../../store/file/journal-codec.ts'
import {
  BackwardSearch,
  type JournalPlace,
  type RecordLine,
} from '../../../store/file/journal-search.ts'
import type { FillOnRecord } from './fill-rows.ts'
import { createFillSearch } from './fill-search.ts'

/** Journal files read back after a start: a few days with many orders, months with few. */
const FILES_MAX = 8
const HEAD_BYTES = 320
const STRATEGY = /"strategy":"([a-z0-9-]{1,63})"/
const SKIPPED = '"outcome":"skipped"'

/** The last events before this process started, if the newest files contain them. */
export type RecentEvents = {
  readonly fills: readonly FillOnRecord[]
  /** From this record on, no fill is missing. */
  readonly fromSeq: number
  readonly slots: readonly SlotEnd[]
}

/** Reads the newest files backwards until everything wanted is found, or `FILES_MAX` are read. */
export async function readRecentEvents(
  journal: JournalPlace,
  wanted: { readonly fills: number; readonly strategies: readonly string[] },
): Promise<RecentEvents> {
  const search = new BackwardSearch({ ...journal, filesMax: FILES_MAX })
  const query = { limit: wanted.fills, before: undefined, strategy: undefined }
  const fills = createFillSearch(query)
  const ends = slotEndsOf(wanted.strategies)
  for await (const { lines } of search.batches()) {
    fills.take(lines)
    for (const line of lines) ends.take(line)
    if (fills.isDone() && ends.isDone()) break
  }
  const reached = search.isWhole ? 1 : search.reachedSeq
  const fromSeq = fills.isFull() ? fills.lastSeq() : reached
  return { fills: fills.entries(), fromSeq: fromSeq ?? 1, slots: ends.found }
}

/** Collects the last slot and the last skip of each strategy. Takes lines newest first. */
function slotEndsOf(strategies: readonly string[]) {
  const found: SlotEnd[] = []
  const withoutSlot = new Set(strategies)
  const withoutSkip = new Set(strategies)
  return {
    found,
    isDone: (): boolean => withoutSlot.size === 0 && withoutSkip.size === 0,
    take({ type, line }: RecordLine): void {
      if (!isSlotEnd({ type })) return
      const strategy = STRATEGY.exec(line.toString('latin1', 0, HEAD_BYTES))?.[1] ?? ''
      const isLast = withoutSlot.delete(strategy)
      const isLastSkip = line.includes(SKIPPED) && withoutSkip.delete(strategy)
      const slot = isLast || isLastSkip ? slotEndOf(decodeRecord(line).event) : undefined
      if (slot !== undefined) found.push(slot)
    },
  }
}
