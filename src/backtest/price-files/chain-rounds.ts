import { existsSync, renameSync, rmSync } from 'node:fs'
import type { Address } from '../../domain/units.ts'
import type { Clock } from '../../ports.ts'
import type { LargeCall } from '../chain/large-calls.ts'
import { copyRounds, type Part } from './copy-rounds.ts'
import type { FileHead } from './file-head.ts'
import { Phases, phaseOf, type Span } from './phases.ts'
import { PriceFileError } from './price-file-error.ts'
import { lineOf, openRoundFile, type RoundFile, type RoundLine } from './round-file.ts'
import {
  type FeedRound,
  type FeedSight,
  FetchStopped,
  RoundReader,
  RoundsUnread,
} from './round-reader.ts'

export type FetchOptions = {
  readonly call: LargeCall
  readonly clock: Pick<Clock, 'sleep'>
  readonly chainId: number
  readonly feed: Address
  /** Epoch seconds. The round that held then is the first. */
  readonly fromSeconds: number
  /** Epoch seconds. No round is later; one that the chain itself has not reached is from the future, and no price. */
  readonly toSeconds: number
  /** CSV file with the columns time, price and round. */
  readonly file: string
  /** Rounds read at once, as far as the nodes take so many. Default 500. */
  readonly batch?: number | undefined
  readonly onProgress?: ((progress: FetchProgress) => void) | undefined
  /** Ends it early, after whole lines. */
  readonly signal: AbortSignal
}

export type FetchProgress = {
  /** Written by this run. */
  readonly rounds: number
  /** Of the round that was written last. */
  readonly atSeconds: number
  /** Of the time that was to be fetched, 0 to 1. */
  readonly share: number
}

/** What came of it. In each case the file is as good as far as it goes, and the next run goes on from there. */
export type Fetched = {
  readonly end:
    | { readonly tag: 'whole' }
    | { readonly tag: 'stopped' }
    | { readonly tag: 'unread'; readonly message: string }
  /** Rounds written by this run. */
  readonly added: number
  /** Rounds that are no price; see `roundFault`. */
  readonly skipped: number
  /** Rounds at the end of the file that are not on chain any more, and were taken away. */
  readonly removed: number
  /** First and last round of the file; undefined where it has none. */
  readonly fromSeconds: number | undefined
  readonly toSeconds: number | undefined
}

const BATCH = 500

