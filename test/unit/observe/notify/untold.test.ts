import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Untold } from '../../../../src/adapters/notify/notifier.ts'
import { untoldAfter } from '../../../../src/adapters/notify/untold.ts'
import type { Observation, RecordPlace } from '../../../../src/domain/observation.ts'
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

type Seen = { readonly event: Observation; readonly record: RecordPlace }

/** A journal of some filled slots over many files, and what its observer was told. */
async function story(dir = temporaryDirectory(), archive?: string) {
  const seen: Seen[] = []
  let nowMs = 1_800_000_000_000
  const journal = await openForTest(dir, {
    segmentBytes: SMALL,
    clock: { now: () => (nowMs += 1_000) },
    observe: (event, record) => {
      if (record !== undefined) seen.push({ event, record })
    },
    ...(archive === undefined ? {} : { archive: { dir: archive, keepFiles: 2 } }),
  })
  await journal.journal.append(BOUND)
  await journal.journal.append(scheduled())
  for (let slot = 1; slot <= SLOTS; slot += 1)
    for (const event of filledSlot(2_000 + slot)) await journal.journal.append(event)
  return { dir, seen, ...journal }
}

async function all(untold: AsyncIterable<Untold>): Promise<readonly Untold[]> {
  const found: Untold[] = []
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
    const again = await all(untoldAfter(journal, after))
    expect(again.map(({ record, fact }) => ({ event: fact, seq: record.seq }))).toEqual(
      seen.slice(after).map(({ event, record }) => ({ event, seq: record.seq })),
    )
  }
  expect(await all(untoldAfter(journal, seen.length))).toEqual([])
})

test('files that lie before are not read', async () => {
  const { dir, seen, journal } = await story()
  const files = readdirSync(join(dir, 'journal')).sort()
  expect(files.length).toBeGreaterThan(5)
  for (const file of files.slice(0, -3)) renameSync(join(dir, 'journal', file), join(dir, file))
  const again = await all(untoldAfter(journal, seen.length - 3))
  expect(again.map(({ fact }) => fact)).toEqual(seen.slice(-3).map(({ event }) => event))
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
  const [told] = await all(untoldAfter(lonely, filled.seq - 1))
  expect(told?.fact).toBeUndefined()
  expect(told?.instead).toMatchObject({
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
  const [told] = await all(untoldAfter(journal, before))
  expect(told?.fact).toMatchObject({ type: 'failed', reason: 'quote-unavailable' })
})
