import { type FileHandle, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { codeOf, messageOf, NewerFormatError } from '../../domain/errors.ts'
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
import { readableLines } from '../../system/read-json.ts'
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

/** One change of the outbox: a line of its file. All lines together give its state. */
export type OutboxLine = Readonly<z.output<typeof lineSchema>>

const fileLineSchema = z.union([z.object({ outbox: z.number() }), lineSchema])

export type OutboxFile = Awaited<ReturnType<typeof openOutboxFile>>

const FORMAT = 1
const HEADER = `{"outbox":${FORMAT}}\n`
/** Longer files were not written by this program. */
const READ_BYTES_MAX = 64 * 1024 * 1024
/** The file is rewritten when it exceeds this, and three times its content. */
const SMALL_BYTES = 256 * 1024
const GROWTH = 3
/** Delay after a failed write; doubles up to the maximum. */
const RETRY_MS_MIN = 1_000
const RETRY_MS_MAX = 30_000

export function outboxFileOf(stateDir: string): string {
  return join(stateDir, 'outbox', 'messages.jsonl')
}

/**
 * Reads the outbox of a state directory that this process holds. Unreadable lines are logged and skipped: orders never wait
 * for messages. `mayWrite` is called before each write: a process that lost its lock writes nothing.
 */
export async function openOutboxFile(
  stateDir: string,
  { log, mayWrite }: { readonly log: Log; readonly mayWrite: () => boolean },
) {
  const file = outboxFileOf(stateDir)
  const json = new JsonFile<readonly OutboxLine[], Found>(file, {
    encode: textOf,
    decode: (text) => parse(file, text),
  })
  const found = await readLines(file, json, log)
  let { mustRewrite } = found
  let handle: FileHandle | undefined
  let bytes = 0
  let bytesAnew = 0
  let failedAtMs: number | undefined
  let retryMs = RETRY_MS_MIN

  async function close(): Promise<void> {
    await handle?.close().catch(() => undefined)
    handle = undefined
  }

  async function writeAnew(lines: readonly OutboxLine[]): Promise<void> {
    await close()
    await ensureDirectory(dirname(file))
    bytesAnew = await json.write(lines)
    bytes = bytesAnew
    mustRewrite = false
  }

  async function add(lines: readonly OutboxLine[]): Promise<void> {
    const text = rowsOf(lines)
    handle ??= await open(file, 'a', PRIVATE_FILE)
    await handle.appendFile(text)
    await handle.datasync()
    bytes += text.length
  }

  /** After a partial write, the next try rewrites the whole file. */
  async function failed(error: unknown, nowMs: number): Promise<void> {
    if (failedAtMs === undefined)
      log.error(
        `the outbox cannot be written (${reasonOf(error)}): messages are still sent, but those that wait when the daemon ends may be lost`,
        { event: 'outbox' },
      )
    else retryMs = Math.min(RETRY_MS_MAX, 2 * retryMs)
    failedAtMs = nowMs
    mustRewrite = true
    await close()
  }

  return {
    lines: found.lines,
    /**
     * Appends lines durably. Rewrites the file from `image` if an append failed before, or if the file has grown long. Returns
     * false if the disk fails, or failed just before, unless this is the `last` try. Never rejects. One call at a time.
     */
    async append(
      lines: readonly OutboxLine[],
      nowMs: number,
      image: () => readonly OutboxLine[],
      last?: 'last',
    ): Promise<boolean> {
      if (!mayWrite()) return false
      const isTooSoon = failedAtMs !== undefined && Math.abs(nowMs - failedAtMs) < retryMs
      if (isTooSoon && last === undefined) return false
      try {
        const isDueAnew = mustRewrite || bytes > Math.max(SMALL_BYTES, GROWTH * bytesAnew)
        await (isDueAnew ? writeAnew(image()) : add(lines))
        if (failedAtMs !== undefined)
          log.info('the outbox can be written again', { event: 'outbox' })
        failedAtMs = undefined
        retryMs = RETRY_MS_MIN
        return true
      } catch (error) {
        await failed(error, nowMs)
        return isFull(error) && (await writeOver(file, image()))
      }
    },
    /** The next write rewrites the whole file. */
    spoil(): void {
      mustRewrite = true
    },
    close,
  }
}

type Found = {
  readonly lines: readonly OutboxLine[]
  readonly mustRewrite: boolean
  /** Number of unreadable lines. */
  readonly bad: number
}

const NOTHING: Found = { lines: [], mustRewrite: true, bad: 0 }

async function readLines(
  file: string,
  json: JsonFile<readonly OutboxLine[], Found>,
  log: Log,
): Promise<Found> {
  const warn = (fault: string): void => log.warn(`${file}: ${fault}`, { event: 'outbox' })
  try {
    await ensureDirectory(dirname(file))
    await removeLeftovers(file)
    const bytes = await fileSize(file)
    if (bytes !== undefined && bytes > READ_BYTES_MAX) throw new Error(`it is ${bytes} bytes long`)
    const found = (await json.read()) ?? NOTHING
    if (found.bad > 0) warn(`${found.bad} lines could not be read and are left out`)
    return found
  } catch (error) {
    if (error instanceof NewerFormatError) throw error
    warn(`${reasonOf(error)}; messages that waited there are not sent`)
    await moveDurably(file, `${file}.damaged`).catch(() => undefined)
    return NOTHING
  }
}

function parse(file: string, text: string): Found {
  const rows = text.split('\n')
  // A crash may truncate the last append; the journal still has its content.
  const torn = rows.pop() ?? ''
  const known = readableLines(fileLineSchema, rows)
  const bad = rows.length - known.length
  for (const line of known)
    if ('outbox' in line && line.outbox > FORMAT)
      throw new NewerFormatError(file, `it has format ${line.outbox}`)
  return {
    lines: known.filter((line): line is OutboxLine => !('outbox' in line)),
    mustRewrite: torn !== '' || bad > 0 || rows.length === 0,
    bad,
  }
}

/**
 * On a full disk, overwrites the file within its size. Deliveries since the last write usually free more than the waiting
 * messages need, and delivered messages would be sent again. False if the size is too small.
 */
async function writeOver(file: string, lines: readonly OutboxLine[]): Promise<boolean> {
  const text = Buffer.from(textOf(lines))
  try {
    const handle = await open(file, 'r+')
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

function textOf(lines: readonly OutboxLine[]): string {
  return HEADER + rowsOf(lines)
}

function rowsOf(lines: readonly OutboxLine[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}

function reasonOf(error: unknown): string {
  return isMissing(error) ? 'the file is gone' : (codeOf(error) ?? messageOf(error))
}
