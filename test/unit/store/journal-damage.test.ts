import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { StateCorruptError } from '../../../src/domain/errors.ts'
import { encodeRecords, GENESIS } from '../../../src/store/file/journal-codec.ts'
import { readJournal } from '../../../src/store/file/journal-snapshot.ts'
import { copyOf } from '../../support/state/copy-of.ts'
import {
  BOUND,
  exposed,
  filledSlot,
  intentOf,
  scheduled,
} from '../../support/state/journal-events.ts'
import {
  collect,
  openForTest,
  segmentOf,
  temporaryDirectory,
} from '../../support/state/state-directory.ts'

let dir = ''
let journalFile = ''
let snapshotFile = ''

/** Eight records with a snapshot of the second, as after a crash. */
beforeEach(async () => {
  dir = temporaryDirectory()
  journalFile = segmentOf(dir)
  snapshotFile = join(dir, 'state.json')
  const first = await openForTest(dir)
  await first.journal.append(BOUND)
  await first.journal.append(scheduled())
  await first.close()
  copyFileSync(snapshotFile, join(dir, 'kept'))
  const second = await openForTest(dir)
  for (const event of filledSlot(2_000)) await second.journal.append(event)
  await second.close()
  copyFileSync(join(dir, 'kept'), snapshotFile)
})

const lines = (): string[] => readFileSync(journalFile, 'utf8').split('\n').slice(0, -1)
const rewrite = (texts: readonly string[], end = '\n'): void =>
  writeFileSync(journalFile, texts.join('\n') + end)

async function refusal(): Promise<StateCorruptError> {
  const files = () => [readFileSync(journalFile, 'utf8'), readFileSync(snapshotFile, 'utf8')]
  const before = files()
  const error = await openForTest(dir).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(files()).toEqual(before)
  if (!(error instanceof StateCorruptError)) throw new Error(`opened or failed otherwise: ${error}`)
  await expect(readJournal(dir)).rejects.toThrow(error.message)
  return error
}

describe('a truncated append at the end', () => {
  test.each([1, 20, 200])('is removed with a warning if %i bytes are missing', async (missing) => {
    truncateSync(journalFile, readFileSync(journalFile).length - missing)
    const { journal, warnings } = await openForTest(dir)
    expect(warnings).toEqual([
      expect.stringContaining('000000000001.jsonl: the append after line 7'),
    ])
    expect(lines()).toHaveLength(7)
    expect(journal.state.strategies.get('weekly-eth')?.openSlots).toMatchObject([
      { slotSeconds: 2_000 },
    ])
    await journal.append({
      type: 'slot-closed',
      strategy: 'weekly-eth',
      slotSeconds: 2_000,
      outcome: 'filled',
      reason: 'filled',
    })
    expect(await collect(journal.records())).toHaveLength(8)
  })

  test('of several records is removed as a whole', async () => {
    const first = await openForTest(dir)
    await first.journal.append(scheduled('a'), scheduled('b'), scheduled('c'))
    await first.close()
    copyFileSync(join(dir, 'kept'), snapshotFile)
    const all = lines()
    rewrite(all.slice(0, 10))
    const { journal } = await openForTest(dir)
    expect([...journal.state.strategies.keys()]).toEqual(['weekly-eth'])
    expect(lines()).toEqual(all.slice(0, 8))
  })

  test('is reported once: the next start has no warning', async () => {
    truncateSync(journalFile, readFileSync(journalFile).length - 5)
    await (await openForTest(dir)).close()
    expect((await openForTest(dir)).warnings).toEqual([])
  })
})

