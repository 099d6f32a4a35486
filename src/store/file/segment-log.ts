import { type BigIntStats, statSync } from 'node:fs'
import { createFile } from './durable-file.ts'
import type { CommitFile, LogFile } from './group-commit.ts'
import type { JournalHead } from './journal-codec.ts'
import { type Segment, segmentFile } from './segments.ts'
import { damagedJournal } from './state-faults.ts'

/** An order a minute fills this in a day or so. A start reads one such file, or two. */
export const SEGMENT_BYTES = 4 * 1024 * 1024

export type SegmentLogOptions = {
  /** Directory of the segments. */
  readonly dir: string
  /** The last one; it exists. */
  readonly segment: Segment
  /** Its length. */
  readonly bytes: number
  /** Last record that is on disk. */
  readonly head: JournalHead
  readonly openLog: (file: string) => Promise<LogFile>
  /** Throws where this process may not write here any more. Asked before anything is written. */
  readonly requireHeld?: (() => void) | undefined
  /** Length from which on the next append goes into another file, default 4 MiB. */
  readonly segmentBytes?: number | undefined
}

/**
 * The journal's files as the group commit writes them: one after the other, the next begun between two flushes. Before
 * each flush it makes sure that the file it holds is the one that a start would read.
 */
export class SegmentLog implements CommitFile {
  readonly #dir: string
  readonly #openLog: (file: string) => Promise<LogFile>
  readonly #segmentBytes: number
  readonly #requireHeld: () => void
  #segment: Segment
  #log: LogFile
  #bytes: number
  #head: JournalHead

  private constructor(log: LogFile, options: SegmentLogOptions) {
    this.#dir = options.dir
    this.#openLog = options.openLog
    this.#segmentBytes = options.segmentBytes ?? SEGMENT_BYTES
    this.#requireHeld = options.requireHeld ?? (() => undefined)
    this.#segment = options.segment
    this.#log = log
    this.#bytes = options.bytes
    this.#head = options.head
  }

  static async open(options: SegmentLogOptions): Promise<SegmentLog> {
    return new SegmentLog(await options.openLog(options.segment.file), options)
  }

  /** How far the journal is known to be on disk. */
  get end(): { readonly segment: Segment; readonly bytes: number } {
    return { segment: this.#segment, bytes: this.#bytes }
  }

  /**
   * Throws where this process may not write here any more, and StateCorruptError when the path names another file by now, or
   * this one is shorter than was written: what went into it after that would be found by nobody. It does not wait for the disk.
   */
  requireOwn(): void {
    this.#look()
  }

  async prepare(): Promise<void> {
    const { size } = this.#look()
    const others = size - BigInt(this.#bytes)
    // Nothing of ours is under way here.
    if (others > 0n) throw this.#fault(`somebody else wrote ${others} bytes into it`)
    if (this.#bytes < this.#segmentBytes) return
    await this.#beginNext()
    this.#requireHeld()
  }

  /** Whoever has overtaken this process has put another file here, so that is asked first. */
  #look(): BigIntStats {
    this.#requireHeld()
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

  /** The last record on disk stays the last of its file. A crash in here leaves an empty file, which the next start fills. */
  async #beginNext(): Promise<void> {
    const firstSeq = this.#head.seq + 1
    const segment = { file: segmentFile(this.#dir, firstSeq), firstSeq }
    await createFile(segment.file)
    const next = await this.#openLog(segment.file)
    await this.#log.close()
    this.#log = next
    this.#segment = segment
    this.#bytes = 0
  }
}
