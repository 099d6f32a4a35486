import { describeSome } from '../../../journal/describe.ts'
import {
  callProven,
  fillProven,
  fillReopened,
  isFill,
} from '../../../journal/events/order/fills.ts'
import {
  fillIn,
  type JournalEvent,
  type JournalRecord,
  postingOf,
} from '../../../journal/events/registry.ts'
import { isSlotEnd, slotEndOf, slotOpened } from '../../../journal/events/strategy/slots.ts'
import { decodeRecord } from '../../../store/file/journal-codec.ts'
import {
  BackwardSearch,
  type JournalPlace,
  type RecordLine,
} from '../../../store/file/journal-search.ts'
import type { UnfilledPage, UnfilledRow } from '../model.ts'
import type { BareFill, FillOnRecord } from './fill-rows.ts'

const INTENT_ID = '"intentId":"'
const OPENS_BYTES = 320
const OPENS_STRATEGY = /"strategy":"([a-z0-9-]{1,63})"/
const OPENS_SLOT = /"slotSeconds":(\d{1,12})/
/** Journal files searched per request: fills of one strategy may lie far apart. */
export const FILES_MAX = 24
/** Below the timeout of clients. */
export const SEARCH_MS_MAX = 2_000
/** Further files searched for slot openings once enough fills are found. */
const OPENINGS_FILES_MAX = 4

export type FillQuery = {
  readonly limit: number
  /** Only fills before this record; undefined for the newest. Later records show which fills were undone. */
  readonly before: number | undefined
  readonly strategy: string | undefined
}

/** Fills of one intent, usually one, and the intent's records so far, newest first. */
type Pending = {
  readonly proven: { readonly seq: number; readonly isUndone: boolean }[]
  readonly records: JournalRecord[]
}

/** Searches backwards for at most `limit` fills; a bounded search may find fewer. */
export async function searchFills(journal: JournalPlace, query: FillQuery) {
  const { before = Infinity } = query
  const search = new BackwardSearch({ ...journal, before, filesMax: FILES_MAX })
  const fills = createFillSearch(query)
  const untilMs = performance.now() + SEARCH_MS_MAX
  const filesSinceFull = new Set<number>()
  for await (const { firstSeq, lines } of search.batches()) {
    fills.take(lines)
    if (fills.isFull()) filesSinceFull.add(firstSeq)
    if (fills.isDone() || filesSinceFull.size > OPENINGS_FILES_MAX) break
    // A search starts at the end of a file. It must get past `before`, or the next search would start no further back.
    if (performance.now() > untilMs && (search.reachedSeq ?? before) < before) break
  }
  const reached = search.isWhole ? undefined : search.reachedSeq
  return { entries: fills.entries(), next: fills.isFull() ? fills.lastSeq() : reached }
}

/** Collects fills from lines, newest first. What a fill traded is in older records, back to its slot's opening. */
export function createFillSearch({ limit, before = Infinity, strategy }: FillQuery) {
  const found: FillOnRecord[] = []
  const pending = new Map<string, Pending>()
  const slots = new Set<string>()
  /** Intents whose next older fill was undone. */
  const reopened = new Set<string>()
  let taken = 0
  let lastSeq: number | undefined

  const isFull = (): boolean => taken >= limit
  const isDone = (): boolean => isFull() && pending.size === 0

  function takeLine(line: RecordLine): void {
    const id = intentIn(line.line)
    if (id === undefined) return
    if (fillReopened.is(line)) reopened.add(id)
    if (isFill(line)) takeProof(line, id)
    else if (!line.type.startsWith('transaction-'))
      pending.get(id)?.records.push(decodeRecord(line.line))
  }

  function takeProof({ seq, line }: RecordLine, id: string): void {
    const proof = { seq, isUndone: reopened.delete(id) }
    const known = pending.get(id)
    const isWanted = seq < before && !isFull() && (strategy ?? strategyOf(id)) === strategyOf(id)
    // A later fill of the intent may depend on this one, which was undone.
    known?.records.push(decodeRecord(line))
    if (!isWanted) return
    taken += 1
    lastSeq = seq
    known?.proven.push(proof)
    if (known !== undefined) return
    pending.set(id, { proven: [proof], records: [decodeRecord(line)] })
    slots.add(slotOf(id))
  }

  function takeOpening({ line }: RecordLine): void {
    const head = line.toString('latin1', 0, OPENS_BYTES)
    const slot = `${OPENS_STRATEGY.exec(head)?.[1]}:${OPENS_SLOT.exec(head)?.[1]}`
    if (!slots.delete(slot)) return
    const record = decodeRecord(line)
    for (const [id, { records }] of pending) {
      if (slotOf(id) !== slot) continue
      records.push(record)
      finish(id)
    }
  }

  function finish(id: string): void {
    const { records = [], proven = [] } = pending.get(id) ?? {}
    pending.delete(id)
    for (const read of describeSome(records.reverse(), strategyOf(id))) {
      const { seq, atMs } = read.record
      const proof = proven.find((each) => each.seq === seq)
      if (proof === undefined) continue
      const known = read.context === undefined ? undefined : fillIn(postingOf(read))
      const fill = known ?? bareFill(read.event, id)
      found.push({ seq, atMs, undone: proof.isUndone, fill })
    }
  }

  return {
    /** True once all fills are found; some may lack what they traded. */
    isFull,
    /** True once all fills are found and complete. */
    isDone,
    /** Record of the oldest fill found. */
    lastSeq: (): number | undefined => lastSeq,
    take(lines: readonly RecordLine[]): void {
      for (const line of lines) {
        if (isDone()) return
        if (slotOpened.is(line)) takeOpening(line)
        else takeLine(line)
      }
    },
    /** Newest first. Incomplete fills contain only their own record. */
    entries(): readonly FillOnRecord[] {
      for (const id of [...pending.keys()]) finish(id)
      return found.sort((a, b) => b.seq - a.seq)
    },
  }
}

function bareFill(event: JournalEvent, intentId: string): BareFill {
  const strategy = strategyOf(intentId)
  const base = { type: 'bare', strategy, intentId, paper: false } as const
  if (fillProven.is(event)) return { ...base, venue: 'gasless', txHash: event.fill.txHash }
  if (callProven.is(event))
    return { ...base, venue: event.execution.via, txHash: event.execution.txHash }
  return { ...base, venue: 'gasless', paper: true, txHash: undefined }
}

function intentIn(line: Buffer): string | undefined {
  const at = line.indexOf(INTENT_ID)
  if (at < 0) return undefined
  const start = at + INTENT_ID.length
  return line.toString('latin1', start, line.indexOf('"', start))
}

function strategyOf(intentId: string): string {
  return intentId.slice(0, intentId.indexOf(':'))
}

function slotOf(intentId: string): string {
  return intentId.slice(0, intentId.lastIndexOf(':'))
}

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
