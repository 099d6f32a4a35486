import { createHash, hash } from 'node:crypto'
import { NewerFormatError, type StateCorruptError, WrongStateError } from '../../domain/errors.ts'
import type { Hex } from '../../domain/money/units.ts'
import type { StateImage } from '../../journal/state/state-image.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { fileSize, moveDurably } from '../../system/durable-file.ts'
import { JsonFile } from '../../system/json-file.ts'
import { exactParse, exactStringify } from './exact-json.ts'
import { badSnapshot, unreadableState } from './state-faults.ts'

const VERSION = 2
const PART_ENTRIES = 200
/** The digest covers the text before it; the MAC covers the digest. */
export const SEAL = /,"digest":"(0x[0-9a-f]{64})"(?:,"mac":"([0-9a-f]{64})")?\}\n$/

/** Snapshots up to this length are cheap. */
const SMALL_BYTES = 64 * 1024
/** Growth of the journal before the next snapshot, as a multiple of the last one, if that was larger. */
const JOURNAL_PER_SNAPSHOT = 4

/**
 * Bytes of journal before the next snapshot. Its cost grows with the state, so large states take fewer, and the cost stays a
 * fraction of that of journal writes.
 */
export function growthPerSnapshot(lastBytes: number, bytesMax: number): number {
  return lastBytes <= SMALL_BYTES ? 0 : Math.min(JOURNAL_PER_SNAPSHOT * lastBytes, bytesMax)
}

/** The state after `seq` records; `hash` is the hash of record `seq`. */
export type Snapshot = {
  readonly version: number
  readonly seq: number
  readonly hash: Hex
  readonly atMs: number
  readonly state: StateImage
}

export type SnapshotReading =
  | { readonly tag: 'sound'; readonly snapshot: Snapshot; readonly hasMac: boolean }
  | { readonly tag: 'missing' }
  /** Truncated, or does not match its own digest. */
  | { readonly tag: 'damaged'; readonly detail: string }
  /** Complete, but not written by the wallet's daemon: another wallet or format, or forged. */
  | {
      readonly tag: 'foreign'
      readonly error: StateCorruptError | WrongStateError | NewerFormatError
    }

/** `state.json`, derived from the journal for faster starts. It also proves a minimum length of the journal. */
export class SnapshotFile {
  readonly #file: string
  readonly #json: JsonFile<Snapshot, SnapshotReading>

  /** With a key, a snapshot by another author is foreign. */
  constructor(file: string, key?: JournalKey) {
    this.#file = file
    this.#json = new JsonFile(file, {
      encode: (snapshot) => seal(snapshot, key),
      decode: (text) => unseal(file, text, key),
    })
  }

  /** The caller decides on each outcome; no fault becomes a default here. */
  async read(): Promise<SnapshotReading> {
    try {
      return (await this.#json.read()) ?? { tag: 'missing' }
    } catch (error) {
      throw unreadableState(this.#file, error)
    }
  }

  /** Replaces the file durably and returns its length. Calls must not overlap. */
  write(snapshot: Omit<Snapshot, 'version'>): Promise<number> {
    return this.#json.write({ version: VERSION, ...snapshot })
  }
}

/** Keeps a damaged snapshot for analysis before it is replaced. */
export async function keepDamaged(file: string): Promise<void> {
  if ((await fileSize(file)) !== undefined) await moveDurably(file, `${file}.damaged`)
}

async function seal(snapshot: Snapshot, key: JournalKey | undefined): Promise<string> {
  const sum = createHash('sha256')
  let text = ''
  for (const part of bodyParts(snapshot)) {
    sum.update(part)
    text += part
    // The image is immutable, so appends may run between its parts.
    await new Promise(setImmediate)
  }
  return text + sealText('snapshot', `0x${sum.digest('hex')}`, key)
}

/** The end of a JSON object whose text so far has this digest. */
export function sealText(
  what: 'snapshot' | 'index',
  digest: Hex,
  key: JournalKey | undefined,
): string {
  const mac = key === undefined ? '' : `,"mac":"${key.macOf(what, digest)}"`
  return `,"digest":"${digest}"${mac}}\n`
}

/** The snapshot's JSON without its last brace, in parts of well under 1 ms each. */
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

function unseal(file: string, text: string, key: JournalKey | undefined): SnapshotReading {
  const seal = SEAL.exec(text)
  if (seal === null) return { tag: 'damaged', detail: 'line 1 is cut short or is no snapshot' }
  const [, digest, mac] = seal as unknown as [string, Hex, string | undefined]
  const body = text.slice(0, seal.index)
  if (digest !== `0x${hash('sha256', body)}`)
    return { tag: 'damaged', detail: 'line 1 was altered: its digest does not match its text' }
  const snapshot = exactParse(`${body}}`) as Snapshot
  if (snapshot.version > VERSION)
    return {
      tag: 'foreign',
      error: new NewerFormatError(file, `it has format ${snapshot.version}`),
    }
  if (snapshot.version !== VERSION)
    return {
      tag: 'foreign',
      error: badSnapshot(file, `line 1 has format ${snapshot.version}, and not ${VERSION}`),
    }
  if (key === undefined || mac === key.macOf('snapshot', digest))
    return { tag: 'sound', snapshot, hasMac: mac !== undefined }
  const other = otherOwner(snapshot, { hasMac: mac !== undefined, key })
  if (other !== undefined) return { tag: 'foreign', error: new WrongStateError(other) }
  const what = mac === undefined ? 'it carries no MAC' : "its MAC is not by this wallet's key"
  const detail = `line 1 was not written by this wallet's daemon: ${what}`
  return { tag: 'foreign', error: badSnapshot(file, detail) }
}

/** Usually no forgery, but a config that names another wallet, or a dry run that goes live. */
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
