import { type FileHandle, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  ensureDirectory,
  fileSize,
  isFull,
  isMissing,
  moveDurably,
  PRIVATE_FILE,
  removeLeftovers,
  replaceFile,
} from '../state/durable-file.ts'
import type { Log } from '../tell/log.ts'
import { type Condition, readCondition } from './conditions.ts'
import { type Message, readMessage } from './message.ts'

/** Summaries that are sent once for each of these. */
export type OutboxPeriod = 'daily' | 'weekly'

/** One change of the outbox, a line of its file. What is true is the sum of them. */
export type OutboxLine =
  | { readonly put: Message; readonly to: readonly string[] }
  | { readonly end: string; readonly of: string }
  | { readonly condition: Condition }
  | { readonly over: string }
  | { readonly period: OutboxPeriod; readonly untilSeconds: number }
  | { readonly taken: number }

/** The file of an outbox, as it was found. */
export type OutboxFile = {
  readonly lines: readonly OutboxLine[]
  /**
   * Adds lines, durably; or, where that could not be done before, or the file has grown long, writes it anew as `image` says. False
   * where the disk takes nothing, or took nothing just before, unless this is the `last` try. Never rejects. One call at a time.
   */
  append(
    lines: readonly OutboxLine[],
    nowMs: number,
    image: () => readonly OutboxLine[],
    last?: 'last',
  ): Promise<boolean>
  /** The next write has to be of the whole. */
  spoil(): void
  close(): Promise<void>
}

const HEADER = '{"outbox":1}\n'
/** Longer ones were not written by this. */
const READ_BYTES_MAX = 64 * 1024 * 1024
/** A file is written anew when it is longer than this, and than three times what was in it then. */
const SMALL_BYTES = 256 * 1024
const GROWTH = 3
/** How soon a disk that took nothing is tried again; twice as late each time, up to the second. */
const RETRY_MS_MIN = 1_000
const RETRY_MS_MAX = 30_000

/** Where an outbox is kept in a state directory. */
export function outboxFileOf(stateDir: string): string {
  return join(stateDir, 'outbox', 'messages.jsonl')
}

/**
 * Reads the outbox of a state directory that this process holds. What cannot be read is told and left out: whatever is wrong with
 * messages, orders do not wait for it. `mayWrite` is asked before each write: a process that was overtaken writes nothing.
 */
export async function openOutboxFile(
  stateDir: string,
  { log, mayWrite }: { readonly log: Log; readonly mayWrite: () => boolean },
): Promise<OutboxFile> {
  const file = outboxFileOf(stateDir)
  const found = await readLines(file, log)
  return new AppendedFile({ file, log, mayWrite, ...found })
}

type Found = { readonly lines: readonly OutboxLine[]; readonly mustRewrite: boolean }

async function readLines(file: string, log: Log): Promise<Found> {
  try {
    await ensureDirectory(join(file, '..'))
    await removeLeftovers(file)
    const bytes = await fileSize(file)
    if (bytes === undefined) return { lines: [], mustRewrite: true }
    if (bytes > READ_BYTES_MAX) throw new Error(`it is ${bytes} bytes long`)
    return parse(await readFile(file, 'utf8'), (bad) =>
      log.warn(`${file}: ${bad} lines could not be read and are left out`, { event: 'outbox' }),
    )
  } catch (error) {
    log.warn(`${file}: ${reasonOf(error)}; messages that waited there are not sent`, {
      event: 'outbox',
    })
    await moveDurably(file, `${file}.damaged`).catch(() => undefined)
    return { lines: [], mustRewrite: true }
  }
}

function parse(text: string, onBad: (count: number) => void): Found {
  const rows = text.split('\n')
  // A crash cuts the last append short: what it held is in the journal still.
  const torn = rows.pop() ?? ''
  const lines: OutboxLine[] = []
  let bad = 0
  for (const row of rows) {
    const line = readLine(row)
    if (line === 'header') continue
    if (line === undefined) bad += 1
    else lines.push(line)
  }
  if (bad > 0) onBad(bad)
  return { lines, mustRewrite: torn !== '' || bad > 0 || rows.length === 0 }
}

