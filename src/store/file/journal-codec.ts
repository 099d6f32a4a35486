import { hash } from 'node:crypto'
import type { JournalEvent, JournalRecord } from '../../domain/book/journal.ts'
import type { Hex } from '../../domain/units.ts'
import type { JournalKey } from '../keys/journal-key.ts'
import { exactParse, exactStringify } from './exact-json.ts'

/**
 * One record a line:
 *
 *     {"seq":7,"atMs":1800000000000,"event":{...},"prev":"0x<64>","hash":"0x<64>","mac":"<64>"}
 *
 * `hash` is the SHA-256 of the line up to and without `,"hash":`, so it covers `prev` and the text itself, and a
 * line is checked without being parsed. `mac` is over `hash` under the wallet's journal key, and with it over every
 * record before; where there is no key (dry-run) it is left out. `"more":true` after the event says that the next
 * record was appended together with this one: a crash keeps all of them or none.
 */
export type JournalHead = { readonly seq: number; readonly hash: Hex }

/** What the first record's `prev` refers to. */
export const GENESIS: JournalHead = { seq: 0, hash: sha256('tranched journal, format 2') }

/** The same of format 1, which is upgraded at the start: lines without `mac`, in one file. */
export const FORMER_GENESIS: JournalHead = { seq: 0, hash: sha256('tranched journal, format 1') }

/** Longest line, newline included. It bounds what a reader holds when the newlines are gone. */
export const LINE_BYTES_MAX = 4 * 1024 * 1024

const MORE = ',"more":true'
const DIGEST_BYTES = 2 + 64
const PREV_BYTES = ',"prev":""'.length + DIGEST_BYTES
const HASH_BYTES = ',"hash":""'.length + DIGEST_BYTES
const MAC_OPENS = ',"mac":"'
const MAC_DIGITS = 64
const MAC_BYTES = MAC_OPENS.length + MAC_DIGITS + 1
const MAC = /^[0-9a-f]{64}$/
/** What may follow a body, newline left out. */
const SEAL_BYTES_MAX = HASH_BYTES + MAC_BYTES + 1

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
  key?: JournalKey,
): EncodedRecords {
  let { seq, hash: prev } = head
  let text = ''
  for (const [index, event] of events.entries()) {
    seq += 1
    const more = index < events.length - 1 ? MORE : ''
    const body = `{"seq":${seq},"atMs":${atMs},"event":${exactStringify(event)}${more},"prev":"${prev}"`
    if (Buffer.byteLength(body) + SEAL_BYTES_MAX >= LINE_BYTES_MAX)
      throw new RangeError(`a ${event.type} record is longer than ${LINE_BYTES_MAX} bytes`)
    prev = sha256(body)
    text += sealed(body, prev, key)
  }
  return { text, head: { seq, hash: prev } }
}

/** A checked line of another chain as the line that follows `head`: the same record, linked and signed anew. */
export function relink(
  head: JournalHead,
  { line, head: { seq } }: CheckedLine,
  key: JournalKey | undefined,
): EncodedRecords {
  const { bodyBytes } = partsOf(line)
  const kept = line.toString('utf8', 0, bodyBytes - PREV_BYTES)
  const body = `${kept},"prev":"${head.hash}"`
  const own = sha256(body)
  return { text: sealed(body, own, key), head: { seq, hash: own } }
}

function sealed(body: string, own: Hex, key: JournalKey | undefined): string {
  const mac = key === undefined ? '' : `${MAC_OPENS}${key.macOf('record', own)}"`
  return `${body},"hash":"${own}"${mac}}\n`
}

/** A line that follows its predecessor. `line` is without its newline. */
export type CheckedLine = {
  readonly head: JournalHead
  /** More records of the same append follow. */
  readonly more: boolean
  /** It carries a MAC: a right one, where there was a key to check it with. */
  readonly hasMac: boolean
  readonly line: Buffer
}

/** What is wrong with a line, in words that follow its place. */
export type LineFault = {
  readonly fault: string
  /** It is a whole record in its place, by somebody who has not the wallet's key. */
  readonly isForeign: boolean
}

