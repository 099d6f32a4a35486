import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type ErrorMeaning, OperatorError, StateCorruptError } from '../../domain/errors.ts'
import { isFull } from '../../system/durable-file.ts'
import type { JournalHead } from './journal-codec.ts'

/** One open file. Tests replace it with a failing disk. */
export type LogFile = {
  /** Identifies the file even after a rename. */
  readonly inode: { readonly dev: bigint; readonly ino: bigint }
  /** Appends `data` from `offset` on, possibly only part of it. Resolves to the number of bytes written. */
  write(data: Uint8Array, offset: number): Promise<number>
  datasync(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens an existing file for appending. On Linux a write returns once its bytes and the new length are on disk (O_DSYNC):
 * the guarantee of write plus fdatasync in one call. Other systems guarantee less.
 */
export async function openLogFile(file: string): Promise<LogFile> {
  const writesThrough = process.platform === 'linux'
  const flags = constants.O_WRONLY | constants.O_APPEND
  const handle = await open(file, writesThrough ? flags | constants.O_DSYNC : flags)
  // A killed predecessor may have left unsynced bytes, and O_DSYNC syncs only its own.
  await handle.datasync()
  const { dev, ino } = await handle.stat({ bigint: true })
  return {
    inode: { dev, ino },
    write: async (data, offset) => (await handle.write(data, offset)).bytesWritten,
    datasync: writesThrough ? async () => {} : () => handle.datasync(),
    close: () => handle.close(),
  }
}

export type CommitFile = Pick<LogFile, 'write' | 'datasync' | 'close'> & {
  /** Runs before each flush; rejects if the next write could not be relied on. */
  prepare(): Promise<void>
  /** Runs after each flush, before appends resolve: records up to `head` are on disk. */
  settled(flushed: { readonly bytes: number; readonly head: JournalHead }): void
}

/** The disk rejected a record, or the journal is closed. A record that is rejected with this may still be on disk. */
class JournalStoppedError extends OperatorError {
  override readonly name = 'JournalStoppedError'
  readonly means: ErrorMeaning

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options)
    this.means = options.cause instanceof OperatorError ? options.cause.means : 'failed'
  }
}

/** Records that nothing waits for stay this long in memory, so that they share the write of others. */
const NOTE_MS_MAX = 10

