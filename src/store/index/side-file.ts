import { hash } from 'node:crypto'
import { type FileHandle, open, rename, writeFile } from 'node:fs/promises'
import { codeOf } from '../../domain/errors.ts'
import type { Address, Hex } from '../../domain/money/units.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { fileSize, PRIVATE_FILE } from '../../system/durable-file.ts'
import { exactParse, exactStringify } from '../file/exact-json.ts'
import { type Segment, sideFileOf } from '../file/segments.ts'
import { SEAL, sealText } from '../file/snapshot.ts'

/**
 * What is known of one finished journal file, beside it: a header on the first line, then parts of one JSON value a line. The
 * header carries a digest of each part and a MAC, so that each is read alone. A file that does not fit is ignored.
 */
const PARTS = ['marks', 'posted', 'state', 'ledger', 'fifo', 'average'] as const
export type PartName = (typeof PARTS)[number]

type Header = {
  /** Version of the program that made it: another may derive other values. */
  readonly madeBy: string
  readonly firstSeq: number
  readonly lastSeq: number
  /** Hash of the record before the first one, and of the last one. */
  readonly prev: Hex
  readonly hash: Hex
  /** Length of the journal file. */
  readonly bytes: number
  /** Time of the latest ledger entry, epoch ms. */
  readonly untilMs: number
  /** First and last slot of each strategy that has a mark. */
  readonly strategies: readonly (readonly [name: string, first: number, last: number])[]
  /** Value token of the ledger in it; undefined without one. */
  readonly ledgerIn?: Address | undefined
  readonly parts: { readonly [Name in PartName]?: Part }
}

/** Offset from the end of the header. */
type Part = { readonly at: number; readonly bytes: number; readonly digest: Hex }

export type SideFile = Header & { readonly file: string; readonly headerBytes: number }

type SideOptions = { readonly key?: JournalKey | undefined; readonly madeBy: string }

const HEAD_BYTES = 16 * 1024
/** Longer than the end of any record from its hash on. */
const TAIL_BYTES = 192
const TAIL = /,"hash":"(0x[0-9a-f]{64})"(?:,"mac":"[0-9a-f]{64}")?\}\n$/
const NEWLINE = 0x0a

/** A part does not match its header. */
export class UnfitSideFileError extends Error {
  readonly file: string

  constructor(file: string) {
    super(`${file} was altered`)
    this.file = file
  }
}

/** Replaces a segment's side file. Not synced: a torn one does not fit, and is made again. */
export async function writeSideFile(
  segment: Segment,
  header: Omit<Header, 'madeBy' | 'parts'>,
  parts: { readonly [Name in PartName]?: Iterable<unknown> },
  { key, madeBy, rest }: SideOptions & { readonly rest: () => Promise<unknown> },
): Promise<SideFile> {
  const places: { [Name in PartName]?: Part } = {}
  let body = ''
  let at = 0
  for (const name of PARTS) {
    let text = ''
    for (const value of parts[name] ?? []) {
      text += `${exactStringify(value)}\n`
      await rest()
    }
    if (text === '') continue
    const bytes = Buffer.byteLength(text)
    places[name] = { at, bytes, digest: digestOf(text) }
    at += bytes
    body += text
  }
  const complete: Header = { madeBy, ...header, parts: places }
  const head = exactStringify(complete).slice(0, -1)
  const line = head + sealText('index', digestOf(head), key)
  const file = sideFileOf(segment.file)
  await writeFile(`${file}.tmp`, line + body, { mode: PRIVATE_FILE })
  await rename(`${file}.tmp`, file)
  return { ...complete, file, headerBytes: Buffer.byteLength(line) }
}

/** Undefined if it is missing, altered, made by another version, or not of this segment. */
export async function readSideFile(
  segment: Segment,
  { key, madeBy }: SideOptions,
): Promise<SideFile | undefined> {
  const side = await readHeader(segment, key)
  return side?.madeBy === madeBy ? side : undefined
}

/** Side files that are there and do not fit, by name. Reads each as a whole. */
export async function unfitSideFiles(
  segments: readonly Segment[],
  key: JournalKey | undefined,
): Promise<readonly string[]> {
  const unfit: string[] = []
  for (const segment of segments) {
    const file = sideFileOf(segment.file)
    if ((await fileSize(file)) === undefined) continue
    const side = await readHeader(segment, key)
    if (side === undefined || !(await isWhole(side))) unfit.push(file)
  }
  return unfit
}

