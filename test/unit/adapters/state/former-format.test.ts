import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { deriveJournalKey } from '../../../../src/adapters/keys/journal-key.ts'
import { isSound, proveState } from '../../../../src/adapters/state/care/state-proof.ts'
import type { JournalOptions } from '../../../../src/adapters/state/journal-file.ts'
import { readJournal } from '../../../../src/adapters/state/journal-view.ts'
import { StateCorruptError, WrongStateError } from '../../../../src/domain/errors.ts'
import { filledSlot } from '../../../support/state/journal-story.ts'
import {
  collect,
  openForTest,
  segmentOf,
  temporaryDirectory,
} from '../../../support/state/state-directory.ts'

/** As the program before this one has written it: eleven records, the last three in one append; one slot is open. */
const FORMER = 'test/support/golden/state-format-1'
const KEY = deriveJournalKey(new Uint8Array(32).fill(7))
const SMALL = 2_000

const open = (dir: string, more: Partial<JournalOptions> = {}) =>
  openForTest(dir, { key: KEY, segmentBytes: SMALL, ...more })

function former(): string {
  const dir = join(temporaryDirectory(), 'state')
  cpSync(FORMER, dir, { recursive: true })
  return dir
}

/** Every file below a directory with its text, but for when a snapshot was taken. */
function textsOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /json/.test(name),
  )
  return Object.fromEntries(
    names.sort().map((name) => [name, readFileSync(join(dir, name), 'utf8')]),
  )
}

describe('a journal of format 1', () => {
  test('is upgraded at the start: the same records, signed now, and the old files kept aside', async () => {
    const dir = former()
    const before = await readJournal(dir)
    const old = await collect(before.records())
    const { journal, warnings, firstStart, close } = await open(dir)
    expect(firstStart).toBe(false)
    expect(warnings).toEqual([
      `${dir}: the journal was upgraded to format 2: 11 records, now in ${join(dir, 'journal')}; the files of format 1 are kept in ${join(dir, 'format-1')}`,
    ])
    const records = await collect(journal.records())
    expect(records.map(({ seq, atMs, event }) => ({ seq, atMs, event }))).toEqual(
      old.map(({ seq, atMs, event }) => ({ seq, atMs, event })),
    )
    expect(journal.state).toEqual(before.state)
    expect(readdirSync(dir).sort()).toEqual(['format-1', 'journal', 'state.json'])
    expect(textsOf(join(dir, 'format-1'))).toEqual(textsOf(FORMER))
    await journal.append(...filledSlot(2_600))
    await close()
    const proof = await proveState(dir, { key: KEY })
    expect([isSound(proof), proof.records, proof.macs, proof.files > 2]).toEqual([
      true,
      17,
      'right',
      true,
    ])
    expect((await open(dir)).warnings).toEqual([])
  })

  test('is read by commands before that, and proven for its structure', async () => {
    const dir = former()
    const texts = textsOf(dir)
    expect((await readJournal(dir)).state.intents.size).toBe(1)
    const proof = await proveState(dir, { key: KEY })
    expect([isSound(proof), proof.format, proof.macs, proof.records]).toEqual([true, 1, 'none', 11])
    expect(textsOf(dir)).toEqual(texts)
  })

  test('can be gone back to by moving files, and upgraded again', async () => {
    const dir = former()
    await (await open(dir)).close()
    rmSync(join(dir, 'journal'), { recursive: true })
    cpSync(join(dir, 'format-1'), dir, { recursive: true })
    expect((await readJournal(dir)).state.intents.size).toBe(1)
    await expect(open(dir)).rejects.toThrow(/an upgrade was made before\. Move away/)
    rmSync(join(dir, 'format-1'), { recursive: true })
    expect((await open(dir)).warnings[0]).toContain('upgraded to format 2: 11 records')
  })

  test('is upgraded without an append that was cut short, of which the old file keeps the text', async () => {
    const dir = former()
    const file = join(dir, 'journal.jsonl')
    // The snapshot of a crash, not of a clean stop: older than the append that is cut.
    truncateSync(file, readFileSync(file).length - 30)
    rmSync(join(dir, 'state.json'))
    const torn = readFileSync(file, 'utf8')
    const { journal, warnings } = await open(dir)
    expect(await collect(journal.records())).toHaveLength(8)
    expect(warnings).toContainEqual(expect.stringContaining('was cut short'))
    expect(readFileSync(join(dir, 'format-1/journal.jsonl'), 'utf8')).toBe(torn)
  })

  test('in which no record was ever written is upgraded too', async () => {
    const dir = temporaryDirectory()
    writeFileSync(join(dir, 'journal.jsonl'), '')
    const { firstStart } = await open(dir)
    expect(firstStart).toBe(true)
    expect(existsSync(join(dir, 'journal.jsonl'))).toBe(false)
  })
})

