import { hash, randomBytes } from 'node:crypto'
import { constants, statSync } from 'node:fs'
import { copyFile, type FileHandle, link, open, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf, NewerFormatError } from '../../domain/errors.ts'
import type { Anchor, AnchorOwner } from '../../journal/anchor.ts'
import {
  ensureDirectory,
  ifThereNow,
  PRIVATE_FILE,
  replaceFile,
  syncFile,
} from '../../system/durable-file.ts'
import { readRegular } from '../../system/regular-file.ts'

/**
 * File format: two slots, each one line of JSON with its own digest, padded with blanks. A write overwrites the older slot
 * and syncs, so a write torn by a power cut leaves the newer slot intact.
 *
 * {"format":1,"writes":12,"wallet":"0x...",...,"check":"<sha256 of the line without this field>"}
 */
const FORMAT = 1
const SLOTS = 2
/** Larger than any sector that a disk writes atomically. */
const SLOT_BYTES = 4_096
/** The only field without a fixed length; used only in messages. */
const DIRECTORY_CHARS_MAX = 1_000

export type AnchorPlace = AnchorOwner & {
  readonly name: string
  readonly file: string
}

type Slot = { readonly anchor: Anchor; readonly writes: number }

/** The file exists, but neither slot is valid. */
export class AnchorDamagedError extends Error {
  override readonly name = 'AnchorDamagedError'
}

/** Undefined if the file is missing. Throws AnchorDamagedError if neither slot is valid, NewerFormatError for a later format. */
export async function readAnchor(file: string): Promise<Anchor | undefined> {
  return (await newestSlot(file))?.anchor
}

/** Error codes of a file system without hard links. */
const WITHOUT_LINKS: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** Creates an anchor durably. Fails with EEXIST if the file exists. */
export async function createAnchor(file: string, anchor: Anchor): Promise<void> {
  await ensureDirectory(dirname(file))
  const whole = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    await writeFile(whole, fileOf({ anchor, writes: 1 }), { flag: 'wx', mode: PRIVATE_FILE })
    await syncFile(whole)
    await link(whole, file).catch((error) => {
      if (!WITHOUT_LINKS.includes(codeOf(error) ?? '')) throw error
      return copyFile(whole, file, constants.COPYFILE_EXCL)
    })
    await syncFile(file)
    await syncFile(dirname(file))
  } finally {
    await rm(whole, { force: true })
  }
}

/** Replaces the file with a new one, so that writers of the old file no longer affect it. */
export async function replaceAnchor(file: string, anchor: Anchor): Promise<void> {
  await ensureDirectory(dirname(file))
  await replaceFile(file, fileOf({ anchor, writes: 1 }))
}

/** An anchor that is kept up to date. Writes must not overlap. */
export type OpenAnchor = {
  /** Durable once it resolves. */
  write(anchor: Anchor): Promise<void>
  /** True if the path still names the open file. */
  isInPlace(): boolean
  close(): Promise<void>
}

/** On Linux a write returns once its bytes are on disk (O_DSYNC), like the journal's writes. */
export async function openAnchor(file: string): Promise<OpenAnchor> {
  const writesThrough = process.platform === 'linux'
  const handle = await open(file, constants.O_RDWR | (writesThrough ? constants.O_DSYNC : 0))
  const own = await handle.stat({ bigint: true })
  let writes = (await newestSlot(file))?.writes ?? 0
  return {
    async write(anchor) {
      writes += 1
      const at = (writes % SLOTS) * SLOT_BYTES
      await writeWhole(handle, Buffer.from(lineOf({ anchor, writes })), at)
      if (!writesThrough) await handle.datasync()
    },
    isInPlace() {
      const there = statSync(file, { bigint: true, throwIfNoEntry: false })
      return there?.ino === own.ino && there.dev === own.dev
    },
    close: () => handle.close(),
  }
}

async function writeWhole(handle: FileHandle, data: Uint8Array, at: number): Promise<void> {
  const { bytesWritten } = await handle.write(data, 0, data.length, at)
  if (bytesWritten < data.length)
    throw Object.assign(new Error('the disk takes no more bytes'), { code: 'ENOSPC' })
}

/** Both slots start out equal. */
function fileOf({ anchor, writes }: Slot): string {
  return lineOf({ anchor, writes: writes - 1 }) + lineOf({ anchor, writes })
}

function lineOf({ anchor, writes }: Slot): string {
  const stateDir = anchor.stateDir.slice(0, DIRECTORY_CHARS_MAX)
  const body = JSON.stringify({ format: FORMAT, writes, ...anchor, stateDir })
  const line = `${body.slice(0, -1)},"check":"${hash('sha256', body)}"}`
  return `${line}${' '.repeat(SLOT_BYTES - 1 - Buffer.byteLength(line))}\n`
}

const CHECK = /,"check":"([0-9a-f]{64})"\} *\n$/

async function newestSlot(file: string): Promise<Slot | undefined> {
  const read = ifThereNow(() => readRegular(file, Number.POSITIVE_INFINITY))
  if (read === undefined) return undefined
  const slots = Array.from({ length: SLOTS }, (_, index) =>
    slotOf(file, read.data.toString('utf8', index * SLOT_BYTES, (index + 1) * SLOT_BYTES)),
  ).flatMap((slot) => slot ?? [])
  const [newest] = slots.toSorted((a, b) => b.writes - a.writes)
  if (newest === undefined) throw new AnchorDamagedError(`${file}: no part of it is whole`)
  return newest
}

function slotOf(file: string, text: string): Slot | undefined {
  const found = CHECK.exec(text)
  if (found === null) return undefined
  const body = `${text.slice(0, found.index)}}`
  if (hash('sha256', body) !== found[1]) return undefined
  const { format, writes, ...anchor } = JSON.parse(body) as Anchor & {
    readonly format: number
    readonly writes: number
  }
  if (format > FORMAT) throw new NewerFormatError(file, `it has format ${format}`)
  return format === FORMAT ? { anchor, writes } : undefined
}
