import type { Token } from '../../../domain/money/token.ts'
import { describeSome } from '../../../journal/describe.ts'
import { fillReopened } from '../../../journal/events/order/fills.ts'
import { isAbout, type JournalRecord } from '../../../journal/events/registry.ts'
import {
  type TransactionEnded,
  type TransactionSigned,
  transactionEnded,
  transactionRecorded,
  transactionSigned,
} from '../../../journal/events/state/transactions.ts'
import { isSlotEnd, slotsMissed } from '../../../journal/events/strategy/slots.ts'
import { leavesOf, timelineOf } from '../../../journal/timeline.ts'
import { decodeRecord } from '../../../store/file/journal-codec.ts'
import {
  ForwardSearch,
  type JournalPlace,
  type RecordLine,
} from '../../../store/file/journal-search.ts'
import type { Why } from '../model.ts'
import type { Clean } from './read-model.ts'

/** The clock that opened a slot may have been slightly behind. */
const EARLY_MS = 10 * 60_000
/** Files searched: a slot's records lie within hours of it. */
const FILES_MAX = 32
/** Records that make a closed slot's fills final or undo them follow within this time. */
const AFTER_CLOSE_MS = 60 * 60_000
const LINES_MAX = 300
const FACTS_MAX = 80
const FACT_LENGTH_MAX = 600

export type Slot = { readonly strategy: string; readonly slotSeconds: number }

const SLOT = /^([a-z0-9][a-z0-9-]{0,62}):(\d{1,12})(?::\d{1,3})?$/

export function slotIn(text: string): Slot | undefined {
  const match = SLOT.exec(text)
  if (match === null) return undefined
  return { strategy: match[1] ?? '', slotSeconds: Number(match[2]) }
}

export type Hiding = {
  readonly clean: Clean
  /** Also masks secrets by field name. */
  readonly value: (value: unknown) => unknown
}

/** Undefined if the journal has nothing about the slot. `tokens` name the amounts. */
export async function findWhy(
  journal: JournalPlace,
  slot: Slot,
  { hiding, tokens }: { readonly hiding: Hiding; readonly tokens: Iterable<Token> },
): Promise<Why | undefined> {
  const search = new ForwardSearch({
    ...journal,
    fromMs: slot.slotSeconds * 1000 - EARLY_MS,
    filesMax: FILES_MAX,
  })
  const gathered = slotRecords(slot)
  for await (const { lines } of search.batches()) {
    for (const line of lines) gathered.take(line)
    if (gathered.isOver() || gathered.isFull()) break
  }
  if (gathered.records.length === 0) return undefined
  const described = describeSome(gathered.records, slot.strategy)
  return {
    slot: `${slot.strategy}:${slot.slotSeconds}`,
    whole: !gathered.isFull() && (search.isWhole || gathered.isOver()),
    lines: timelineOf(described, tokens).map(({ record, atMs, title, messages }) => ({
      atMs,
      title: hiding.clean(title),
      sentences: messages.map((text) => hiding.clean(text).slice(0, FACT_LENGTH_MAX)),
      facts: factsOf(record, hiding),
    })),
  }
}

/** Takes lines oldest first. */
function slotRecords(slot: Slot) {
  const records: JournalRecord[] = []
  const ownIntents = `${slot.strategy}:${slot.slotSeconds}:`
  const ownSlot = `"slotSeconds":${slot.slotSeconds}`
  const ownStrategy = `"strategy":"${slot.strategy}"`
  /** Own transactions for the slot, whose later records do not name it. */
  const transactions = new Set<string>()
  let closedAtMs = Number.POSITIVE_INFINITY
  let reachedMs = 0
  const isFull = (): boolean => records.length >= LINES_MAX

  /** Checks a line's text first, so that few lines are parsed. */
  function mayBeAbout(type: string, line: Buffer): boolean {
    if (slotsMissed.is({ type })) return line.includes(ownStrategy)
    if (line.includes(ownIntents)) return true
    if (isTransactionStep({ type })) return transactions.size > 0
    return line.includes(ownSlot) && line.includes(ownStrategy)
  }

  function isOwn({ event }: JournalRecord): boolean {
    if (isTransactionStep(event)) return transactions.has(event.id)
    return isAbout({ event, context: undefined }, slot)
  }

  return {
    records,
    isFull,
    isOver: (): boolean => reachedMs > closedAtMs + AFTER_CLOSE_MS,
    take({ type, line, atMs }: RecordLine): void {
      reachedMs = atMs
      const record = !isFull() && mayBeAbout(type, line) ? decodeRecord(line) : undefined
      if (record === undefined || !isOwn(record)) return
      records.push(record)
      const { event } = record
      if (transactionRecorded.is(event)) transactions.add(event.transaction.id)
      if (isSlotEnd(event)) closedAtMs = record.atMs
      if (fillReopened.is(event)) closedAtMs = Number.POSITIVE_INFINITY
    },
  }
}

function isTransactionStep(event: {
  readonly type: string
}): event is TransactionSigned | TransactionEnded {
  return transactionSigned.is(event) || transactionEnded.is(event)
}

const SHOWN_ALREADY: ReadonlySet<string> = new Set(['type', 'strategy', 'slotSeconds'])

function factsOf({ event }: JournalRecord, { clean, value }: Hiding) {
  const leaves = leavesOf(value(event))
  return leaves
    .filter(([name]) => !SHOWN_ALREADY.has(name))
    .slice(0, FACTS_MAX)
    .map(([name, text]) => [name, clean(text).slice(0, FACT_LENGTH_MAX)] as const)
}
