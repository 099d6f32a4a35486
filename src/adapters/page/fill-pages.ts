import { BackwardSearch, type JournalPlace } from '../state/journal-search.ts'
import type { FillEntry } from './fill-rows.ts'
import { FillSearch } from './fill-search.ts'

/** Files that one request looks through: a strategy's fills may lie far apart. */
const FILES_MAX = 24
/** A client that waits longer would be cut off. */
const SEARCH_MS_MAX = 2_000
/** Files before that of the last fill in which the openings of its slots are looked for. */
const OPENINGS_FILES_MAX = 4

export type FillsFound = {
  /** Newest first. */
  readonly entries: readonly FillEntry[]
  /** To be given as `before` to go on; undefined where there is nothing older. */
  readonly next: number | undefined
}

/** Fills before a record, out of the journal's files: as many as are asked for, or as a bounded search finds. */
export async function searchFills(
  journal: JournalPlace,
  query: {
    readonly before: number
    readonly limit: number
    readonly strategy: string | undefined
  },
): Promise<FillsFound> {
  const search = new BackwardSearch({ ...journal, before: query.before, filesMax: FILES_MAX })
  const fills = new FillSearch(query)
  const untilMs = performance.now() + SEARCH_MS_MAX
  const filesSinceFull = new Set<number>()
  for await (const { firstSeq, lines } of search.batches()) {
    fills.take(lines)
    if (fills.isFull) filesSinceFull.add(firstSeq)
    if (fills.isDone || filesSinceFull.size > OPENINGS_FILES_MAX) break
    if (performance.now() > untilMs) break
  }
  const reached = search.isWhole ? undefined : search.reachedSeq
  return { entries: fills.entries(), next: fills.isFull ? fills.lastSeq : reached }
}