/**
 * Reads past rounds of a feed behind a Chainlink proxy into a CSV file, the oldest first. A file that is there is gone on with, and
 * completed at its beginning where that is too late. A second run writes only what is new, and however often it was stopped, the
 * file is the same.
 *
 * Rounds of one phase follow each other in time. Those of the next may begin before the last of it, as an aggregator runs before a
 * proxy is given it: they are left out until they are later. Throws PriceFileError for a file of something else.
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
  /** Seconds of the past that are to be fetched, and that were. */
  #wantedSeconds = 0
  #doneSeconds = 0

  constructor(options: FetchOptions, reader: RoundReader) {
    this.#options = options
    this.#reader = reader
  }

  async run(): Promise<void> {
    const { chainId, feed, file, fromSeconds } = this.#options
    const sight = await this.#reader.sight()
    const { decimals, latest } = sight
    const head = { chainId, feed, decimals }
    const phases = new Phases(this.#reader, latest)
    this.#file = openRoundFile(file, head)
    await this.#verify(this.#file, sight)
    const { first } = this.#file
    if (first === undefined) {
      await this.#begin(this.#file, phases, sight)
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

  /** Takes away what a reorganisation has undone since. */
  async #verify(file: RoundFile, { decimals, latest }: FeedSight): Promise<void> {
    const written = file.tail.slice(-(this.#options.batch ?? BATCH))
    const last = written.at(-1)
    if (last === undefined) return
    if (last.id > latest.id)
      throw new RoundsUnread(
        `the node is behind, or on another chain than the file is of: its newest round is ${latest.id}, and the file has ${last.id}`,
      )
    const rounds = await this.#reader.rounds(written.map(({ id }) => id))
    const isSame = (line: RoundLine, index: number): boolean => {
      const round = rounds[index]
      return round !== undefined && lineOf(round, decimals).text === line.text
    }
    const same = written.findIndex((line, index) => !isSame(line, index))
    if (same === 0)
      throw new PriceFileError({
        file: this.#options.file,
        detail: 'the last rounds of the file are not those that the chain has',
        remedy:
          'rounds of this very chain; move the file away, or name another directory with --prices',
      })
    if (same < 0) return
    this.#removed = written.length - same
    file.dropLast(this.#removed)
  }

  async #begin(file: RoundFile, phases: Phases, { decimals, latest }: FeedSight): Promise<void> {
    const { fromSeconds, toSeconds } = this.#options
    const start = await phases.heldAt(fromSeconds)
    if (start === undefined) return
    this.#wantedSeconds = Math.min(latest.updatedAtSeconds, toSeconds) - start.updatedAtSeconds
    const part = { fromId: start.id, afterSeconds: -1, toSeconds }
    await this.#copy(file, await phases.backTo(isPhaseOf(start.id)), { part, decimals })
  }

  async #goOn(file: RoundFile, phases: Phases, decimals: number): Promise<void> {
    const last = file.tail.at(-1)
    if (last === undefined) return
    const { id, atSeconds: afterSeconds } = last
    const part = { fromId: id + 1n, afterSeconds, toSeconds: this.#options.toSeconds }
    await this.#copy(file, await phases.backTo(isPhaseOf(id)), { part, decimals })
  }

  /** Puts what is missing before the first round into a file of its own, which takes the place of this one when it is whole. */
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
      const { decimals } = head
      const spans = await phases.backTo(isPhaseOf(missing.fromId))
      await this.#copy(part, spans, { part: missing, decimals })
      part.appendRowsOf(file)
    } finally {
      part.close()
    }
    this.close()
    renameSync(beginning, file)
    this.#file = openRoundFile(file, head)
  }

  #copy(
    file: RoundFile,
    spans: readonly Span[],
    { part, decimals }: { readonly part: Part; readonly decimals: number },
  ): Promise<void> {
    let at = part.afterSeconds
    return copyRounds(part, {
      reader: this.#reader,
      spans,
      decimals,
      write: ({ lines, skipped }) => {
        file.append(lines)
        this.#added += lines.length
        this.#skipped += skipped
        const reached = lines.at(-1)?.atSeconds ?? at
        if (at >= 0) this.#doneSeconds += reached - at
        at = reached
        this.#tell(at)
      },
    })
  }

  #tell(atSeconds: number): void {
    const { onProgress } = this.#options
    const share = this.#wantedSeconds <= 0 ? 1 : this.#doneSeconds / this.#wantedSeconds
    onProgress?.({ rounds: this.#added, atSeconds, share: Math.min(1, share) })
  }

  #missingSeconds(file: RoundFile, latest: FeedRound): number {
    const end = Math.min(latest.updatedAtSeconds, this.#options.toSeconds)
    return Math.max(0, end - (file.tail.at(-1)?.atSeconds ?? end))
  }
}

function isPhaseOf(id: bigint): (span: Span) => boolean {
  return ({ number }) => number <= phaseOf(id)
}

/** A beginning that was stopped is gone on with; one for another time, or that had got to its end, is made anew. */
function openBeginning(
  file: string,
  head: FileHead,
  { start, first }: { readonly start: FeedRound; readonly first: RoundLine },
): RoundFile {
  const found = existsSync(file) ? openRoundFile(file, head) : undefined
  const last = found?.tail.at(-1)
  if (
    found !== undefined &&
    found.first?.id === start.id &&
    last !== undefined &&
    last.id < first.id
  )
    return found
  found?.close()
  rmSync(file, { force: true })
  return openRoundFile(file, head)
}