type Batch = {
  text: string
  records: number
  head: JournalHead
  startedMs: number
  /** Runs after the write and before its appends resolve. A later one replaces it. */
  after: (() => Promise<void>) | undefined
  /** False while nothing waits for its records. */
  isDue: boolean
  readonly done: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

type GroupCommitOptions = {
  readonly name: string
  readonly file: CommitFile
  readonly onCommit: (batch: { readonly records: number; readonly durationMs: number }) => void
  readonly onFatal: (error: JournalStoppedError) => void
}

/**
 * Groups all waiting appends into one write and one sync. A failure is final, because a failed fsync leaves the disk
 * unknown.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  #waiting: Batch | undefined
  #noteTimer: NodeJS.Timeout | undefined
  #flushing: Promise<void> | undefined
  /** On disk, but `after` is still pending. */
  #written: Batch[] = []
  #settling: Promise<void> | undefined
  #failure: JournalStoppedError | undefined
  #closed = false

  constructor(options: GroupCommitOptions) {
    this.#options = options
  }

  get failure(): JournalStoppedError | undefined {
    return this.#failure
  }

  /** Why appends are rejected; undefined while they are accepted. */
  get stopped(): JournalStoppedError | undefined {
    if (this.#failure !== undefined || !this.#closed) return this.#failure
    return new JournalStoppedError(`${this.#options.name}: is closed`)
  }

  /**
   * Resolves once the text (last record: `head`) is on disk and the last `after` of its write is done. It stays in memory until
   * `flush` or `flushSoon`.
   */
  append(
    text: string,
    records: number,
    head: JournalHead,
    after?: () => Promise<void>,
  ): Promise<void> {
    const { stopped } = this
    if (stopped !== undefined) return Promise.reject(stopped)
    this.#waiting ??= newBatch(head)
    const batch = this.#waiting
    batch.text += text
    batch.records += records
    batch.head = head
    batch.after = after ?? batch.after
    return batch.done
  }

  /** Writes what waits in memory with the next `flush`, or after NOTE_MS_MAX. */
  flushSoon(): void {
    if (this.#waiting?.isDue === false)
      this.#noteTimer ??= setTimeout(() => this.flush(), NOTE_MS_MAX)
  }

  /** Writes what waits in memory. */
  flush(): void {
    clearTimeout(this.#noteTimer)
    this.#noteTimer = undefined
    if (this.#waiting === undefined) return
    this.#waiting.isDue = true
    this.#flushing ??= this.#flushAll()
  }

  /** Stops it like a failed write: pending appends reject, and `onFatal` is called. Only the first call counts. */
  fail(cause: unknown): JournalStoppedError {
    if (this.#failure !== undefined) return this.#failure
    const error = new JournalStoppedError(whyStopped(this.#options.name, cause), { cause })
    this.#failure = error
    this.#waiting?.reject(error)
    this.#waiting = undefined
    this.#options.onFatal(error)
    return error
  }

  /** Rejects new appends, waits for pending ones, closes the file. */
  async close(): Promise<void> {
    this.#closed = true
    this.flush()
    await this.#flushing
    await this.#settling
    await this.#options.file.close()
  }

  async #flushAll(): Promise<void> {
    // Appends of the same turn share the first write.
    await new Promise(setImmediate)
    for (let batch = this.#take(); batch !== undefined; batch = this.#take()) {
      await this.#flush(batch)
      // Callers that waited for this flush usually append again at once: lets them join the next one.
      await new Promise(setImmediate)
    }
    this.#flushing = undefined
  }

  #take(): Batch | undefined {
    const batch = this.#waiting
    if (batch?.isDue !== true) return undefined
    this.#waiting = undefined
    batch.startedMs = performance.now()
    return batch
  }

  async #flush(batch: Batch): Promise<void> {
    const { file } = this.#options
    try {
      await file.prepare()
      const data = Buffer.from(batch.text)
      await this.#write(data)
      await file.datasync()
      file.settled({ bytes: data.length, head: batch.head })
    } catch (error) {
      batch.reject(this.fail(error))
      return
    }
    if (batch.after === undefined && this.#settling === undefined) this.#resolve(batch)
    else {
      this.#written.push(batch)
      this.#settling ??= this.#settleAll()
    }
  }

  /** Runs `after` callbacks beside the next write, but resolves appends in order. */
  async #settleAll(): Promise<void> {
    for (let batches = this.#written; batches.length > 0; batches = this.#written) {
      this.#written = []
      try {
        await batches.findLast(({ after }) => after !== undefined)?.after?.()
      } catch (error) {
        const failure = this.fail(error)
        for (const batch of [...batches, ...this.#written.splice(0)]) batch.reject(failure)
        break
      }
      for (const batch of batches) this.#resolve(batch)
    }
    this.#settling = undefined
  }

  #resolve({ resolve, records, startedMs }: Batch): void {
    resolve()
    this.#options.onCommit({ records, durationMs: performance.now() - startedMs })
  }

  async #write(data: Uint8Array): Promise<void> {
    for (let offset = 0; offset < data.length; ) {
      const taken = await this.#options.file.write(data, offset)
      if (taken <= 0) throw new Error('the disk takes no more bytes')
      offset += taken
    }
  }
}

/** Message and remedy for the operator. Passes through failures other than the disk's. */
function whyStopped(file: string, cause: unknown): string {
  if (cause instanceof StateCorruptError)
    return `${cause.message}. Nothing more is recorded or signed until a restart`
  const detail = cause instanceof Error ? cause.message : String(cause)
  if (cause instanceof OperatorError) return detail
  const dir = dirname(file)
  const what = isFull(cause) ? `the disk is full (${detail})` : `cannot be written: ${detail}`
  const remedy = isFull(cause)
    ? `make room on the file system of ${dir} (df -h ${dir}), then start again`
    : 'repair the disk first'
  return `${file}: ${what}. Nothing was signed without a record on disk, and nothing more is recorded or signed until a restart, which follows open orders: ${remedy}`
}

function newBatch(head: JournalHead): Batch {
  let resolve = () => {}
  let reject: (error: Error) => void = () => {}
  const done = new Promise<void>((onDone, onError) => {
    resolve = onDone
    reject = onError
  })
  return {
    text: '',
    records: 0,
    head,
    startedMs: 0,
    after: undefined,
    isDue: false,
    done,
    resolve,
    reject,
  }
}