async function isWhole(side: SideFile): Promise<boolean> {
  for (const name of PARTS) if ((await dataOf(side, name)) === 'unfit') return false
  return true
}

async function readHeader(
  segment: Segment,
  key: JournalKey | undefined,
): Promise<SideFile | undefined> {
  const file = sideFileOf(segment.file)
  const line = await reading(file, firstLine)
  const seal = line && SEAL.exec(line)
  if (!line || !seal) return undefined
  const [, digest, mac] = seal
  const head = line.slice(0, seal.index)
  if (digest !== digestOf(head)) return undefined
  if (key !== undefined && mac !== key.macOf('index', digest as Hex)) return undefined
  const header = exactParse(`${head}}`) as Header
  if (header.firstSeq !== segment.firstSeq) return undefined
  const end = await reading(segment.file, lastHash)
  if (end?.bytes !== header.bytes || end.hash !== header.hash) return undefined
  return { ...header, file, headerBytes: Buffer.byteLength(line) }
}

/** The values of a part; none if the file has no such part. Throws UnfitSideFileError. */
export async function* readPart(side: SideFile, name: PartName): AsyncGenerator<unknown> {
  const data = await dataOf(side, name)
  if (data === 'unfit') throw new UnfitSideFileError(side.file)
  let start = 0
  for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, start)) {
    yield exactParse(data.toString('utf8', start, end))
    start = end + 1
  }
}

/** Empty if the file has no such part. */
async function dataOf(
  { file, headerBytes, parts }: SideFile,
  name: PartName,
): Promise<Buffer | 'unfit'> {
  const part = parts[name]
  if (part === undefined) return Buffer.alloc(0)
  const data = await reading(file, (handle) => bytesOf(handle, headerBytes + part.at, part.bytes))
  return data === undefined || digestOf(data) !== part.digest ? 'unfit' : data
}

/** Entries of a list on one line. */
const LINE_ENTRIES = 100

/** Lines of a list, for `readPart`. */
export function* linesOf<Item>(list: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < list.length; at += LINE_ENTRIES) yield list.slice(at, at + LINE_ENTRIES)
}

/** Lines of an object whose lists may be long. */
export function* imageLines(image: object): Generator<unknown> {
  for (const [field, value] of Object.entries(image)) {
    if (value === undefined) continue
    if (!Array.isArray(value)) yield [field, value]
    else {
      yield [field, []]
      for (const part of linesOf(value)) yield [field, part]
    }
  }
}

/** The object of such lines; undefined without any. */
export async function imageIn<Image extends object>(
  lines: AsyncIterable<unknown>,
): Promise<Image | undefined> {
  let image: Record<string, unknown> | undefined
  for await (const line of lines) {
    const [field, value] = line as [string, unknown]
    image ??= {}
    const known = image[field]
    if (Array.isArray(known)) known.push(...(value as readonly unknown[]))
    else image[field] = value
  }
  return image as Image | undefined
}

function digestOf(data: string | Buffer): Hex {
  return `0x${hash('sha256', data)}`
}

/** Undefined if the file cannot be read, which counts as missing: a reader of the journal says what is wrong with that. */
async function reading<Result>(
  file: string,
  read: (handle: FileHandle) => Promise<Result>,
): Promise<Result | undefined> {
  const handle = await open(file, 'r').catch(() => undefined)
  try {
    return handle && (await read(handle))
  } catch (error) {
    if (codeOf(error) === undefined) throw error
    return undefined
  } finally {
    await handle?.close()
  }
}

async function bytesOf(handle: FileHandle, from: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, from)
  return buffer.subarray(0, bytesRead)
}

async function firstLine(handle: FileHandle): Promise<string> {
  let head = await bytesOf(handle, 0, HEAD_BYTES)
  if (!head.includes(NEWLINE)) head = await bytesOf(handle, 0, (await handle.stat()).size)
  return head.toString('utf8', 0, head.indexOf(NEWLINE) + 1)
}

async function lastHash(
  handle: FileHandle,
): Promise<{ readonly bytes: number; readonly hash: string | undefined }> {
  const { size: bytes } = await handle.stat()
  const tail = await bytesOf(handle, Math.max(0, bytes - TAIL_BYTES), TAIL_BYTES)
  return { bytes, hash: TAIL.exec(tail.toString('latin1'))?.[1] }
}
