import { existsSync, renameSync, rmSync } from 'node:fs'
import { copyRounds, type Part } from './copy-rounds.ts'
import { createPhases, type Phases, phaseOf } from './phases.ts'
import { PriceFileError } from './price-file-error.ts'
import {
  type FileHead,
  lineOf,
  openRoundFile,
  type RoundFile,
  type RoundLine,
} from './round-file.ts'
import {
  createRoundReader,
  type FeedRound,
  type FeedState,
  FetchStopped,
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
  /** Rounds per call; fewer if the nodes refuse. Default: 500. */
  readonly batch?: number | undefined
  readonly onProgress?: ((progress: FetchProgress) => void) | undefined
}

export type FetchProgress = {
  /** Rounds written by this run. */
  readonly rounds: number
  /** Time of the last round written. */
  readonly atSeconds: number
  /** Share of the period that is fetched, 0 to 1. */
  readonly share: number
}

/** However it ended, the file is valid up to its last round, and the next run continues it. */
type End =
  | { readonly tag: 'whole' | 'stopped' }
  | { readonly tag: 'unread'; readonly message: string }

const BATCH = 500

/**
 * Reads past rounds of a feed behind a Chainlink proxy into a CSV file, oldest first. Continues an existing file, and adds
 * its beginning if that is too late. The resulting file is the same however often the fetch was stopped.
 *
 * The rounds of a phase ascend in time. Rounds of the next phase may begin before its end, because an aggregator runs before
 * the proxy uses it; those are omitted. Throws PriceFileError for a file of another feed.
 */
export async function fetchRounds(options: FetchOptions) {
  const fetching = createFetching(options)
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

type Chain = FeedState & { readonly phases: Phases }

function createFetching(options: FetchOptions) {
  const { chainId, feed, file: path, fromSeconds, toSeconds, batch = BATCH } = options
  const reader = createRoundReader({ ...options, batch })
  let file: RoundFile | undefined
  /** Rounds written by this run. */
  let added = 0
  /** Invalid rounds; see `roundFault`. */
  let skipped = 0
  /** Rounds removed from the end of the file because a reorg undid them. */
  let removed = 0
  /** Length of the past to fetch, and the length fetched so far. */
  let wantedSeconds = 0
  let doneSeconds = 0

  async function run(): Promise<void> {
    const { decimals, latest } = await reader.feedState()
    const chain = { decimals, latest, phases: createPhases(reader, latest) }
    file = openRoundFile(path, { chainId, feed, decimals })
    await verify(file, chain)
    const { first } = file
    if (first === undefined) return begin(file, chain)
    const end = Math.min(latest.updatedAtSeconds, toSeconds)
    wantedSeconds = Math.max(0, end - (file.tail.at(-1)?.atSeconds ?? end))
    if (first.atSeconds > fromSeconds) file = await completed(file, first, chain)
    const last = file.tail.at(-1)
    if (last === undefined) return
    await copy(file, chain, { fromId: last.id + 1n, afterSeconds: last.atSeconds, toSeconds })
  }

  /** Removes rounds that a reorg undid. */
  async function verify(into: RoundFile, { decimals, latest }: FeedState): Promise<void> {
    const written = into.tail.slice(-batch)
    const last = written.at(-1)
    if (last === undefined) return
    if (last.id > latest.id)
      throw new RoundsUnread(
        `the node is behind or on another chain: its newest round is ${latest.id}, and the file has ${last.id}`,
      )
    const rounds = await reader.rounds(written.map(({ id }) => id))
    const texts = rounds.map((round) => round && lineOf(round, decimals).text)
    const same = written.findIndex(({ text }, index) => text !== texts[index])
    if (same === 0)
      throw new PriceFileError({
        file: path,
        detail: 'the last rounds of the file differ from those on chain',
        remedy:
          'rounds of this very chain; move the file away, or name another directory with --prices',
      })
    if (same < 0) return
    removed = written.length - same
    into.dropLast(removed)
  }

  async function begin(into: RoundFile, chain: Chain): Promise<void> {
    const start = await chain.phases.heldAt(fromSeconds)
    if (start === undefined) return
    wantedSeconds = Math.min(chain.latest.updatedAtSeconds, toSeconds) - start.updatedAtSeconds
    await copy(into, chain, { fromId: start.id, afterSeconds: -1, toSeconds })
  }

  /** Writes the missing beginning into a second file, which replaces this one once it is complete. */
  async function completed(late: RoundFile, first: RoundLine, chain: Chain): Promise<RoundFile> {
    const start = await chain.phases.heldAt(fromSeconds)
    if (start === undefined || start.id >= first.id) return late
    const head = { chainId, feed, decimals: chain.decimals }
    const beginning = `${path}.part`
    const part = openBeginning(beginning, head, { start, first })
    try {
      const last = part.tail.at(-1)
      wantedSeconds += first.atSeconds - (last?.atSeconds ?? start.updatedAtSeconds)
      await copy(part, chain, {
        fromId: last === undefined ? start.id : last.id + 1n,
        untilId: first.id,
        afterSeconds: last?.atSeconds ?? -1,
        toSeconds: first.atSeconds - 1,
      })
      part.appendRowsOf(path)
    } finally {
      part.close()
    }
    close()
    renameSync(beginning, path)
    return openRoundFile(path, head)
  }

  async function copy(into: RoundFile, { phases, decimals }: Chain, part: Part): Promise<void> {
    let at = part.afterSeconds
    await copyRounds(part, {
      reader,
      spans: await phases.backTo(({ number }) => number <= phaseOf(part.fromId)),
      decimals,
      write(lines, left) {
        into.append(lines)
        added += lines.length
        skipped += left
        const reached = lines.at(-1)?.atSeconds ?? at
        if (at >= 0) doneSeconds += reached - at
        at = reached
        const share = wantedSeconds <= 0 ? 1 : doneSeconds / wantedSeconds
        options.onProgress?.({ rounds: added, atSeconds: at, share: Math.min(1, share) })
      },
    })
  }

  function close(): void {
    file?.close()
    file = undefined
  }

  return {
    run,
    close,
    result: (end: End) => ({
      ...{ end, added, skipped, removed },
      /** First and last round of the file; undefined if it is empty. */
      fromSeconds: file?.first?.atSeconds,
      toSeconds: file?.tail.at(-1)?.atSeconds,
    }),
  }
}

/** Continues an unfinished beginning. Restarts one for another time, or a finished one. */
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
