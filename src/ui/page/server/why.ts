import type { JournalRecord } from '../../domain/book/journal.ts'
import { storyOf } from '../../domain/book/story.ts'
import { isAbout, tellApart } from '../../domain/book/tell.ts'
import type { Token } from '../../domain/token.ts'
import { decodeRecord } from '../state/journal-codec.ts'
import { ForwardSearch, type JournalPlace, type RecordLine } from '../state/journal-search.ts'
import type { Clean } from './clean.ts'
import type { Why } from './model.ts'

/** A slot may be opened by a clock that is somewhat behind. */
const EARLY_MS = 10 * 60_000
/** Files of the journal that are looked through: what a slot leaves behind lies within hours of it. */
const FILES_MAX = 32
/** What makes the fills of a closed slot final, or takes them back, comes within this. */
const AFTER_CLOSE_MS = 60 * 60_000
const LINES_MAX = 300
const FACTS_MAX = 80
const FACT_LENGTH_MAX = 600

export type Slot = { readonly strategy: string; readonly slotSeconds: number }

const SLOT = /^([a-z0-9][a-z0-9-]{0,62}):(\d{1,12})(?::\d{1,3})?$/

/** A slot by its name, or by that of one of its intents. */
export function slotIn(text: string): Slot | undefined {
  const match = SLOT.exec(text)
  if (match === null) return undefined
  return { strategy: match[1] ?? '', slotSeconds: Number(match[2]) }
}

/** How a record's own fields are shown. */
export type Hiding = {
  readonly clean: Clean
  /** Hides in a whole value what the log would hide in it, by its names as well. */
  readonly value: (value: unknown) => unknown
}

export type WhyInput = {
  readonly hiding: Hiding
  /** That amounts may be in. */
  readonly tokens: Iterable<Token>
}

/** What the journal holds about one slot. Undefined where it holds nothing. */
export async function findWhy(
  journal: JournalPlace,
  slot: Slot,
  { hiding, tokens }: WhyInput,
): Promise<Why | undefined> {
  const search = new ForwardSearch({
    ...journal,
    fromMs: slot.slotSeconds * 1000 - EARLY_MS,
    filesMax: FILES_MAX,
  })
  const gathered = new SlotRecords(slot)
  for await (const { lines } of search.batches()) {
    gathered.take(lines)
    if (gathered.isOver || gathered.isFull) break
  }
  const { records } = gathered
  if (records.length === 0) return undefined
  const told = tellApart(records, slot.strategy)
  const lines = storyOf(told, tokens).map(({ record, atMs, title, sentences }) => ({
    atMs,
    title: hiding.clean(title),
    sentences: sentences.map((text) => hiding.clean(text).slice(0, FACT_LENGTH_MAX)),
    facts: factsOf(record, hiding),
  }))
  return {
    slot: `${slot.strategy}:${slot.slotSeconds}`,
    whole: !gathered.isFull && (search.isWhole || gathered.isOver),
    lines,
  }
}

/** Records of one slot, gathered from lines that come oldest first. */
class SlotRecords {
  readonly #slot: Slot
  readonly #intents: string
  readonly #slotText: string
  readonly #strategyText: string
  /** Names of our own transactions that were made for it and do not say so. */
  readonly #transactions = new Set<string>()
  readonly #records: JournalRecord[] = []
  /** When it was closed, by its last record that says so. */
  #closedAtMs = Number.POSITIVE_INFINITY
  #reachedMs = 0

  constructor(slot: Slot) {
    this.#slot = slot
    this.#intents = `${slot.strategy}:${slot.slotSeconds}:`
    this.#slotText = `"slotSeconds":${slot.slotSeconds}`
    this.#strategyText = `"strategy":"${slot.strategy}"`
  }

  get records(): readonly JournalRecord[] {
    return this.#records
  }

  /** Nothing more of it is to be expected. */
  get isOver(): boolean {
    return this.#reachedMs > this.#closedAtMs + AFTER_CLOSE_MS
  }

  /** There are as many as are shown. */
  get isFull(): boolean {
    return this.#records.length >= LINES_MAX
  }

  take(lines: readonly RecordLine[]): void {
    for (const { type, line } of lines) {
      if (this.isFull || !this.#mayBeAbout(type, line)) continue
      const record = decodeRecord(line)
      if (!this.#isAbout(record)) continue
      this.#records.push(record)
      const { event } = record
      if (event.type === 'transaction-recorded') this.#transactions.add(event.transaction.id)
      if (event.type === 'slot-closed' || event.type === 'slots-missed')
        this.#closedAtMs = record.atMs
      // It goes on where a reorganisation opens it again.
      if (event.type === 'fill-reopened') this.#closedAtMs = Number.POSITIVE_INFINITY
    }
    this.#reachedMs = lines.at(-1)?.atMs ?? this.#reachedMs
  }

  /** By its text alone, so that no other line is parsed. */
  #mayBeAbout(type: string, line: Buffer): boolean {
    if (type === 'slots-missed') return line.includes(this.#strategyText)
    if (line.includes(this.#intents)) return true
    if (type === 'transaction-signed' || type === 'transaction-ended')
      return this.#transactions.size > 0
    return line.includes(this.#slotText) && line.includes(this.#strategyText)
  }

  #isAbout({ event }: JournalRecord): boolean {
    if (event.type === 'transaction-recorded')
      return event.transaction.intentId?.startsWith(this.#intents) === true
    if (event.type === 'transaction-signed' || event.type === 'transaction-ended')
      return this.#transactions.has(event.id)
    if (event.type === 'slots-missed')
      return (
        event.strategy === this.#slot.strategy &&
        event.firstSeconds <= this.#slot.slotSeconds &&
        this.#slot.slotSeconds <= event.lastSeconds
      )
    return isAbout(event, this.#slot)
  }
}

const TOLD_ALREADY: ReadonlySet<string> = new Set(['type', 'strategy', 'slotSeconds'])

/** Leaves of a record as dotted names and text. */
function factsOf(
  { event }: JournalRecord,
  { clean, value }: Hiding,
): Why['lines'][number]['facts'] {
  const leaves = flatten(value(event))
  return leaves
    .filter(([name]) => !TOLD_ALREADY.has(name))
    .slice(0, FACTS_MAX)
    .map(([name, text]) => [name, clean(text).slice(0, FACT_LENGTH_MAX)] as const)
}

function flatten(value: unknown, prefix = ''): [string, string][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, field]: [string, unknown]): [string, string][] => {
    if (field === undefined) return []
    if (typeof field === 'object' && field !== null) return flatten(field, `${prefix}${name}.`)
    return [[`${prefix}${name}`, String(field)]]
  })
}
