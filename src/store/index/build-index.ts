import { rm } from 'node:fs/promises'
import type { Token } from '../../domain/money/token.ts'
import type { LedgerBase } from '../../journal/ledger/ledger.ts'
import type { SegmentSummary } from '../../journal/segment-summary.ts'
import type { DaemonState } from '../../journal/state/daemon-state.ts'
import { imageOf } from '../../journal/state/state-image.ts'
import type { JournalKey } from '../../signing/keys/journal-key.ts'
import { fileSize } from '../../system/durable-file.ts'
import { inSlices } from '../../system/slices.ts'
import { GENESIS } from '../file/journal-codec.ts'
import type { Segment } from '../file/segments.ts'
import { type IndexOptions, JournalIndex } from './journal-index.ts'
import {
  imageLines,
  linesOf,
  type PartName,
  type SideFile,
  unfitSideFiles,
  writeSideFile,
} from './side-file.ts'

/** Growth of the journal between two states, and two ledgers, in side files, as a multiple of the last one's length. */
const JOURNAL_PER_STATE = 4
const JOURNAL_PER_LEDGER = 16

export type BuildOptions = Omit<IndexOptions, 'onMissing' | 'isBeside'> & {
  /** Side files keep cost bases in this token; none without it. */
  readonly valueToken: Token | undefined
  /** Called every few milliseconds. Throws to stop. */
  readonly rest: () => Promise<unknown>
}

/**
 * Makes missing side files of finished journal files, oldest first, beside their writer. Returns their number. Stops at
 * missing records. Throws StateCorruptError for damaged ones.
 */
export async function buildIndex(options: BuildOptions): Promise<number> {
  const { segments, rest } = options
  let isWhole = true
  const onMissing = (): void => {
    isWhole = false
  }
  const index = await JournalIndex.open({ ...options, onMissing, isBeside: true })
  const from = index.sides.length
  if (from >= segments.length - 1) return 0
  const made = (): number => index.sides.length - from
  const firsts = new Set(segments.slice(from).map(({ firstSeq }) => firstSeq))
  const reading = inSlices(
    index.summarised(from, (seq) => firsts.has(seq)),
    rest,
  )
  for await (const part of reading) {
    for (const { read, state, summary } of part) {
      const { seq, hash } = read.record
      const [segment, next] = segments.slice(index.sides.length)
      if (!isWhole || segment === undefined || next === undefined) return made()
      if (seq !== next.firstSeq - 1) continue
      const end = { lastSeq: seq, hash }
      index.sides.push(await makeSideFile(segment, end, { index, state, summary, options }))
    }
  }
  return made()
}

/** Removes side files that do not fit. Reads each as a whole: making missing ones checks only how they begin. */
export async function removeUnfit(
  segments: readonly Segment[],
  key: JournalKey | undefined,
): Promise<void> {
  for (const file of await unfitSideFiles(segments, key)) await rm(file, { force: true })
}

async function makeSideFile(
  segment: Segment,
  end: Pick<SideFile, 'lastSeq' | 'hash'>,
  of: {
    readonly index: JournalIndex
    readonly state: DaemonState
    readonly summary: SegmentSummary
    readonly options: BuildOptions
  },
): Promise<SideFile> {
  const { index, state, summary, options } = of
  const bytes = (await fileSize(segment.file)) ?? 0
  const isDue = (name: PartName, factor: number): boolean => {
    const last = index.sides.findLastIndex(({ parts }) => parts[name] !== undefined)
    const since = index.sides.slice(last + 1).reduce((sum, side) => sum + side.bytes, bytes)
    return since >= factor * (index.sides[last]?.parts[name]?.bytes ?? 0)
  }
  const { valueToken } = options
  const base =
    valueToken !== undefined && isDue('fifo', JOURNAL_PER_LEDGER)
      ? await index.ledgerBase(valueToken)
      : undefined
  for (const [, posting] of summary.posted) base?.post(posting)
  const header = {
    ...end,
    firstSeq: segment.firstSeq,
    prev: index.sides.at(-1)?.hash ?? GENESIS.hash,
    bytes,
    untilMs: summary.untilMs,
    strategies: spansOf(summary),
    ledgerIn: base && valueToken?.address,
  }
  return writeSideFile(
    segment,
    header,
    {
      marks: linesOf(summary.marks),
      posted: linesOf(summary.posted),
      ...(isDue('state', JOURNAL_PER_STATE) ? { state: imageLines(imageOf(state)) } : {}),
      ...ledgerParts(base),
    },
    options,
  )
}

function ledgerParts(base: LedgerBase | undefined): Partial<Record<PartName, Iterable<unknown>>> {
  if (base === undefined) return {}
  const { fifo, average, ...ledger } = base.image()
  return { ledger: imageLines(ledger), fifo: imageLines(fifo), average: imageLines(average) }
}

/** First and last slot of each strategy. */
function spansOf({ marks }: SegmentSummary): SideFile['strategies'] {
  const spans = new Map<string, [string, number, number]>()
  for (const [strategy, first, last] of marks) {
    const span = spans.get(strategy)
    spans.set(strategy, [
      strategy,
      Math.min(first, span?.[1] ?? first),
      Math.max(last, span?.[2] ?? last),
    ])
  }
  return [...spans.values()]
}
