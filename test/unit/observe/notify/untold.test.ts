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
} from '../../../support/state/journal-story.ts'
import { collect, openForTest, temporaryDirectory } from '../../../support/state/state-directory.ts'

const SLOTS = 30
/** Two or three slots a file. */
const SMALL = 8_000

/** A journal of some filled slots over many files, and what its observer was told. */
async function story(dir = temporaryDirectory(), archive?: string) {
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

async function all(untold: AsyncIterable<ReadRecord>): Promise<readonly ReadRecord[]> {
  const found: ReadRecord[] = []
  for await (const each of untold) found.push(each)
  return found
}

test('an observer hears of each fact with its record, in order and without a gap', async () => {
  const { seen, journal } = await story()
  const records = await collect(journal.records())
  expect(seen.map(({ record }) => record)).toEqual(records.map(({ seq, atMs }) => ({ seq, atMs })))
  expect(records.length).toBeGreaterThan(100)
})

test('after any record, what was told of the later ones is told again just as it was', async () => {
  const { seen, journal } = await story()
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

test('files that lie before are not read', async () => {
  const { dir, seen, journal } = await story()
  const files = readdirSync(join(dir, 'journal')).sort()
  expect(files.length).toBeGreaterThan(5)
  for (const file of files.slice(0, -3)) renameSync(join(dir, 'journal', file), join(dir, file))
  const again = await all(recordsAfter(journal, seen.length - 3))
  const described = ({ event, context }: ReadRecord | Recorded) => ({ event, context })
  expect(again.map(described)).toEqual(seen.slice(-3).map(described))
})

test('an end whose beginning is not at hand is told without its amounts', async () => {
  const { journal } = await story()
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
  const [told] = await all(recordsAfter(lonely, filled.seq - 1))
  expect(told?.context).toBeUndefined()
  expect(told && briefNoticeOf(told.event)).toMatchObject({
    event: 'filled',
    strategy: STRATEGY,
    text: {
      subject: `${STRATEGY}: an order was filled`,
      lines: [`The whole story: \`tranched why ${STRATEGY}:${2_000 + SLOTS}\``],
    },
  })
})

test('by time as well, only files that can hold it are read, those in the archive too', async () => {
  const archive = temporaryDirectory()
  const { dir, journal } = await story(temporaryDirectory(), archive)
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

test('an order that goes on over a restart is told by what the file before holds', async () => {
  const { journal } = await story()
  const intent = intentOf(9_000)
  await journal.append(opened(intent))
  const before = (await collect(journal.records())).length
  await journal.append({
    ...{ type: 'intent-closed', intentId: intent.id },
    ...{ outcome: 'failed', reason: 'quote-unavailable', detail: 'none came' },
  })
  const [told] = await all(recordsAfter(journal, before))
  expect(told?.context).toMatchObject({ intent: { id: intent.id } })
  expect(told?.event).toMatchObject({ outcome: 'failed', reason: 'quote-unavailable' })
})
