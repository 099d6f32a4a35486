import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { briefNoticeOf } from '../../../../src/journal/events/outputs.ts'
import type { ReadRecord, Recorded } from '../../../../src/journal/events/registry.ts'
import { recordsAfter } from '../../../../src/observe/notify/notifier.ts'
import {
  BOUND,
  filledSlot,
  intentOf,
  opened,
  STRATEGY,
  scheduled,
} from '../../../support/state/journal-events.ts'
import { collect, openForTest, temporaryDirectory } from '../../../support/state/state-directory.ts'

const SLOTS = 30
/** A segment size of two or three slots. */
const SMALL = 8_000

/** A journal of filled slots over many files, and the events its observer received. */
async function filledJournal(dir = temporaryDirectory(), archive?: string) {
  const seen: Recorded[] = []
  let nowMs = 1_800_000_000_000
  const journal = await openForTest(dir, {
    segmentBytes: SMALL,
    clock: { now: () => (nowMs += 1_000) },
    recorded: (entry) => seen.push(entry),
    ...(archive === undefined ? {} : { archive: { dir: archive, keepFiles: 2 } }),
  })
  await journal.journal.append(BOUND)
  await journal.journal.append(scheduled())
  for (let slot = 1; slot <= SLOTS; slot += 1)
    for (const event of filledSlot(2_000 + slot)) await journal.journal.append(event)
  return { dir, seen, ...journal }
}

async function all(records: AsyncIterable<ReadRecord>): Promise<readonly ReadRecord[]> {
  const found: ReadRecord[] = []
  for await (const each of records) found.push(each)
  return found
}

test('an observer receives each event with its record, in order and without a gap', async () => {
  const { seen, journal } = await filledJournal()
  const records = await collect(journal.records())
  expect(seen.map(({ record }) => record)).toEqual(records.map(({ seq, atMs }) => ({ seq, atMs })))
  expect(records.length).toBeGreaterThan(100)
})

test('events after any record are read again exactly as they were observed', async () => {
  const { seen, journal } = await filledJournal()
  for (let after = 0; after < seen.length; after += 1) {
    const again = await all(recordsAfter(journal, after))
    const seqs = ({ event, context, record: { seq } }: ReadRecord | Recorded) => ({
      event,
      context,
      seq,
    })
    expect(again.map(seqs)).toEqual(seen.slice(after).map(seqs))
  }
  expect(await all(recordsAfter(journal, seen.length))).toEqual([])
})

test('earlier files are not read', async () => {
  const { dir, seen, journal } = await filledJournal()
  const files = readdirSync(join(dir, 'journal')).sort()
  expect(files.length).toBeGreaterThan(5)
  for (const file of files.slice(0, -3)) renameSync(join(dir, 'journal', file), join(dir, file))
  const again = await all(recordsAfter(journal, seen.length - 3))
  const described = ({ event, context }: ReadRecord | Recorded) => ({ event, context })
  expect(again.map(described)).toEqual(seen.slice(-3).map(described))
})

test('an end without its beginning is described without amounts', async () => {
  const { journal } = await filledJournal()
  const [, , , fill] = filledSlot(2_000 + SLOTS)
  const records = await collect(journal.records())
  const filled = records.findLast(({ event }) => event.type === 'fill-proven')
  if (filled === undefined || fill === undefined) throw new Error('no fill')
  const lonely = {
    state: journal.state,
    async *records() {
      yield filled
    },
  }
  const [last] = await all(recordsAfter(lonely, filled.seq - 1))
  expect(last?.context).toBeUndefined()
  expect(last && briefNoticeOf(last.event)).toMatchObject({
    event: 'filled',
    strategy: STRATEGY,
    text: {
      subject: `${STRATEGY}: an order was filled`,
      lines: [`The full timeline: \`tranched why ${STRATEGY}:${2_000 + SLOTS}\``],
    },
  })
})

test('a time limit reads only files that can contain it, archived files too', async () => {
  const archive = temporaryDirectory()
  const { dir, journal } = await filledJournal(temporaryDirectory(), archive)
  const records = await collect(journal.records())
  const whole = await collect(journal.records({ atMs: 0 }))
  expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, index) => index + 1))
  const from = whole[90]?.atMs ?? 0
  const since = await collect(journal.records({ atMs: from }))
  expect(since.at(-1)).toEqual(whole.at(-1))
  expect(since.length).toBeLessThan(whole.length)
  expect(since.some(({ seq }) => seq === 91)).toBe(true)
  expect(since[0]?.seq).toBeGreaterThan(1)
  expect(records.length).toBeLessThanOrEqual(whole.length)
  expect(readdirSync(join(dir, 'journal')).length).toBeGreaterThanOrEqual(2)
})

test('an order that spans a restart is described from the earlier file', async () => {
  const { journal } = await filledJournal()
  const intent = intentOf(9_000)
  await journal.append(opened(intent))
  const before = (await collect(journal.records())).length
  await journal.append({
    ...{ type: 'intent-closed', intentId: intent.id },
    ...{ outcome: 'failed', reason: 'quote-unavailable', detail: 'none came' },
  })
  const [ended] = await all(recordsAfter(journal, before))
  expect(ended?.context).toMatchObject({ intent: { id: intent.id } })
  expect(ended?.event).toMatchObject({ outcome: 'failed', reason: 'quote-unavailable' })
})
