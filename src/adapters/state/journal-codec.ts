import { hash } from 'node:crypto'
import type { JournalEvent, JournalRecord } from '../../domain/book/journal.ts'
import type { Hex } from '../../domain/units.ts'
import { exactParse, exactStringify } from './exact-json.ts'

/**
 * One record a line:
 *
 *     {"seq":7,"atMs":1800000000000,"event":{...},"prev":"0x<64>","hash":"0x<64>"}
 *
 * `hash` is the SHA-256 of the line up to and without `,"hash":`, so it covers `prev` and the text itself, and a
 * line is checked without being parsed. `"more":true` after the event says that the next record was appended
 * together with this one: a crash keeps all of them or none.
 */
export type JournalHead = { readonly seq: number; readonly hash: Hex }

/** What the first record's `prev` refers to. */
export const GENESIS: JournalHead = { seq: 0, hash: sha256('tranched journal, format 1') }

/** Longest line, newline included. It bounds what a reader holds when the newlines are gone. */
export const LINE_BYTES_MAX = 4 * 1024 * 1024

const MORE = ',"more":true'
const HASH_BYTES = 2 + 64
const PREV_BYTES = ',"prev":""'.length + HASH_BYTES
const SEAL_BYTES = ',"hash":""}'.length + HASH_BYTES

/** Lines of records that stand or fall together. */
export type EncodedRecords = { readonly text: string; readonly head: JournalHead }

/**
 * The lines for events that follow `head`. Throws TypeError for an event that JSON cannot hold, RangeError for one
 * that is longer than a line may be.
 */
export function encodeRecords(
  head: JournalHead,
  events: readonly JournalEvent[],
  atMs: number,
): EncodedRecords {
  let { seq, hash: prev } = head
  let text = ''
  for (const [index, event] of events.entries()) {
    seq += 1
    const more = index < events.length - 1 ? MORE : ''
    const body = `{"seq":${seq},"atMs":${atMs},"event":${exactStringify(event)}${more},"prev":"${prev}"`
    if (Buffer.byteLength(body) + SEAL_BYTES >= LINE_BYTES_MAX)
      throw new RangeError(`a ${event.type} record is longer than ${LINE_BYTES_MAX} bytes`)
    prev = sha256(body)
    text += `${body},"hash":"${prev}"}\n`
  }
  return { text, head: { seq, hash: prev } }
}

/** A line that follows its predecessor. `line` is without its newline. */
export type CheckedLine = {
  readonly head: JournalHead
  /** More records of the same append follow. */
  readonly more: boolean
  readonly line: Buffer
}

/** Checks that a line is the one that follows `head`; a text says what is wrong with it. */
export function checkLine(head: JournalHead, line: Buffer): CheckedLine | string {
  const seq = head.seq + 1
  const bodyBytes = line.length - SEAL_BYTES
  const prevAt = bodyBytes - PREV_BYTES
  if (prevAt <= 0) return diagnose(head, line)
  const own = sha256(line.subarray(0, bodyBytes))
  const start = `{"seq":${seq},"atMs":`
  const ends = `,"prev":"${head.hash}","hash":"${own}"}`
  if (line.toString('latin1', 0, start.length) !== start) return diagnose(head, line)
  if (line.toString('latin1', prevAt, line.length) !== ends) return diagnose(head, line)
  const more = line.toString('latin1', prevAt - MORE.length, prevAt) === MORE
  return { head: { seq, hash: own }, more, line }
}

/** The record of a checked line. */
export function decodeRecord(line: Buffer): JournalRecord {
  const { seq, atMs, event, prev, hash: own } = exactParse(line.toString()) as JournalRecord
  return { seq, atMs, event, prev, hash: own }
}

/** Only for a line that failed: names the first thing that is wrong, in the order a reader would look. */
function diagnose(head: JournalHead, line: Buffer): string {
  let record: Partial<JournalRecord> | null
  try {
    record = JSON.parse(line.toString())
  } catch {
    return 'is not a journal record'
  }
  if (typeof record !== 'object' || record?.seq === undefined) return 'is not a journal record'
  if (record.seq !== head.seq + 1)
    return `holds record ${record.seq} where record ${head.seq + 1} should be`
  if (record.prev !== head.hash) return 'does not follow the record before it'
  return 'was altered: its hash does not match its text'
}

function sha256(data: string | Buffer): Hex {
  return `0x${hash('sha256', data)}`
}
