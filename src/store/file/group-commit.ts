import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type ErrorMeaning, OperatorError, StateCorruptError } from '../../domain/errors.ts'
import { isFull } from './durable-file.ts'
import type { JournalHead } from './journal-codec.ts'

/** One open file; a test can put a failing disk here. */
export type LogFile = {
  /** What tells this file from any other, wherever it is moved to. */
  readonly inode: { readonly dev: bigint; readonly ino: bigint }
  /** Appends what it can of `data` from `offset` on; resolves to the number of bytes taken. */
  write(data: Uint8Array, offset: number): Promise<number>
  /** Resolves when everything written is on disk. */
  datasync(): Promise<void>
  close(): Promise<void>
}

/**
 * Opens an existing file for appending. On Linux a write returns when its bytes, and the length that holds them, are on
 * disk (O_DSYNC): the same promise as a write and an fdatasync, in one trip. Elsewhere the flag promises less.
 */
export async function openLogFile(file: string): Promise<LogFile> {
  const writesThrough = process.platform === 'linux'
  const flags = constants.O_WRONLY | constants.O_APPEND
  const handle = await open(file, writesThrough ? flags | constants.O_DSYNC : flags)
  // What a killed predecessor wrote may be in memory only, and a write through syncs nothing but its own bytes.
  await handle.datasync()
  const { dev, ino } = await handle.stat({ bigint: true })
  return {
    inode: { dev, ino },
    write: async (data, offset) => (await handle.write(data, offset)).bytesWritten,
    datasync: writesThrough ? async () => {} : () => handle.datasync(),
    close: () => handle.close(),
  }
}

/** What the group commit writes to. The one place where a flush begins, and the one where it is over. */
export type CommitFile = Pick<LogFile, 'write' | 'datasync' | 'close'> & {
  /** Before each flush: rejects when what would be written now could not be relied on. */
  prepare(): Promise<void>
  /** After each flush, before anybody is told: the records up to `head` are on disk. */
  settled(flushed: { readonly bytes: number; readonly head: JournalHead }): void
}

/** The disk did not take a record, or the journal is closed. Whether a record rejected with it is on disk is unknown. */
export class JournalStoppedError extends OperatorError {
  override readonly name = 'JournalStoppedError'
  readonly means: ErrorMeaning

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options)
    this.means = options.cause instanceof OperatorError ? options.cause.means : 'failed'
  }
}

type Batch = {
  text: string
  records: number
  /** Of its last record. */
  head: JournalHead
  /** When its write began. */
  startedMs: number
  /** What has to follow the write before anybody hears of it, of the last append that asked for it. */
  after: (() => Promise<void>) | undefined
  readonly done: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

export type GroupCommitOptions = {
  /** Name for messages. */
  readonly name: string
  readonly file: CommitFile
  readonly onCommit: (batch: { readonly records: number; readonly durationMs: number }) => void
  readonly onFatal: (error: JournalStoppedError) => void
}

/**
 * Appends text to a file, durably: everything that waits shares one write and one sync. The first failure ends
 * it for good, because after a failed fsync nobody knows what the disk holds.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions
  #waiting: Batch | undefined
  #flushing: Promise<void> | undefined
  /** On disk, and still to be followed by something. */
  #written: Batch[] = []
  #settling: Promise<void> | undefined
  #failure: JournalStoppedError | undefined
  #closed = false

  constructor(options: GroupCommitOptions) {
    this.#options = options
  }

  /** Why it ended, if the disk failed. */
  get failure(): JournalStoppedError | undefined {
    return this.#failure
  }

  /** Why nothing is accepted any more; undefined while it is. */
  get stopped(): JournalStoppedError | undefined {
    if (this.#failure !== undefined || !this.#closed) return this.#failure
    return new JournalStoppedError(`${this.#options.name}: is closed`)
  }

  /**
   * Resolves when the text, whose last record is `head`, is on disk and `after`, if there is one, is done. Writes that wait for
   * the same moment are followed by the last one's `after` alone.
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
    this.#flushing ??= this.#flushAll()
    return batch.done
  }

  /** Ends it as a failed write does: what waits is rejected, `onFatal` is called. Only the first call counts. */
  fail(cause: unknown): JournalStoppedError {
    if (this.#failure !== undefined) return this.#failure
    const error = new JournalStoppedError(whyStopped(this.#options.name, cause), { cause })
    this.#failure = error
    this.#waiting?.reject(error)
    this.#waiting = undefined
    this.#options.onFatal(error)
    return error
  }

  /** Takes nothing more, waits for what was appended, closes the file. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#flushing
    await this.#settling
    await this.#options.file.close()
  }

  async #flushAll(): Promise<void> {
    // Appends of the same turn go into the first write.
    await new Promise(setImmediate)
    for (let batch = this.#take(); batch !== undefined; batch = this.#take()) {
      await this.#flush(batch)
      // Those that waited for this flush usually append again at once: let them join the next.
      await new Promise(setImmediate)
    }
    this.#flushing = undefined
  }

  #take(): Batch | undefined {
    const batch = this.#waiting
    this.#waiting = undefined
    if (batch !== undefined) batch.startedMs = performance.now()
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

  /** Does what has to follow the writes, beside the next write, and lets nobody hear of one before those ahead of it. */
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

/** What an operator has to know and do about a disk that takes no more. What is no fault of the disk is told as it is. */
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
  return `${file}: ${what}. Nothing was signed whose record is not on disk, and nothing more is recorded or signed until a restart, which follows what was signed before: ${remedy}`
}

function newBatch(head: JournalHead): Batch {
  let resolve = () => {}
  let reject: (error: Error) => void = () => {}
  const done = new Promise<void>((onDone, onError) => {
    resolve = onDone
    reject = onError
  })
  return { text: '', records: 0, head, startedMs: 0, after: undefined, done, resolve, reject }
}
