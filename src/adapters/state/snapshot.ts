import { createHash, hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Adapter, Low } from 'lowdb'
import type { StateImage } from '../../domain/book/fields.ts'
import type { Hex } from '../../domain/units.ts'
import { isMissing, replaceFile } from './durable-file.ts'
import { exactParse, exactStringify } from './exact-json.ts'
import { corrupt } from './journal-reader.ts'

const VERSION = 1
const PART_ENTRIES = 200
/** The digest covers the text before it; its place from the end is fixed. */
const SEAL = /,"digest":"(0x[0-9a-f]{64})"\}\n$/
const SEAL_CHARS = ',"digest":""}\n'.length + 66

/** The fold of the journal's first `seq` records; `hash` is that of record `seq`. */
export type Snapshot = {
  readonly version: number
  readonly seq: number
  readonly hash: Hex
  /** When it was taken. */
  readonly atMs: number
  readonly state: StateImage
}

/**
 * `state.json`: derived from the journal, so that a start replays only the records after it. It also proves how long
 * the journal must be at least.
 */
export class SnapshotFile {
  readonly #file: string
  readonly #low: Low<Snapshot | null>

  constructor(file: string) {
    this.#file = file
    this.#low = new Low<Snapshot | null>(new SealedFile(file), null)
  }

  /** Throws StateCorruptError for a file that is missing, empty, cut or altered. Nothing becomes a default. */
  async read(): Promise<Snapshot> {
    await this.#low.read()
    const { data } = this.#low
    if (data === null) throw corrupt(this.#file, 'it holds no snapshot')
    return data
  }

  /** Replaces the file, durably. Calls must not overlap. */
  async write(snapshot: Omit<Snapshot, 'version'>): Promise<void> {
    this.#low.data = { version: VERSION, ...snapshot }
    await this.#low.write()
  }
}

/** lowdb's own file adapter syncs nothing, uses one temporary name for all, and takes a missing file for no data. */
class SealedFile implements Adapter<Snapshot | null> {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  readonly read = async (): Promise<Snapshot> => {
    return unseal(this.#file, await this.#text())
  }

  readonly write = async (snapshot: Snapshot | null): Promise<void> => {
    if (snapshot === null) return
    const digest = createHash('sha256')
    let text = ''
    for (const part of bodyParts(snapshot)) {
      digest.update(part)
      text += part
      // The image does not change any more, so appends may go on between its parts.
      await new Promise(setImmediate)
    }
    await replaceFile(this.#file, `${text},"digest":"0x${digest.digest('hex')}"}\n`)
  }

  async #text(): Promise<string> {
    try {
      return await readFile(this.#file, 'utf8')
    } catch (error) {
      if (isMissing(error)) throw corrupt(this.#file, 'it is missing although there is a journal')
      throw error
    }
  }
}

/** The snapshot's JSON without its last brace, in parts that each take well under a millisecond to make. */
function* bodyParts({ state, ...head }: Snapshot): Generator<string> {
  yield `${exactStringify(head).slice(0, -1)},"state":{`
  let comma = ''
  for (const [field, value] of Object.entries(state)) {
    if (value === undefined) continue
    yield `${comma}"${field}":`
    comma = ','
    if (Array.isArray(value)) yield* listParts(value)
    else yield exactStringify(value)
  }
  yield '}'
}

function* listParts(list: readonly unknown[]): Generator<string> {
  yield '['
  for (let at = 0; at < list.length; at += PART_ENTRIES) {
    const part = exactStringify(list.slice(at, at + PART_ENTRIES)).slice(1, -1)
    yield at === 0 ? part : `,${part}`
  }
  yield ']'
}

function unseal(file: string, text: string): Snapshot {
  const digest = SEAL.exec(text)?.[1]
  const body = text.slice(0, -SEAL_CHARS)
  if (digest === undefined) throw corrupt(file, 'line 1 is cut short or is no snapshot')
  if (digest !== `0x${hash('sha256', body)}`)
    throw corrupt(file, 'line 1 was altered: its digest does not match its text')
  const snapshot = exactParse(`${body}}`) as Snapshot
  if (snapshot.version !== VERSION)
    throw corrupt(file, `line 1 has format ${snapshot.version}, this program reads ${VERSION}`)
  return snapshot
}
