import { hash } from 'node:crypto'
import type { Hex } from '../../domain/money/units.ts'
import type { JournalEvent, JournalRecord } from '../../journal/events/registry.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { exactParse, exactStringify } from './exact-json.ts'

/**
 * One record per line:
 *
 * {"seq":7,"atMs":1800000000000,"event":{...},"prev":"0x<64>","hash":"0x<64>","mac":"<64>"}
 *
 * `hash` is the SHA-256 of the line up to, excluding, `,"hash":`. It covers `prev` and the text itself, so a line is
 * checked without parsing. `mac` covers `hash` under the wallet's journal key, and thereby all earlier records; a dry run
 * has no key and omits it. `"more":true` after the event means that the next record belongs to the same append: a crash
 * keeps all of them or none.
 */
export type JournalHead = { readonly seq: number; readonly hash: Hex }

/** The first record's `prev`. */
export const GENESIS: JournalHead = { seq: 0, hash: sha256('tranched journal, format 2') }

/** Longest line including the newline. Bounds a reader's memory if newlines are missing. */
export const LINE_BYTES_MAX = 4 * 1024 * 1024

const MORE = ',"more":true'
const DIGEST_BYTES = 2 + 64
const PREV_BYTES = ',"prev":""'.length + DIGEST_BYTES
const HASH_BYTES = ',"hash":""'.length + DIGEST_BYTES
const MAC_OPENS = ',"mac":"'
const MAC_DIGITS = 64
const MAC_BYTES = MAC_OPENS.length + MAC_DIGITS + 1
const MAC = /^[0-9a-f]{64}$/
const SEAL_BYTES_MAX = HASH_BYTES + MAC_BYTES + 1

/** Lines of one append, which is atomic. */
type EncodedRecords = { readonly text: string; readonly head: JournalHead }

/** Throws TypeError for an event that JSON cannot hold, RangeError for one that exceeds the longest line. */
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

function sealed(body: string, own: Hex, key: JournalKey | undefined): string {
  const mac = key === undefined ? '' : `${MAC_OPENS}${key.macOf('record', own)}"`
  return `${body},"hash":"${own}"${mac}}\n`
}

/** A line that follows its predecessor; `line` has no newline. */
export type CheckedLine = {
  readonly head: JournalHead
  /** More records of the same append follow. */
  readonly more: boolean
  /** True if it has a MAC, which is valid if a key was given. */
  readonly hasMac: boolean
  readonly line: Buffer
}

export type LineFault = {
  readonly fault: string
  /** A complete record in the right place, but made without the wallet's key. */
  readonly isForeign: boolean
}

/** Checks that a line follows `head` and, given a key, that the wallet's daemon wrote it. */
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

/** The `prev` hash of a line; undefined if the line is not a record. */
export function predecessorOf(line: Buffer): Hex | undefined {
  const { bodyBytes } = partsOf(line)
  const text = line.toString('latin1', Math.max(0, bodyBytes - PREV_BYTES), Math.max(0, bodyBytes))
  return PREV.exec(text)?.[1] as Hex | undefined
}

const PREV = /^,"prev":"(0x[0-9a-f]{64})"$/

/** Length of the body, and the MAC. Offsets count from the end, where every part has a fixed length. */
function partsOf(line: Buffer): { readonly bodyBytes: number; readonly mac: string | undefined } {
  const macAt = line.length - 1 - MAC_BYTES
  const digitsAt = macAt + MAC_OPENS.length
  const mac = line.toString('latin1', Math.max(0, digitsAt), Math.max(0, digitsAt + MAC_DIGITS))
  const hasMac =
    macAt > 0 && line.toString('latin1', macAt, digitsAt) === MAC_OPENS && MAC.test(mac)
  if (hasMac) return { bodyBytes: macAt - HASH_BYTES, mac }
  return { bodyBytes: line.length - 1 - HASH_BYTES, mac: undefined }
}

export function decodeRecord(line: Buffer | string): JournalRecord {
  const { seq, atMs, event, prev, hash: own } = exactParse(line.toString()) as JournalRecord
  return { seq, atMs, event, prev, hash: own }
}

export function decodeRecords(text: string): readonly JournalRecord[] {
  return text.split('\n').slice(0, -1).map(decodeRecord)
}

/** A line in the right place that the wallet's daemon did not write. */
export function foreign(detail: string): LineFault {
  return { fault: `was not written by this wallet's daemon: ${detail}`, isForeign: true }
}

/** For invalid lines only: names the first error in reading order. */
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
