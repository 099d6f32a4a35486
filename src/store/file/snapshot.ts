import { createHash, hash } from 'node:crypto'
import { type Adapter, Low } from 'lowdb'
import type { StateImage } from '../../domain/book/fields.ts'
import { type StateCorruptError, WrongStateError } from '../../domain/errors.ts'
import type { Hex } from '../../domain/units.ts'
import { readRegular } from '../../files/regular-file.ts'
import type { JournalKey } from '../keys/journal-key.ts'
import { fileSize, isMissing, moveDurably, replaceFile } from './durable-file.ts'
import { exactParse, exactStringify } from './exact-json.ts'
import { badSnapshot, unreadableState } from './state-faults.ts'

const VERSION = 2
/** As format 1 of the journal has it: without a MAC. */
export const FORMER_SNAPSHOT_VERSION = 1
const PART_ENTRIES = 200
/** The digest covers the text before it, the MAC the digest. */
const SEAL = /,"digest":"(0x[0-9a-f]{64})"(?:,"mac":"([0-9a-f]{64})")?\}\n$/

/** The fold of the journal's first `seq` records; `hash` is that of record `seq`. */
export type Snapshot = {
  readonly version: number
  readonly seq: number
  readonly hash: Hex
  /** When it was taken. */
  readonly atMs: number
  readonly state: StateImage
}

/** What there is of a snapshot. */
export type SnapshotReading =
  | { readonly tag: 'sound'; readonly snapshot: Snapshot; readonly hasMac: boolean }
  | { readonly tag: 'missing' }
  /** Not as anybody wrote it: its text is cut short, or does not fit its own digest. */
  | { readonly tag: 'damaged'; readonly detail: string }
  /** Whole, and not by the wallet's daemon: of another wallet or format, or forged. */
  | { readonly tag: 'foreign'; readonly error: StateCorruptError | WrongStateError }

export type SnapshotOptions = {
  /** With it, a snapshot by anybody else is refused. */
  readonly key?: JournalKey | undefined
  readonly version?: number
}

/**
 * `state.json`: derived from the journal, so that a start replays only the records after it. It also proves how long
 * the journal must be at least.
 */
export class SnapshotFile {
  readonly #low: Low<Snapshot | null>
  readonly #file: SealedFile

  constructor(file: string, key?: JournalKey) {
    this.#file = new SealedFile(file, key)
    this.#low = new Low<Snapshot | null>(this.#file, null)
  }

  /** Replaces the file, durably; gives its length. Calls must not overlap. */
  async write(snapshot: Omit<Snapshot, 'version'>): Promise<number> {
    this.#low.data = { version: VERSION, ...snapshot }
    try {
      await this.#low.write()
    } finally {
      // The image of a large state is not to be held until the next one.
      this.#low.data = null
    }
    return this.#file.length
  }
}

/** Reads `state.json` for whoever decides what comes of it: nothing becomes a default here. */
export async function readSnapshot(
  file: string,
  options: SnapshotOptions = {},
): Promise<SnapshotReading> {
  let text: string
  try {
    text = readRegular(file, Number.POSITIVE_INFINITY).data.toString()
  } catch (error) {
    if (isMissing(error)) return { tag: 'missing' }
    throw unreadableState(file, error)
  }
  return unseal(file, text, options)
}

/** Keeps a snapshot that another is to replace beside it, for whoever wants to know what happened to it. */
export async function keepDamaged(file: string): Promise<void> {
  if ((await fileSize(file)) !== undefined) await moveDurably(file, `${file}.damaged`)
}

/** lowdb's own file adapter syncs nothing, and uses one temporary name for all. */
class SealedFile implements Adapter<Snapshot | null> {
  readonly #file: string
  readonly #key: JournalKey | undefined
  /** Of what was written last. */
  length = 0

  constructor(file: string, key: JournalKey | undefined) {
    this.#file = file
    this.#key = key
  }

  /** Reading can end in more ways than lowdb has words for. */
  readonly read = async (): Promise<null> => null

  readonly write = async (snapshot: Snapshot | null): Promise<void> => {
    if (snapshot === null) return
    const sum = createHash('sha256')
    let text = ''
    for (const part of bodyParts(snapshot)) {
      sum.update(part)
      text += part
      // The image does not change any more, so appends may go on between its parts.
      await new Promise(setImmediate)
    }
    const digest: Hex = `0x${sum.digest('hex')}`
    const mac = this.#key === undefined ? '' : `,"mac":"${this.#key.macOf('snapshot', digest)}"`
    const sealed = `${text},"digest":"${digest}"${mac}}\n`
    await replaceFile(this.#file, sealed)
    this.length = sealed.length
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

function unseal(
  file: string,
  text: string,
  { key, version = VERSION }: SnapshotOptions,
): SnapshotReading {
  const seal = SEAL.exec(text)
  if (seal === null) return { tag: 'damaged', detail: 'line 1 is cut short or is no snapshot' }
  const [, digest, mac] = seal as unknown as [string, Hex, string | undefined]
  const body = text.slice(0, seal.index)
  if (digest !== `0x${hash('sha256', body)}`)
    return { tag: 'damaged', detail: 'line 1 was altered: its digest does not match its text' }
  const snapshot = exactParse(`${body}}`) as Snapshot
  if (snapshot.version !== version)
    return {
      tag: 'foreign',
      error: badSnapshot(file, `line 1 has format ${snapshot.version}, and not ${version}`),
    }
  if (key === undefined || mac === key.macOf('snapshot', digest))
    return { tag: 'sound', snapshot, hasMac: mac !== undefined }
  const other = otherOwner(snapshot, { hasMac: mac !== undefined, key })
  if (other !== undefined) return { tag: 'foreign', error: new WrongStateError(other) }
  const what = mac === undefined ? 'it carries no MAC' : "its MAC is not by this wallet's key"
  const detail = `line 1 was not written by this wallet's daemon: ${what}`
  return { tag: 'foreign', error: badSnapshot(file, detail) }
}

/** Most often it is no forgery but a config that names another wallet, or a dry-run that is to become live. */
function otherOwner(
  { state: { bound } }: Snapshot,
  { hasMac, key }: { readonly hasMac: boolean; readonly key: JournalKey },
): string | undefined {
  if (bound !== undefined && bound.owner !== key.address)
    return `the state directory belongs to wallet ${bound.owner}, the config names ${key.address}: use another stateDir`
  if (!hasMac && bound?.mode === 'dry-run')
    return 'the state directory belongs to a daemon in mode dry-run, which signs nothing and has no key: use another stateDir'
  return undefined
}