/** Checks that a line is the one that follows `head`, and with a key that the wallet's daemon wrote it. */
export function checkLine(
  head: JournalHead,
  line: Buffer,
  key?: JournalKey,
): CheckedLine | LineFault {
  const seq = head.seq + 1
  const { bodyBytes, mac } = partsOf(line)
  const prevAt = bodyBytes - PREV_BYTES
  if (prevAt <= 0) return diagnose(head, line)
  const own = sha256(line.subarray(0, bodyBytes))
  const start = `{"seq":${seq},"atMs":`
  const ends = `,"prev":"${head.hash}","hash":"${own}"${mac === undefined ? '' : `${MAC_OPENS}${mac}"`}}`
  if (line.toString('latin1', 0, start.length) !== start) return diagnose(head, line)
  if (line.toString('latin1', prevAt, line.length) !== ends) return diagnose(head, line)
  if (key !== undefined && mac === undefined) return foreign('it carries no MAC')
  if (key !== undefined && mac !== key.macOf('record', own))
    return foreign("its MAC is not by this wallet's key")
  const more = line.toString('latin1', prevAt - MORE.length, prevAt) === MORE
  return { head: { seq, hash: own }, more, hasMac: mac !== undefined, line }
}

/** What the record in `line` says that it follows; nothing when it is no record. */
export function predecessorOf(line: Buffer): Hex | undefined {
  const { bodyBytes } = partsOf(line)
  const text = line.toString('latin1', Math.max(0, bodyBytes - PREV_BYTES), Math.max(0, bodyBytes))
  return PREV.exec(text)?.[1] as Hex | undefined
}

const PREV = /^,"prev":"(0x[0-9a-f]{64})"$/

/** Where a line's body ends, and its MAC. Places are counted from the end, where every part has its fixed length. */
function partsOf(line: Buffer): { readonly bodyBytes: number; readonly mac: string | undefined } {
  const macAt = line.length - 1 - MAC_BYTES
  const digitsAt = macAt + MAC_OPENS.length
  const mac = line.toString('latin1', Math.max(0, digitsAt), Math.max(0, digitsAt + MAC_DIGITS))
  const hasMac =
    macAt > 0 && line.toString('latin1', macAt, digitsAt) === MAC_OPENS && MAC.test(mac)
  if (hasMac) return { bodyBytes: macAt - HASH_BYTES, mac }
  return { bodyBytes: line.length - 1 - HASH_BYTES, mac: undefined }
}

/** The record of a checked line. */
export function decodeRecord(line: Buffer | string): JournalRecord {
  const { seq, atMs, event, prev, hash: own } = exactParse(line.toString()) as JournalRecord
  return { seq, atMs, event, prev, hash: own }
}

/** The records of what `encodeRecords` gave. */
export function decodeRecords(text: string): readonly JournalRecord[] {
  return text.split('\n').slice(0, -1).map(decodeRecord)
}

/** A line that is in its place and that the wallet's daemon did not write. */
export function foreign(detail: string): LineFault {
  return { fault: `was not written by this wallet's daemon: ${detail}`, isForeign: true }
}

/** Only for a line that failed: names the first thing that is wrong, in the order a reader would look. */
function diagnose(head: JournalHead, line: Buffer): LineFault {
  const damaged = (fault: string): LineFault => ({ fault, isForeign: false })
  let record: Partial<JournalRecord> | null
  try {
    record = JSON.parse(line.toString())
  } catch {
    return damaged('is not a journal record')
  }
  if (typeof record !== 'object' || record?.seq === undefined)
    return damaged('is not a journal record')
  if (record.seq !== head.seq + 1)
    return damaged(`holds record ${record.seq} where record ${head.seq + 1} should be`)
  if (record.prev !== head.hash) return damaged('does not follow the record before it')
  return damaged('was altered: its hash does not match its text')
}

function sha256(data: string | Buffer): Hex {
  return `0x${hash('sha256', data)}`
}
