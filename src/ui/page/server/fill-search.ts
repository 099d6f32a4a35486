import type { Fact } from '../../domain/book/fact.ts'
import type { JournalEvent, JournalRecord } from '../../domain/book/journal.ts'
import { tellApart } from '../../domain/book/tell.ts'
import { decodeRecord } from '../state/journal-codec.ts'
import type { RecordLine } from '../state/journal-search.ts'
import { type BareFill, type FillEntry, isFill } from './fill-rows.ts'

const PROVEN: ReadonlySet<string> = new Set(['fill-proven', 'call-proven', 'paper-filled'])
const INTENT_ID = '"intentId":"'
const OPENS_BYTES = 320
const OPENS_STRATEGY = /"strategy":"([a-z0-9-]{1,63})"/
const OPENS_SLOT = /"slotSeconds":(\d{1,12})/

export type FillQuery = {
  readonly limit: number
  /** Only fills before this record; those after it are only looked at for what takes others back. */
  readonly before: number
  readonly strategy: string | undefined
}

/** Fills of one intent, mostly one, with its records so far, newest first. */
type Pending = {
  readonly strategy: string
  readonly proven: { readonly seq: number; readonly isUndone: boolean }[]
  readonly records: JournalRecord[]
}

/**
 * Gathers fills from lines that come newest first. What a fill traded stands in older records of its intent, so it is told
 * once the one that opened its slot has come.
 */
export class FillSearch {
  readonly #query: FillQuery
  readonly #found: FillEntry[] = []
  readonly #pending = new Map<string, Pending>()
  /** Slots whose openings are waited for. */
  readonly #slots = new Set<string>()
  /** Intents whose next older fill was taken back. */
  readonly #reopened = new Set<string>()
  #taken = 0
  #lastSeq: number | undefined

  constructor(query: FillQuery) {
    this.#query = query
  }

  /** As many fills as were asked for, each of them told. */
  get isDone(): boolean {
    return this.isFull && this.#pending.size === 0
  }

  /** As many as were asked for; some may still lack what they traded. */
  get isFull(): boolean {
    return this.#taken >= this.#query.limit
  }

  /** The record of the oldest fill. */
  get lastSeq(): number | undefined {
    return this.#lastSeq
  }

  take(lines: readonly RecordLine[]): void {
    for (const line of lines) {
      if (this.isDone) return
      if (line.type === 'slot-opened') this.#takeOpening(line)
      else this.#takeLine(line)
    }
  }

  /** Newest first. What is still not told is given as far as its own record goes. */
  entries(): readonly FillEntry[] {
    for (const id of [...this.#pending.keys()]) this.#finish(id)
    return this.#found.sort((a, b) => b.seq - a.seq)
  }

  #takeLine(line: RecordLine): void {
    const id = intentIn(line.line)
    if (id === undefined) return
    if (PROVEN.has(line.type)) this.#takeProof(line, id)
    else if (line.type === 'fill-reopened') {
      this.#reopened.add(id)
      this.#pending.get(id)?.records.push(decodeRecord(line.line))
    } else if (!line.type.startsWith('transaction-'))
      this.#pending.get(id)?.records.push(decodeRecord(line.line))
  }

  #takeProof({ seq, line }: RecordLine, id: string): void {
    const isUndone = this.#reopened.delete(id)
    const known = this.#pending.get(id)
    const { before, strategy } = this.#query
    const own = id.slice(0, id.indexOf(':'))
    const isWanted = seq < before && !this.isFull && (strategy === undefined || strategy === own)
    // A fill that is told may rest on one before it that was taken back.
    if (known !== undefined) known.records.push(decodeRecord(line))
    if (!isWanted) return
    this.#taken += 1
    this.#lastSeq = seq
    if (known !== undefined) {
      known.proven.push({ seq, isUndone })
      return
    }
    const records = [decodeRecord(line)]
    this.#pending.set(id, { strategy: own, proven: [{ seq, isUndone }], records })
    this.#slots.add(slotOf(id))
  }

  #takeOpening({ line }: RecordLine): void {
    const head = line.toString('latin1', 0, OPENS_BYTES)
    const slot = `${OPENS_STRATEGY.exec(head)?.[1]}:${OPENS_SLOT.exec(head)?.[1]}`
    if (!this.#slots.delete(slot)) return
    const record = decodeRecord(line)
    for (const [id, { records }] of this.#pending) {
      if (slotOf(id) !== slot) continue
      records.push(record)
      this.#finish(id)
    }
  }

  #finish(id: string): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    for (const { record, fact } of tellApart(pending.records.reverse(), pending.strategy)) {
      const proof = pending.proven.find(({ seq }) => seq === record.seq)
      if (proof === undefined) continue
      const { seq, atMs, event } = record
      this.#found.push({ seq, atMs, undone: proof.isUndone, fill: fillIn(fact, event, id) })
    }
  }
}

function fillIn(fact: Fact | undefined, event: JournalEvent, intentId: string) {
  if (fact !== undefined && isFill(fact)) return fact
  return bareFill(event, intentId)
}

function bareFill(event: JournalEvent, intentId: string): BareFill {
  const strategy = intentId.slice(0, intentId.indexOf(':'))
  const base = { type: 'bare', strategy, intentId, paper: false } as const
  if (event.type === 'fill-proven') return { ...base, venue: 'gasless', txHash: event.fill.txHash }
  if (event.type === 'call-proven')
    return { ...base, venue: event.execution.via, txHash: event.execution.txHash }
  return { ...base, venue: 'gasless', paper: true, txHash: undefined }
}

function intentIn(line: Buffer): string | undefined {
  const at = line.indexOf(INTENT_ID)
  if (at < 0) return undefined
  const start = at + INTENT_ID.length
  return line.toString('latin1', start, line.indexOf('"', start))
}

/** Its intents' ids without their legs. */
function slotOf(intentId: string): string {
  return intentId.slice(0, intentId.lastIndexOf(':'))
}
