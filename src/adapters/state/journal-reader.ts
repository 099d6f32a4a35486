import { createReadStream } from 'node:fs'
import type { JournalRecord } from '../../domain/book/journal.ts'
import { StateCorruptError } from '../../domain/errors.ts'
import {
  type CheckedLine,
  checkLine,
  decodeRecord,
  GENESIS,
  type JournalHead,
  LINE_BYTES_MAX,
} from './journal-codec.ts'

const CHUNK_BYTES = 1024 * 1024
const NEWLINE = 0x0a

const RESTORE_REMEDY =
  'Stop the daemon, keep a copy of the whole state directory, and bring back state.json and journal.jsonl together ' +
  'from one backup. Do not delete them: open orders are recorded nowhere else'

/** Follows the chain through a journal's bytes, in whatever pieces they come. Holds one chunk and one line at most. */
export class ChainReader {
  readonly #file: string
  #rest: Buffer = Buffer.alloc(0)
  #head: JournalHead = GENESIS
  #batchHead: JournalHead = GENESIS
  #bytes = 0
  #batchBytes = 0

  constructor(file: string) {
    this.#file = file
  }

  /** Last record of the last append that is complete. */
  get head(): JournalHead {
    return this.#batchHead
  }

  /** Length of the journal up to and with that record; what follows is an append cut short. */
  get bytes(): number {
    return this.#batchBytes
  }

  /** Complete lines in `chunk`, checked. They refer to its memory. Throws StateCorruptError. */
  push(chunk: Buffer): readonly CheckedLine[] {
    const checked: CheckedLine[] = []
    const data = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    let start = 0
    for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, start)) {
      checked.push(this.#follow(data.subarray(start, end)))
      start = end + 1
    }
    this.#rest = data.subarray(start)
    if (this.#rest.length > LINE_BYTES_MAX)
      throw badLine(this.#file, this.#head.seq + 1, 'is longer than any record')
    return checked
  }

  #follow(line: Buffer): CheckedLine {
    const checked = checkLine(this.#head, line)
    if (typeof checked === 'string') throw badLine(this.#file, this.#head.seq + 1, checked)
    this.#head = checked.head
    this.#bytes += line.length + 1
    if (!checked.more) {
      this.#batchHead = this.#head
      this.#batchBytes = this.#bytes
    }
    return checked
  }
}

/** Lines and records count alike, from 1. */
export function badLine(file: string, seq: number, detail: string): StateCorruptError {
  return corrupt(file, `line ${seq} ${detail}`)
}

export function corrupt(file: string, detail: string): StateCorruptError {
  return new StateCorruptError({ file, detail, remedy: RESTORE_REMEDY })
}

/** A journal file's bytes in chunks, up to `bytes` or to its end. */
export async function* readChunks(file: string, bytes = Infinity): AsyncGenerator<Buffer> {
  if (bytes === 0) return
  yield* createReadStream(file, { highWaterMark: CHUNK_BYTES, end: bytes - 1 })
}

/** Records among the first `bytes` of a journal, oldest first, each checked. Throws StateCorruptError. */
export async function* readRecords(file: string, bytes: number): AsyncGenerator<JournalRecord> {
  const reader = new ChainReader(file)
  for await (const chunk of readChunks(file, bytes)) {
    for (const { line } of reader.push(chunk)) yield decodeRecord(line)
  }
  if (reader.bytes !== bytes)
    throw corrupt(file, `it ends at byte ${reader.bytes} of ${bytes} that were read before`)
}