function readLine(row: string): OutboxLine | 'header' | undefined {
  let value: unknown
  try {
    value = JSON.parse(row)
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const line = value as Readonly<Record<string, unknown>>
  if ('outbox' in line) return 'header'
  return isSound(line) ? (value as OutboxLine) : undefined
}

function isSound(line: Readonly<Record<string, unknown>>): boolean {
  if ('put' in line)
    return (
      readMessage(line['put']) !== undefined &&
      Array.isArray(line['to']) &&
      line['to'].every((to) => typeof to === 'string')
    )
  if ('end' in line) return typeof line['end'] === 'string' && typeof line['of'] === 'string'
  if ('condition' in line) return readCondition(line['condition']) !== undefined
  if ('over' in line) return typeof line['over'] === 'string'
  if ('period' in line)
    return (
      (line['period'] === 'daily' || line['period'] === 'weekly') &&
      Number.isSafeInteger(line['untilSeconds'])
    )
  return Number.isSafeInteger(line['taken'])
}

type Parts = Found & {
  readonly file: string
  readonly log: Log
  readonly mayWrite: () => boolean
}

class AppendedFile implements OutboxFile {
  readonly lines: readonly OutboxLine[]
  readonly #file: string
  readonly #log: Log
  readonly #mayWrite: () => boolean
  #handle: FileHandle | undefined
  #mustRewrite: boolean
  #bytes = 0
  #bytesAnew = 0
  #failedAtMs: number | undefined
  #retryMs = RETRY_MS_MIN

  constructor({ lines, mustRewrite, file, log, mayWrite }: Parts) {
    this.lines = lines
    this.#mustRewrite = mustRewrite
    this.#file = file
    this.#log = log
    this.#mayWrite = mayWrite
  }

  async append(
    lines: readonly OutboxLine[],
    nowMs: number,
    image: () => readonly OutboxLine[],
    last?: 'last',
  ): Promise<boolean> {
    if (!this.#mayWrite()) return false
    const failedMs = this.#failedAtMs
    const isTooSoon = failedMs !== undefined && Math.abs(nowMs - failedMs) < this.#retryMs
    if (isTooSoon && last === undefined) return false
    try {
      if (this.#isDueAnew()) await this.#writeAnew(image())
      else await this.#add(textOf(lines))
      if (failedMs !== undefined)
        this.#log.info('the outbox can be written again', { event: 'outbox' })
      this.#failedAtMs = undefined
      this.#retryMs = RETRY_MS_MIN
      return true
    } catch (error) {
      await this.#spoilt(error, nowMs)
      return isFull(error) && (await this.#writeOver(image()))
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close().catch(() => undefined)
    this.#handle = undefined
  }

  spoil(): void {
    this.#mustRewrite = true
  }

  #isDueAnew(): boolean {
    const limit = Math.max(SMALL_BYTES, GROWTH * this.#bytesAnew)
    return this.#mustRewrite || this.#bytes > limit
  }

  async #writeAnew(lines: readonly OutboxLine[]): Promise<void> {
    const text = HEADER + textOf(lines)
    await this.close()
    await ensureDirectory(join(this.#file, '..'))
    await replaceFile(this.#file, text)
    this.#bytes = text.length
    this.#bytesAnew = text.length
    this.#mustRewrite = false
  }

  /**
   * On a full disk: in the room that the file has. What has arrived since is mostly more than what waits, and would all be sent
   * again. False where there is not enough of it.
   */
  async #writeOver(lines: readonly OutboxLine[]): Promise<boolean> {
    const text = Buffer.from(HEADER + textOf(lines))
    try {
      const handle = await open(this.#file, 'r+')
      try {
        if (text.length > (await handle.stat()).size) return false
        await handle.write(text, 0, text.length, 0)
        await handle.datasync()
        await handle.truncate(text.length)
        await handle.datasync()
        return true
      } finally {
        await handle.close()
      }
    } catch {
      // The next try is told of, as any other.
      return false
    }
  }

  async #add(text: string): Promise<void> {
    this.#handle ??= await open(this.#file, 'a', PRIVATE_FILE)
    await this.#handle.appendFile(text)
    await this.#handle.datasync()
    this.#bytes += text.length
  }

  /** What was written in part is not gone on with: the next try writes the whole file anew. */
  async #spoilt(error: unknown, nowMs: number): Promise<void> {
    if (this.#failedAtMs === undefined)
      this.#log.error(
        `the outbox cannot be written (${reasonOf(error)}): messages are sent all the same, but those that are not sent when the daemon ends may be lost`,
        { event: 'outbox' },
      )
    else this.#retryMs = Math.min(RETRY_MS_MAX, 2 * this.#retryMs)
    this.#failedAtMs = nowMs
    this.#mustRewrite = true
    await this.close()
  }
}

function textOf(lines: readonly OutboxLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

function reasonOf(error: unknown): string {
  if (isMissing(error)) return 'the file is gone'
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code === 'string') return code
  return error instanceof Error ? error.message : String(error)
}