describe('a journal of format 1 is left as it is, and refused', () => {
  const refused = async (dir: string, more: Partial<JournalOptions> = {}) => {
    const before = textsOf(dir)
    const error: unknown = await open(dir, more).catch((reason: unknown) => reason)
    expect(textsOf(dir)).toEqual(before)
    return error
  }

  test('when it was altered', async () => {
    const dir = former()
    const file = join(dir, 'journal.jsonl')
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('"amount":"25000000n"', '"amount":"25000001n"'),
    )
    const error = await refused(dir)
    expect(error).toBeInstanceOf(StateCorruptError)
    expect(String(error)).toContain('journal.jsonl: line 3 was altered')
  })

  test('when it is shorter than its snapshot', async () => {
    const dir = former()
    const file = join(dir, 'journal.jsonl')
    const lines = readFileSync(file, 'utf8').split('\n')
    writeFileSync(file, `${lines.slice(0, 8).join('\n')}\n`)
    expect(String(await refused(dir))).toContain(
      'ends after record 8, but state.json goes up to record 11',
    )
  })

  test('when it may not be believed any more, because this wallet has signed records since', async () => {
    const error = await refused(former(), { mayUpgrade: false })
    expect(error).toBeInstanceOf(StateCorruptError)
    expect(String(error)).toContain('nobody signed, and this wallet has signed records since')
  })

  test('when it is of another wallet, or the config is a dry-run', async () => {
    const key = deriveJournalKey(new Uint8Array(32).fill(8))
    for (const other of [key, undefined]) {
      const error = await refused(former(), { key: other })
      expect(error).toBeInstanceOf(WrongStateError)
    }
  })

  test('when it is put beside a journal that has gone on', async () => {
    const dir = former()
    const { journal, close } = await open(dir)
    await journal.append(...filledSlot(2_600))
    await close()
    rmSync(join(dir, 'format-1'), { recursive: true })
    cpSync(FORMER, dir, { recursive: true })
    const signed = readFileSync(segmentOf(dir), 'utf8')
    const error = await open(dir).catch((reason: unknown) => reason)
    expect(String(error)).toContain('only one of them can be this daemon')
    expect(readFileSync(segmentOf(dir), 'utf8')).toBe(signed)
  })
})

describe('an upgrade that a crash cut short is gone on with at the next start', () => {
  const places: readonly (readonly [string, (dir: string, done: string) => void])[] = [
    ['after the snapshot was kept', (dir) => keepSnapshot(dir)],
    [
      'while records were written',
      (dir) => {
        keepSnapshot(dir)
        mkdirSync(join(dir, 'journal.upgrade.tmp'))
        writeFileSync(join(dir, 'journal.upgrade.tmp/000000000001.jsonl'), '{"seq":1,"at')
      },
    ],
    [
      'after the new journal was in place',
      (dir, done) => {
        keepSnapshot(dir)
        cpSync(join(done, 'journal'), join(dir, 'journal'), { recursive: true })
      },
    ],
    [
      'after the new snapshot was written',
      (dir, done) => {
        keepSnapshot(dir)
        cpSync(join(done, 'journal'), join(dir, 'journal'), { recursive: true })
        cpSync(join(done, 'state.json'), join(dir, 'state.json'))
      },
    ],
  ]

  function keepSnapshot(dir: string): void {
    mkdirSync(join(dir, 'format-1'))
    cpSync(join(dir, 'state.json'), join(dir, 'format-1/state.json'))
  }

  test.each(places)('%s', async (_, cut) => {
    const done = former()
    await (await open(done)).close()
    const dir = former()
    cut(dir, done)
    expect((await readJournal(dir)).state.intents.size).toBe(1)
    const { warnings, close } = await open(dir)
    expect(warnings).toEqual([expect.stringContaining('upgraded to format 2: 11 records')])
    await close()
    expect(textsOf(dir)).toEqual(textsOf(done))
    expect(readdirSync(dir).sort()).toEqual(readdirSync(done).sort())
  })
})
