import { existsSync, renameSync, rmSync } from 'node:fs'
import { copyRounds, type Part } from './copy-rounds.ts'
import { Phases, phaseOf } from './phases.ts'
import { PriceFileError } from './price-file-error.ts'
import {
  type FileHead,
  lineOf,
  openRoundFile,
  type RoundFile,
  type RoundLine,
} from './round-file.ts'
import {
  type FeedRound,
  type FeedState,
  FetchStopped,
  RoundReader,
  type RoundReaderOptions,
  RoundsUnread,
} from './round-reader.ts'

export type FetchOptions = Omit<RoundReaderOptions, 'batch'> & {
  readonly chainId: number
  /** Epoch seconds. The first round is the one in force then. */
  readonly fromSeconds: number
  /** Epoch seconds of the last round. */
  readonly toSeconds: number
  /** CSV with the columns time, price and round. */
  readonly file: string
  /** Rounds read at once; fewer if the nodes refuse. Default: 500. */
  readonly batch?: number | undefined
  readonly onProgress?: ((progress: FetchProgress) => void) | undefined
}

export type FetchProgress = {
  /** Written by this run. */
  readonly rounds: number
  /** Of the last round written. */
  readonly atSeconds: number
  /** Of the period to fetch, 0 to 1. */
  readonly share: number
}

/** However it ended, the file is valid as far as it goes, and the next run continues it. */
type Fetched = {
  readonly end:
    | { readonly tag: 'whole' }
    | { readonly tag: 'stopped' }
    | { readonly tag: 'unread'; readonly message: string }
  /** Rounds written by this run. */
  readonly added: number
  /** Invalid rounds; see `roundFault`. */
  readonly skipped: number
  /** Rounds at the end of the file that a reorganisation undid. */
  readonly removed: number
  /** First and last round of the file; undefined if it is empty. */
  readonly fromSeconds: number | undefined
  readonly toSeconds: number | undefined
}

const BATCH = 500

/**
 * Reads past rounds of a feed behind a Chainlink proxy into a CSV file, the oldest first. An existing file is continued, and
 * completed at its beginning if that is too late. However often it is stopped, the file comes out the same.
 *
 * The rounds of a phase ascend in time. Those of the next phase may begin before its last, because an aggregator runs before the
 * proxy uses it: these are left out. Throws PriceFileError for a file of another feed.
 */
export async function fetchRounds(options: FetchOptions): Promise<Fetched> {
  const { batch = BATCH } = options
  const fetching = new Fetching(options, new RoundReader({ ...options, batch }))
  try {
    await fetching.run()
    return fetching.result({ tag: 'whole' })
  } catch (error) {
    if (error instanceof FetchStopped) return fetching.result({ tag: 'stopped' })
    if (!(error instanceof RoundsUnread)) throw error
    return fetching.result({ tag: 'unread', message: error.message })
  } finally {
    fetching.close()
  }
}

class Fetching {
  readonly #options: FetchOptions
  readonly #reader: RoundReader
  #file: RoundFile | undefined
  #added = 0
  #skipped = 0
  #removed = 0
  /** Seconds of the past to fetch, and fetched. */
  #wantedSeconds = 0
  #doneSeconds = 0

  constructor(options: FetchOptions, reader: RoundReader) {
    this.#options = options
    this.#reader = reader
  }

