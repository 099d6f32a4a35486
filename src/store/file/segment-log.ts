import { type BigIntStats, statSync } from 'node:fs'
import { createFile, ensureDirectory, truncateFile } from '../../system/durable-file.ts'
import type { CommitFile, LogFile } from './group-commit.ts'
import type { JournalHead } from './journal-codec.ts'
import type { Recovered } from './journal-recovery.ts'
import { type Segment, segmentFile } from './segments.ts'
import { damagedJournal } from './state-faults.ts'
import type { StateFiles } from './state-files.ts'

/** One order per minute fills this in about a day. A start reads one or two such files. */
export const SEGMENT_BYTES = 4 * 1024 * 1024

type SegmentLogOptions = {
  readonly dir: string
  /** The last segment, which exists. */
  readonly segment: Segment
  readonly bytes: number
  readonly head: JournalHead
  readonly openLog: (file: string) => Promise<LogFile>
  /** Called before each write. Throws if this process may no longer write here. */
  readonly requireHeld?: (() => void) | undefined
  /** The next append starts a new file at this length; default 4 MiB. */
  readonly segmentBytes?: number | undefined
}

/**
 * The journal's files for the group commit. Each flush first checks that the open file is the one that a start would read.
 */
export class SegmentLog implements CommitFile {
  readonly #options: SegmentLogOptions
  #segment: Segment
  #log: LogFile
  #bytes: number
  #head: JournalHead

  private constructor(log: LogFile, options: SegmentLogOptions) {
    this.#options = options
    this.#segment = options.segment
    this.#log = log
    this.#bytes = options.bytes
    this.#head = options.head
  }

  static async open(options: SegmentLogOptions): Promise<SegmentLog> {
    return new SegmentLog(await options.openLog(options.segment.file), options)
  }

  get end(): { readonly segment: Segment; readonly bytes: number } {
    return { segment: this.#segment, bytes: this.#bytes }
  }

  /** Throws if this process lost the lock, and StateCorruptError if the file was replaced or has shrunk. Synchronous. */
  requireOwn(): void {
    this.#stat()
  }

  async prepare(): Promise<void> {
    const { size } = this.#stat()
    const others = size - BigInt(this.#bytes)
    // This process has no write in progress here, so another one wrote.
    if (others > 0n) throw this.#fault(`somebody else wrote ${others} bytes into it`)
    if (this.#bytes < (this.#options.segmentBytes ?? SEGMENT_BYTES)) return
    await this.#beginNext()
    this.#options.requireHeld?.()
  }

  /** Checks the lock first, because a process that overtook this one has replaced the file. */
  #stat(): BigIntStats {
    this.#options.requireHeld?.()
    const there = statSync(this.#segment.file, { bigint: true, throwIfNoEntry: false })
    if (there === undefined) throw this.#fault('it was moved away or removed')
    const { dev, ino } = this.#log.inode
    if (there.dev !== dev || there.ino !== ino) throw this.#fault('it was replaced by another file')
    if (there.size < this.#bytes)
      throw this.#fault(`it was cut to ${there.size} of ${this.#bytes} bytes`)
    return there
  }

  #fault(detail: string): Error {
    return damagedJournal(this.#segment.file, `${detail} while the daemon is running`)
  }

  write(data: Uint8Array, offset: number): Promise<number> {
    return this.#log.write(data, offset)
  }

  datasync(): Promise<void> {
    return this.#log.datasync()
  }

  settled({ bytes, head }: { readonly bytes: number; readonly head: JournalHead }): void {
    this.#bytes += bytes
    this.#head = head
  }

  close(): Promise<void> {
    return this.#log.close()
  }

  /** The last durable record stays the last of its file. A crash here leaves an empty file, which the next start uses. */
  async #beginNext(): Promise<void> {
    const firstSeq = this.#head.seq + 1
    const segment = { file: segmentFile(this.#options.dir, firstSeq), firstSeq }
    await createFile(segment.file)
    const next = await this.#options.openLog(segment.file)
    await this.#log.close()
    this.#log = next
    this.#segment = segment
    this.#bytes = 0
  }
}

/** The file to append to, truncated after its last complete append. */
export async function repairTail(
  { journal }: StateFiles,
  { end }: Recovered,
): Promise<{ readonly segment: Segment; readonly bytes: number }> {
  if (end === undefined) {
    const segment = { file: segmentFile(journal, 1), firstSeq: 1 }
    await ensureDirectory(journal)
    await createFile(segment.file)
    return { segment, bytes: 0 }
  }
  const { segment, bytes, fileBytes } = end
  if (fileBytes > bytes) await truncateFile(segment.file, bytes)
  return { segment, bytes }
}
