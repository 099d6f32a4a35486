import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import {
  ensureDirectory,
  fileSize,
  isFull,
  isMissing,
  moveDurably,
  PRIVATE_FILE,
  removeLeftovers,
} from '../../system/durable-file.ts'
import { JsonFile } from '../../system/json-file.ts'
import type { Log } from '../log.ts'
import { conditionSchema, messageSchema } from './message.ts'

export type OutboxPeriod = 'daily' | 'weekly'

const lineSchema = z.union([
  z.object({ put: messageSchema, to: z.array(z.string()).readonly() }),
  z.object({ end: z.string(), of: z.string() }),
  z.object({ condition: conditionSchema }),
  z.object({ over: z.string() }),
  z.object({ period: z.enum(['daily', 'weekly']), untilSeconds: z.int() }),
  z.object({ taken: z.int() }),
])

/** One change of the outbox, a line of its file. The lines add up to its state. */
export type OutboxLine = Readonly<z.output<typeof lineSchema>>

const fileLineSchema = z.union([z.object({ outbox: z.number() }), lineSchema])

export type OutboxFile = {
  readonly lines: readonly OutboxLine[]
  /**
   * Appends lines durably, or rewrites the file as `image` says if an append failed before or the file has grown long. False if the
   * disk takes nothing, or took nothing just before, unless this is the `last` try. Never rejects. One call at a time.
   */
  append(
    lines: readonly OutboxLine[],
    nowMs: number,
    image: () => readonly OutboxLine[],
    last?: 'last',
  ): Promise<boolean>
  /** The next write rewrites the whole file. */
  spoil(): void
  close(): Promise<void>
}

const HEADER = '{"outbox":1}\n'
/** Longer files were not written here. */
const READ_BYTES_MAX = 64 * 1024 * 1024
/** A file is rewritten when it exceeds this, and three times its content. */
const SMALL_BYTES = 256 * 1024
const GROWTH = 3
/** Retry after a failed write; doubled each time, up to the maximum. */
const RETRY_MS_MIN = 1_000
const RETRY_MS_MAX = 30_000

export function outboxFileOf(stateDir: string): string {
  return join(stateDir, 'outbox', 'messages.jsonl')
}

/**
 * Reads the outbox of a state directory that this process holds. Unreadable lines are logged and left out: orders never wait for
 * messages. `mayWrite` is asked before each write: a process that lost its lock writes nothing.
 */
export async function openOutboxFile(
  stateDir: string,
  { log, mayWrite }: { readonly log: Log; readonly mayWrite: () => boolean },
): Promise<OutboxFile> {
  const file = outboxFileOf(stateDir)
  const json = new JsonFile<readonly OutboxLine[], Found>(file, {
    encode: (lines) => HEADER + textOf(lines),
    decode: (text) =>
      parse(text, (bad) =>
        log.warn(`${file}: ${bad} lines could not be read and are left out`, { event: 'outbox' }),
      ),
  })
  const found = await readLines({ file, json, log })
  return new AppendedFile({ file, json, log, mayWrite, ...found })
}

type Found = { readonly lines: readonly OutboxLine[]; readonly mustRewrite: boolean }

async function readLines({
  file,
  json,
  log,
}: Pick<Parts, 'file' | 'json' | 'log'>): Promise<Found> {
  try {
    await ensureDirectory(join(file, '..'))
    await removeLeftovers(file)
    const bytes = await fileSize(file)
    if (bytes !== undefined && bytes > READ_BYTES_MAX) throw new Error(`it is ${bytes} bytes long`)
    return (await json.read()) ?? { lines: [], mustRewrite: true }
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
  // A crash cuts the last append short: the journal still holds what it held.
  const torn = rows.pop() ?? ''
  const known = rows.flatMap((row) => readLine(row) ?? [])
  const bad = rows.length - known.length
  if (bad > 0) onBad(bad)
  return {
    lines: known.filter((line): line is OutboxLine => !('outbox' in line)),
    mustRewrite: torn !== '' || bad > 0 || rows.length === 0,
  }
}

function readLine(row: string): z.output<typeof fileLineSchema> | undefined {
  try {
    return fileLineSchema.safeParse(JSON.parse(row)).data
  } catch {
    return undefined
  }
}

type Parts = Found & {
  readonly file: string
  readonly json: JsonFile<readonly OutboxLine[], Found>
  readonly log: Log
  readonly mayWrite: () => boolean
}

class AppendedFile implements OutboxFile {
  readonly lines: readonly OutboxLine[]
  readonly #parts: Parts
  #handle: FileHandle | undefined
  #mustRewrite: boolean
  #bytes = 0
  #bytesAnew = 0
  #failedAtMs: number | undefined
  #retryMs = RETRY_MS_MIN

  constructor(parts: Parts) {
    this.lines = parts.lines
    this.#mustRewrite = parts.mustRewrite
    this.#parts = parts
  }

  async append(
    lines: readonly OutboxLine[],
    nowMs: number,
    image: () => readonly OutboxLine[],
    last?: 'last',
  ): Promise<boolean> {
    if (!this.#parts.mayWrite()) return false
    const failedMs = this.#failedAtMs
    const isTooSoon = failedMs !== undefined && Math.abs(nowMs - failedMs) < this.#retryMs
    if (isTooSoon && last === undefined) return false
    try {
      if (this.#isDueAnew()) await this.#writeAnew(image())
      else await this.#add(textOf(lines))
      if (failedMs !== undefined)
        this.#parts.log.info('the outbox can be written again', { event: 'outbox' })
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
    await this.close()
    await ensureDirectory(join(this.#parts.file, '..'))
    this.#bytesAnew = await this.#parts.json.write(lines)
    this.#bytes = this.#bytesAnew
    this.#mustRewrite = false
  }

  /**
   * On a full disk, overwrites the file within its size. What was delivered since is mostly more than what waits, and would all be
   * sent again. False if the size is not enough.
   */
  async #writeOver(lines: readonly OutboxLine[]): Promise<boolean> {
    const text = Buffer.from(HEADER + textOf(lines))
    try {
      const handle = await open(this.#parts.file, 'r+')
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
      // The next try logs its failure.
      return false
    }
  }

  async #add(text: string): Promise<void> {
    this.#handle ??= await open(this.#parts.file, 'a', PRIVATE_FILE)
    await this.#handle.appendFile(text)
    await this.#handle.datasync()
    this.#bytes += text.length
  }

  /** After a partial write, the next try rewrites the whole file. */
  async #spoilt(error: unknown, nowMs: number): Promise<void> {
    if (this.#failedAtMs === undefined)
      this.#parts.log.error(
        `the outbox cannot be written (${reasonOf(error)}): messages are still sent, but those that wait when the daemon ends may be lost`,
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
