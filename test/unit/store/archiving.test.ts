import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { archiveFinished } from '../../../src/store/file/archiving.ts'
import type { JournalOptions } from '../../../src/store/file/journal-file.ts'
import { readJournal } from '../../../src/store/file/journal-snapshot.ts'
import { isSound, proveState } from '../../../src/store/maintenance/state-proof.ts'
import { BOUND, filledSlot, scheduled } from '../../support/state/journal-events.ts'
import { collect, openForTest, temporaryDirectory } from '../../support/state/state-directory.ts'

/** About one slot. */
const SMALL = 3_000

async function trade(dir: string, more: Partial<JournalOptions> = {}): Promise<RuntimeEvent[]> {
  const observed: RuntimeEvent[] = []
  const observe = (event: RuntimeEvent): void => void observed.push(event)
  const { journal, close } = await openForTest(dir, {
    ...{ segmentBytes: SMALL, snapshotEvery: 5, observe },
    ...more,
  })
  await journal.append(BOUND, scheduled())
  for (let slot = 2_000; slot < 2_020; slot += 1)
    for (const event of filledSlot(slot)) await journal.append(event)
  await close()
  return observed
}

const filesOf = (dir: string): string[] => readdirSync(dir).sort()

test('finished files move to the archive, the newest stay, and all records are read from both', async () => {
  const dir = temporaryDirectory()
  const archive = join(temporaryDirectory(), 'archive')
  const observed = await trade(dir, { archive: { dir: archive, keepFiles: 3 } })
  expect(filesOf(join(dir, 'journal')).length).toBeLessThanOrEqual(4)
  expect(filesOf(archive).length).toBeGreaterThan(4)
  expect(observed.some(({ type }) => type === 'journal-archived')).toBe(true)
  expect(statSync(archive).mode & 0o777).toBe(0o700)
  const view = await readJournal(dir)
  const all = await collect(view.records(undefined, archive))
  expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1))
  expect(all.length).toBe(view.head.seq)
  expect(isSound(await proveState(dir, { archive }))).toBe(true)
})

test('a daemon restarts from the remaining files and continues', async () => {
  const dir = temporaryDirectory()
  const archive = join(temporaryDirectory(), 'archive')
  await trade(dir, { archive: { dir: archive, keepFiles: 2 } })
  const { journal, warnings, close } = await openForTest(dir, { segmentBytes: SMALL })
  expect(warnings).toEqual([])
  expect(journal.state.strategies.size).toBe(1)
  for (const event of filledSlot(3_000)) await journal.append(event)
  await close()
})

test('files after the snapshot are never archived, because a start needs them', async () => {
  const dir = temporaryDirectory()
  await trade(dir)
  const before = filesOf(join(dir, 'journal'))
  const archive = join(dir, '..', 'elsewhere')
  expect(await archiveFinished(join(dir, 'journal'), { dir: archive, keepFiles: 2 }, 0)).toBe(0)
  expect(filesOf(join(dir, 'journal'))).toEqual(before)
  expect(existsSync(archive)).toBe(false)
})

test('without an archive all files stay', async () => {
  const dir = temporaryDirectory()
  const observed = await trade(dir)
  expect(filesOf(join(dir, 'journal')).length).toBeGreaterThan(6)
  expect(observed.some(({ type }) => type === 'journal-archived')).toBe(false)
})

test('a file that a crash left in both directories is removed from the journal; a different file of the same name stays', async () => {
  const dir = temporaryDirectory()
  await trade(dir)
  const journalDir = join(dir, 'journal')
  const [first = '', second = ''] = filesOf(journalDir)
  const archive = temporaryDirectory()
  writeFileSync(join(archive, first), readFileSync(join(journalDir, first)))
  writeFileSync(join(archive, second), 'something else')
  const rule = { dir: archive, keepFiles: 2 }
  await expect(archiveFinished(journalDir, rule, 10_000)).rejects.toThrow(/is another file/)
  expect(existsSync(join(journalDir, first))).toBe(false)
  expect(existsSync(join(journalDir, second))).toBe(true)
})

test('an unwritable archive is reported and does not stop trading', async () => {
  const dir = temporaryDirectory()
  const blocked = join(temporaryDirectory(), 'file')
  mkdirSync(join(blocked, '..'), { recursive: true })
  writeFileSync(blocked, '')
  const observed = await trade(dir, { archive: { dir: join(blocked, 'archive'), keepFiles: 2 } })
  expect(observed.some(({ type }) => type === 'archive-trouble')).toBe(true)
  expect((await readJournal(dir)).head.seq).toBeGreaterThan(100)
})
