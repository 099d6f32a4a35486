import { isSlotEnd, slotEndOf } from '../../../journal/events/strategy/slots.ts'
import { decodeRecord } from '../../../store/file/journal-codec.ts'
import {
  BackwardSearch,
  type JournalPlace,
  type RecordLine,
} from '../../../store/file/journal-search.ts'
import type { UnfilledPage, UnfilledRow } from '../model.ts'
import { FILES_MAX, type FillQuery, SEARCH_MS_MAX } from './fill-search.ts'

const FILLED = '"outcome":"filled"'
const SKIPPED = '"outcome":"skipped"'

/** `skipped`: also slots that a strategy skipped, which is usually its rule and no failure. */
export type UnfilledQuery = FillQuery & { readonly skipped: boolean }

/** Searches backwards for slots that ended without a fill. Stops at `limit`, or at its bound of files and time. */
export async function searchUnfilled(
  journal: JournalPlace,
  query: UnfilledQuery,
): Promise<UnfilledPage> {
  const { before = Infinity, limit } = query
  const search = new BackwardSearch({ ...journal, before, filesMax: FILES_MAX })
  const slots: UnfilledRow[] = []
  const untilMs = performance.now() + SEARCH_MS_MAX
  for await (const { lines } of search.batches()) {
    for (const line of lines.filter((each) => each.seq < before && isWanted(each, query))) {
      const slot = unfilledIn(line)
      if (slot !== undefined) slots.push(slot)
      if (slots.length === limit) return { slots, next: String(line.seq) }
    }
    // A search starts at the end of a file: it must get past `before`, or the next one would start no further back.
    if (performance.now() > untilMs && (search.reachedSeq ?? before) < before) break
  }
  const { isWhole, reachedSeq } = search
  return { slots, next: isWhole || reachedSeq === undefined ? null : String(reachedSeq) }
}

/** Checks a line's text, so that few lines are parsed. */
function isWanted({ type, line }: RecordLine, { strategy, skipped }: UnfilledQuery): boolean {
  if (!isSlotEnd({ type }) || line.includes(FILLED)) return false
  if (strategy !== undefined && !line.includes(`"strategy":"${strategy}"`)) return false
  return skipped || !line.includes(SKIPPED)
}

function unfilledIn({ atMs, line }: RecordLine): UnfilledRow | undefined {
  const end = slotEndOf(decodeRecord(line).event)
  if (end === undefined) return undefined
  const { strategy, lastSeconds: slotSeconds, outcome, reason, detail = null, count = null } = end
  const own = reason === outcome ? null : reason
  return { strategy, slotSeconds, atMs, outcome, reason: own, detail, count }
}