  async run(): Promise<void> {
    const { chainId, feed, file, fromSeconds } = this.#options
    const feedState = await this.#reader.feedState()
    const { decimals, latest } = feedState
    const head = { chainId, feed, decimals }
    const phases = new Phases(this.#reader, latest)
    this.#file = openRoundFile(file, head)
    await this.#verify(this.#file, feedState)
    const { first } = this.#file
    if (first === undefined) {
      await this.#begin(this.#file, phases, feedState)
      return
    }
    this.#wantedSeconds = this.#missingSeconds(this.#file, latest)
    if (first.atSeconds > fromSeconds) await this.#complete(first, phases, head)
    await this.#goOn(this.#file, phases, decimals)
  }

  result(end: Fetched['end']): Fetched {
    return {
      end,
      added: this.#added,
      skipped: this.#skipped,
      removed: this.#removed,
      fromSeconds: this.#file?.first?.atSeconds,
      toSeconds: this.#file?.tail.at(-1)?.atSeconds,
    }
  }

  close(): void {
    this.#file?.close()
    this.#file = undefined
  }

  /** Removes rounds that a reorganisation undid. */
  async #verify(file: RoundFile, { decimals, latest }: FeedState): Promise<void> {
    const written = file.tail.slice(-(this.#options.batch ?? BATCH))
    const last = written.at(-1)
    if (last === undefined) return
    if (last.id > latest.id)
      throw new RoundsUnread(
        `the node is behind or on another chain: its newest round is ${latest.id}, and the file has ${last.id}`,
      )
    const rounds = await this.#reader.rounds(written.map(({ id }) => id))
    const texts = rounds.map((round) => round && lineOf(round, decimals).text)
    const same = written.findIndex(({ text }, index) => text !== texts[index])
    if (same === 0)
      throw new PriceFileError({
        file: this.#options.file,
        detail: 'the last rounds of the file differ from those on chain',
        remedy:
          'rounds of this very chain; move the file away, or name another directory with --prices',
      })
    if (same < 0) return
    this.#removed = written.length - same
    file.dropLast(this.#removed)
  }

  async #begin(file: RoundFile, phases: Phases, { decimals, latest }: FeedState): Promise<void> {
    const { fromSeconds, toSeconds } = this.#options
    const start = await phases.heldAt(fromSeconds)
    if (start === undefined) return
    this.#wantedSeconds = Math.min(latest.updatedAtSeconds, toSeconds) - start.updatedAtSeconds
    const part = { fromId: start.id, afterSeconds: -1, toSeconds }
    await this.#copy(file, phases, { part, decimals })
  }

  async #goOn(file: RoundFile, phases: Phases, decimals: number): Promise<void> {
    const last = file.tail.at(-1)
    if (last === undefined) return
    const { id, atSeconds: afterSeconds } = last
    const part = { fromId: id + 1n, afterSeconds, toSeconds: this.#options.toSeconds }
    await this.#copy(file, phases, { part, decimals })
  }

  /** Writes the missing beginning into a second file, which replaces this one when it is whole. */
  async #complete(first: RoundLine, phases: Phases, head: FileHead): Promise<void> {
    const { file, fromSeconds } = this.#options
    const start = await phases.heldAt(fromSeconds)
    if (start === undefined || start.id >= first.id) return
    const beginning = `${file}.part`
    const part = openBeginning(beginning, head, { start, first })
    try {
      const last = part.tail.at(-1)
      this.#wantedSeconds += first.atSeconds - (last?.atSeconds ?? start.updatedAtSeconds)
      const missing = {
        fromId: last === undefined ? start.id : last.id + 1n,
        untilId: first.id,
        afterSeconds: last?.atSeconds ?? -1,
        toSeconds: first.atSeconds - 1,
      }
      await this.#copy(part, phases, { part: missing, decimals: head.decimals })
      part.appendRowsOf(file)
    } finally {
      part.close()
    }
    this.close()
    renameSync(beginning, file)
    this.#file = openRoundFile(file, head)
  }

  async #copy(
    file: RoundFile,
    phases: Phases,
    { part, decimals }: { readonly part: Part; readonly decimals: number },
  ): Promise<void> {
    let at = part.afterSeconds
    await copyRounds(part, {
      reader: this.#reader,
      spans: await phases.backTo(({ number }) => number <= phaseOf(part.fromId)),
      decimals,
      write: (lines, skipped) => {
        file.append(lines)
        this.#added += lines.length
        this.#skipped += skipped
        const reached = lines.at(-1)?.atSeconds ?? at
        if (at >= 0) this.#doneSeconds += reached - at
        at = reached
        const share = this.#wantedSeconds <= 0 ? 1 : this.#doneSeconds / this.#wantedSeconds
        const progress = { rounds: this.#added, atSeconds: at, share: Math.min(1, share) }
        this.#options.onProgress?.(progress)
      },
    })
  }

  #missingSeconds(file: RoundFile, latest: FeedRound): number {
    const end = Math.min(latest.updatedAtSeconds, this.#options.toSeconds)
    return Math.max(0, end - (file.tail.at(-1)?.atSeconds ?? end))
  }
}

/** Continues an unfinished beginning; one for another time, or a finished one, is made anew. */
function openBeginning(
  file: string,
  head: FileHead,
  { start, first }: { readonly start: FeedRound; readonly first: RoundLine },
): RoundFile {
  const found = existsSync(file) ? openRoundFile(file, head) : undefined
  const last = found?.tail.at(-1)
  if (found?.first?.id === start.id && last !== undefined && last.id < first.id) return found
  found?.close()
  rmSync(file, { force: true })
  return openRoundFile(file, head)
}