describe('a damaged journal stops the daemon', () => {
  test('if a value in the middle was changed', async () => {
    rewrite(lines().map((line) => line.replace('"amount":"25000000n"', '"amount":"25000001n"')))
    const { message, file, remedy } = await refusal()
    expect(message).toContain('000000000001.jsonl: line 3 was altered')
    expect(file).toBe(journalFile)
    expect(remedy).toContain('keep a copy of the whole state directory')
  })

  test('if a value in a record covered by the snapshot was changed', async () => {
    rewrite(lines().map((line) => line.replace('"mode":"sandbox"', '"mode":"dry-run"')))
    expect((await refusal()).message).toContain('line 1 was altered')
  })

  test('if the last line is complete and invalid', async () => {
    rewrite([...lines().slice(0, 7), '{"seq":8,'])
    expect((await refusal()).message).toContain('line 8 is not a journal record')
  })

  test('if a line in the middle is missing', async () => {
    rewrite(lines().filter((_, index) => index !== 4))
    expect((await refusal()).message).toContain('line 5 holds record 6 where record 5 should be')
  })

  test('if a line is duplicated', async () => {
    rewrite(lines().flatMap((line, index) => (index === 4 ? [line, line] : [line])))
    expect((await refusal()).message).toContain('line 6 holds record 5 where record 6 should be')
  })

  test('if an empty line is in the middle', async () => {
    rewrite(lines().flatMap((line, index) => (index === 4 ? ['', line] : [line])))
    expect((await refusal()).message).toContain('line 5 is not a journal record')
  })

  test('if a record is replaced by one with its own valid hash', async () => {
    const { text } = encodeRecords({ seq: 4, hash: GENESIS.hash }, [scheduled('x')], 1)
    rewrite(lines().map((line, index) => (index === 4 ? text.trimEnd() : line)))
    expect((await refusal()).message).toContain('line 5 does not follow the record before it')
  })

  test('if the whole journal is replaced by one with valid hashes', async () => {
    rewrite([encodeRecords(GENESIS, [scheduled('x'), scheduled('y')], 1).text], '')
    expect((await refusal()).message).toContain(
      'line 2 is not the record that state.json was made from',
    )
  })

  test('if it is shorter than its snapshot', async () => {
    rewrite(lines().slice(0, 1))
    expect((await refusal()).message).toContain(
      'ends after record 1, but state.json goes up to record 2',
    )
  })

  test('if it is empty', async () => {
    writeFileSync(journalFile, '')
    expect((await refusal()).message).toContain(
      'ends after record 0, but state.json goes up to record 2',
    )
  })

  test('if zeros fill its end beyond the size of any record', async () => {
    writeFileSync(journalFile, Buffer.alloc(5 * 1024 * 1024), { flag: 'a' })
    expect((await refusal()).message).toContain('line 9 is longer than any record')
  })

  test('if a record with a valid hash violates the state table', async () => {
    const { text } = encodeRecords(GENESIS, [BOUND, scheduled(), exposed(intentOf(2_000))], 1)
    rewrite([text], '')
    rmSync(snapshotFile)
    const fresh = temporaryDirectory()
    await (await openForTest(fresh)).close()
    copyFileSync(join(fresh, 'state.json'), snapshotFile)
    expect((await refusal()).message).toContain('line 3 does not fit the records before it')
  })
})

describe('a damaged state.json next to an intact journal is rebuilt', () => {
  const damages: readonly (readonly [string, (text: string) => string, string])[] = [
    ['is empty', () => '', 'is cut short or is no snapshot'],
    ['holds null', () => 'null\n', 'is cut short or is no snapshot'],
    ['holds an empty object', () => '{}', 'is cut short or is no snapshot'],
    ['lost its end', (text) => text.slice(0, -30), 'is cut short or is no snapshot'],
    ['was edited', (text) => text.replace('"seq":2', '"seq":1'), 'was altered'],
  ]

  test.each(damages)('if it %s', async (_, change, detail) => {
    const whole = copyOf((await readJournal(dir)).state)
    const damaged = change(readFileSync(snapshotFile, 'utf8'))
    writeFileSync(snapshotFile, damaged)
    expect((await readJournal(dir)).state).toEqual(whole)
    const { journal, warnings, close } = await openForTest(dir)
    expect(warnings).toEqual([expect.stringContaining(detail)])
    expect(warnings[0]).toContain('was made anew from the journal, which proves whole (8 records)')
    expect(journal.state).toEqual(whole)
    expect(readFileSync(`${snapshotFile}.damaged`, 'utf8')).toBe(damaged)
    await close()
    expect((await openForTest(dir)).warnings).toEqual([])
  })

  test('if it is missing', async () => {
    const whole = copyOf((await readJournal(dir)).state)
    rmSync(snapshotFile)
    const { journal, warnings } = await openForTest(dir)
    expect(warnings[0]).toContain('state.json: it is missing although there is a journal')
    expect(journal.state).toEqual(whole)
  })

  test.each(damages)('but not if it %s and the journal is damaged too', async (_, change) => {
    writeFileSync(snapshotFile, change(readFileSync(snapshotFile, 'utf8')))
    rewrite(lines().map((line) => line.replace('"amount":"25000000n"', '"amount":"25000001n"')))
    const { message, file } = await refusal()
    expect(file).toBe(snapshotFile)
    expect(message).toContain('the journal does not prove whole')
    expect(message).toContain('000000000001.jsonl: line 3 was altered')
  })
})

describe('a journal missing next to its state.json stops the daemon', () => {
  test.each(['journal', 'journal/000000000001.jsonl'])('if %s is gone', async (name) => {
    rmSync(join(dir, name), { recursive: true })
    await expect(openForTest(dir)).rejects.toThrow(/journal: it is missing although/)
    await expect(openForTest(dir)).rejects.toThrow(StateCorruptError)
  })
})
