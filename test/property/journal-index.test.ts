import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { InvariantError } from '../../src/domain/errors.ts'
import { type JournalEvent, reduce } from '../../src/journal/events/registry.ts'
import type { DaemonState } from '../../src/journal/state/daemon-state.ts'
import { emptyState, imageOf, restoreState } from '../../src/journal/state/state-image.ts'
import type { LogFile } from '../../src/store/file/group-commit.ts'
import { readJournal } from '../../src/store/file/journal-snapshot.ts'
import { buildIndex } from '../../src/store/index/build-index.ts'
import { answersOf, answersOfRecords } from '../support/state/index-answers.ts'
import { bytes32, intentOf } from '../support/state/journal-events.ts'
import { PLAIN_KEY } from '../support/state/plain-journal-key.ts'
import { openForTest, temporaryDirectory } from '../support/state/state-directory.ts'
import { legalEvents } from '../support/state/state-moves.ts'

const { sell, buy } = intentOf(1)
const MADE = { madeBy: '1', rest: async () => undefined }
const STEP_MS = 60_000
const START_MS = 1_000_000

/** What happens to one side file. */
const damage = fc.record({
  at: fc.nat(),
  how: fc.constantFrom('removed', 'cut', 'altered', 'of another file'),
  where: fc.double({ min: 0, max: 1, noNaN: true }),
})

const scenario = fc.record({
  choices: fc.array(fc.nat(), { minLength: 40, maxLength: 160 }),
  /** Steps of the clock, some of them back. */
  steps: fc.infiniteStream(fc.integer({ min: -2, max: 9 })),
  segmentBytes: fc.integer({ min: 1_500, max: 9_000 }),
  isArchived: fc.boolean(),
  /** Part of the journal after which side files are made for the first time, and of its end that has none. */
  firstMade: fc.double({ min: 0, max: 1, noNaN: true }),
  madeAgain: fc.boolean(),
  damages: fc.array(damage, { maxLength: 3 }),
  loses: fc.boolean(),
  limit: fc.integer({ min: 1, max: 12 }),
  strategy: fc.constantFrom(undefined, 'alpha', 'beta'),
  slot: fc.nat(),
  since: fc.option(fc.double({ min: -0.1, max: 1.1, noNaN: true }), { nil: undefined }),
  valueToken: fc.constantFrom(undefined, sell.token, buy.token),
  madeIn: fc.constantFrom(undefined, sell.token, sell.token, buy.token),
})

type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never

/** Writes a random daemon's journal, and makes side files once in the middle, and perhaps at the end. Returns its last time. */
async function write(dir: string, archive: string, of: Scenario): Promise<number> {
  let nowMs = START_MS
  const { journal, beside, close } = await openForTest(dir, {
    key: PLAIN_KEY,
    clock: { now: () => nowMs },
    ...{ segmentBytes: of.segmentBytes, snapshotEvery: 40, openLog },
    archive: of.isArchived ? { dir: archive, keepFiles: 2 } : undefined,
  })
  const make = async (): Promise<void> => {
    await journal.append()
    await beside((files) => buildIndex({ ...files, ...MADE, valueToken: of.madeIn }))
  }
  const middle = Math.floor(of.firstMade * of.choices.length)
  for (const [at, choice] of of.choices.entries()) {
    const events = legalEvents(journal.state, 1_000 + at)
    const event = directly(events[choice % events.length] as JournalEvent, at)
    nowMs += STEP_MS * (of.steps.next().value ?? 0)
    // Not every direct call has a transaction of its own.
    if (isAllowed(journal.state, event, nowMs)) void journal.append(event)
    if (at % 4 === 0) await journal.append()
    if (at === middle) await make()
  }
  if (of.madeAgain) await make()
  await close()
  return nowMs
}

test('answers with an index equal answers from all records, whatever happened to the side files', async () => {
  const seen = { sides: 0, ledgers: 0, trades: 0, unfit: 0 }
  await fc.assert(
    fc.asyncProperty(scenario, async (of) => {
      const dir = temporaryDirectory()
      const archive = join(temporaryDirectory(), 'archive')
      const untilMs = await write(dir, archive, of)
      const files = sideFilesIn(archive, join(dir, 'journal'))
      for (const each of of.damages) spoil(files, each)
      if (of.loses) rmSync(join(archive, '000000000001.jsonl'), { force: true })

      const view = await readJournal(dir)
      const indexBy = (madeBy: string) =>
        view.index({ archive, onMissing: () => undefined, madeBy })
      const question = {
        ...of,
        slot: { strategy: 'alpha', slotSeconds: 1_000 + (of.slot % of.choices.length) },
        sinceMs: of.since && Math.round(START_MS + of.since * (untilMs - START_MS)),
      }
      const expected = await answersOfRecords(dir, archive, question)
      const index = await indexBy(MADE.madeBy)
      seen.sides += files.length
      seen.ledgers += index.sides.filter(({ ledgerIn }) => ledgerIn !== undefined).length
      seen.unfit += files.length - index.sides.length
      seen.trades += expected.figures.total.fills
      expect(await answersOf(index, question)).toEqual(expected)
      expect(await answersOf(await indexBy('another version'), question)).toEqual(expected)
    }),
    { numRuns: 25, endOnFailure: true },
  )
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(2)
})

function isAllowed(state: DaemonState, event: JournalEvent, atMs: number): boolean {
  const trial = emptyState()
  restoreState(trial, imageOf(state))
  try {
    reduce(trial, event, atMs)
    return true
  } catch (error) {
    if (error instanceof InvariantError) return false
    throw error
  }
}

/** Some calls go directly, so that the gas of their transaction is their charge. */
function directly(event: JournalEvent, at: number): JournalEvent {
  if (event.type !== 'call-proven' || at % 2 === 0) return event
  const execution = { ...event.execution, via: 'direct', txHash: bytes32(at % 4) } as const
  return { ...event, execution }
}

/** A file without a sync. */
async function openLog(file: string): Promise<LogFile> {
  const handle = await open(file, 'a')
  const { dev, ino } = await handle.stat({ bigint: true })
  return {
    inode: { dev, ino },
    write: async (data, offset) => (await handle.write(data, offset)).bytesWritten,
    datasync: async () => undefined,
    close: () => handle.close(),
  }
}

function sideFilesIn(...dirs: readonly string[]): readonly string[] {
  return dirs.filter(existsSync).flatMap((dir) => {
    const names = readdirSync(dir).filter((name) => name.endsWith('.index'))
    return names.sort().map((name) => join(dir, name))
  })
}

type Damage = { readonly at: number; readonly how: string; readonly where: number }

function spoil(files: readonly string[], { at, how, where }: Damage): void {
  const file = files[at % files.length] ?? ''
  const other = files[(at + 1) % files.length] ?? ''
  if (!existsSync(file) || !existsSync(other)) return
  const data = readFileSync(file)
  const place = Math.floor(where * (data.length - 1))
  const flipped = Buffer.from(data)
  flipped[Math.max(0, place)] = (data[place] ?? 0) ^ 1
  if (how === 'removed') rmSync(file)
  else if (how === 'of another file') copyFileSync(other, file)
  else writeFileSync(file, how === 'cut' ? data.subarray(0, place) : flipped)
}
