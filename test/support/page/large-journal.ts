import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type JournalEvent, reduce } from '../../../src/journal/events/registry.ts'
import type { DaemonState } from '../../../src/journal/state/daemon-state.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { exactStringify } from '../../../src/store/file/exact-json.ts'
import { segmentFile } from '../../../src/store/file/segments.ts'
import { filledSlot, scheduled } from '../state/journal-events.ts'

const SEGMENT_BYTES = 4 * 1024 * 1024
const ANY_SLOT = 1_234_567_890
const ANY_STRATEGY = 'some-strategy-name'
const DIGEST = `0x${'5a'.repeat(32)}`

export const FIRST_SLOT = 1_700_000_000
/** Seconds between two fills. */
export const SLOT_STEP = 20

export function strategyName(index: number): string {
  return `strategy-${String(index).padStart(4, '0')}`
}

export type LargeJournal = { readonly state: DaemonState; readonly records: number }

/**
 * Writes a journal's files as a daemon with this many strategies leaves them, each filled in turn, and every tenth slot
 * skipped. The hash chain is fake: readers that search for records do not check it.
 */
export function writeLargeJournal(
  stateDir: string,
  { strategies, fills }: { readonly strategies: number; readonly fills: number },
): LargeJournal {
  const dir = join(stateDir, 'journal')
  mkdirSync(dir, { recursive: true })
  const filled = templateOf(filledSlot(ANY_SLOT, ANY_STRATEGY))
  const skipped = templateOf([
    {
      type: 'slot-closed',
      ...{ strategy: ANY_STRATEGY, slotSeconds: ANY_SLOT, outcome: 'skipped' },
      reason: 'price-outside-bounds',
      detail: 'the price is 2600, the bounds end at 2500',
    },
  ])
  let seq = 1
  let firstSeq = 1
  let text = ''
  const finish = (): void => {
    writeFileSync(segmentFile(dir, firstSeq), text)
    text = ''
    firstSeq = seq
  }
  for (let fill = 0; fill < fills; fill += 1) {
    const slot = FIRST_SLOT + fill * SLOT_STEP
    const name = strategyName(fill % strategies)
    const lines =
      fill % 10 === 9 ? [...skipped(slot - 1, name), ...filled(slot, name)] : filled(slot, name)
    for (const line of lines) {
      text += `{"seq":${seq},"atMs":${slot * 1000},"event":${line},"prev":"${DIGEST}","hash":"${DIGEST}"}\n`
      seq += 1
    }
    if (text.length >= SEGMENT_BYTES) finish()
  }
  finish()
  return { state: stateOf(strategies, fills), records: seq - 1 }
}

function templateOf(events: readonly JournalEvent[]): (slot: number, name: string) => string[] {
  const texts = events.map((event) => exactStringify(event))
  return (slot, name) =>
    texts.map((text) => text.replaceAll(`${ANY_SLOT}`, `${slot}`).replaceAll(ANY_STRATEGY, name))
}

function stateOf(strategies: number, fills: number): DaemonState {
  const state = emptyState()
  for (let index = 0; index < strategies; index += 1) {
    const name = strategyName(index)
    reduce(state, scheduled(name), 0)
    const record = state.strategies.get(name)
    if (record !== undefined) record.fills = Math.floor(fills / strategies)
  }
  return state
}
