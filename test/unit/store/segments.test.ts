import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { describeAll } from '../../../src/journal/describe.ts'
import { deriveJournalKey } from '../../../src/signing/keys/journal-key.ts'
import { type LogFile, openLogFile } from '../../../src/store/file/group-commit.ts'
import type { JournalOptions } from '../../../src/store/file/journal-file.ts'
import { readJournal } from '../../../src/store/file/journal-snapshot.ts'
import { isSound, proveState } from '../../../src/store/maintenance/state-proof.ts'
import { copyOf } from '../../support/state/copy-of.ts'
import { BOUND, filledSlot, scheduled } from '../../support/state/journal-events.ts'
import {
  collect,
  openForTest,
  segmentOf,
  temporaryDirectory,
} from '../../support/state/state-directory.ts'

const KEY = deriveJournalKey(new Uint8Array(32).fill(7))
const OWN = { ...BOUND, mode: 'live', owner: KEY.address } as const
/** About one slot. */
const SMALL = 3_000

const open = (dir: string, more: Partial<JournalOptions> = {}) =>
  openForTest(dir, { key: KEY, segmentBytes: SMALL, ...more })
const names = (dir: string): string[] => readdirSync(join(dir, 'journal')).sort()
const firsts = (dir: string): number[] => names(dir).map((name) => Number.parseInt(name, 10))

/** Ten filled slots over several files, after a clean stop. */
async function traded(): Promise<string> {
  const dir = temporaryDirectory()
  const { journal, close } = await open(dir)
  await journal.append(OWN, scheduled())
  for (let slot = 2_000; slot < 2_010; slot += 1)
    for (const event of filledSlot(slot)) await journal.append(event)
  await close()
  return dir
}

describe('a journal of several files', () => {
  test('names each file by its first record, which follows the last record of the previous file', async () => {
    const dir = await traded()
    expect(names(dir).length).toBeGreaterThan(4)
    expect(names(dir)[0]).toBe('000000000001.jsonl')
    let prev = ''
    let seq = 0
    for (const [index, first] of firsts(dir).entries()) {
      const text = readFileSync(join(dir, 'journal', names(dir)[index] ?? ''), 'utf8')
      const lines = text.split('\n').slice(0, -1)
      const records = lines.map((line) => JSON.parse(line))
      expect(records[0].seq).toBe(first)
      expect(first).toBe(seq + 1)
      if (prev !== '') expect(records[0].prev).toBe(prev)
      prev = records.at(-1).hash
      seq = records.at(-1).seq
    }
    expect(seq).toBe(62)
    const proof = await proveState(dir, { key: KEY })
    expect([isSound(proof), proof.records, proof.macs]).toEqual([true, 62, 'right'])
  })

  test('never splits an append over two files', async () => {
    const dir = temporaryDirectory()
    const { journal } = await open(dir, { segmentBytes: 1 })
    await journal.append(OWN, scheduled(), scheduled('b'))
    await journal.append(...filledSlot(2_000))
    await journal.append(scheduled('c'))
    expect(firsts(dir)).toEqual([1, 4, 10])
  })

  test('is reopened and returns all records in order', async () => {
    const dir = await traded()
    const { journal, warnings } = await open(dir)
    expect(warnings).toEqual([])
    const records = await collect(journal.records())
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1))
    expect(records).toHaveLength(62)
  })

  test('is opened by reading only its last file, even if the others are damaged', async () => {
    const dir = await traded()
    for (const first of firsts(dir).slice(0, -1)) writeFileSync(segmentOf(dir, first), 'invalid\n')
    const { journal, warnings, close } = await open(dir)
    expect(warnings).toEqual([])
    await journal.append(scheduled('more'))
    await close()
    expect((await readJournal(dir)).state.strategies.size).toBe(2)
    const { journalFault } = await proveState(dir, { key: KEY })
    expect(journalFault).toMatchObject({
      file: segmentOf(dir),
      detail: 'line 1 is not a journal record',
    })
  })

  test('is read from the file of the snapshot onward if a crash left an older snapshot', async () => {
    const dir = temporaryDirectory()
    const first = await open(dir)
    await first.journal.append(OWN, scheduled())
    for (const event of filledSlot(2_000)) await first.journal.append(event)
    await first.close()
    cpSync(join(dir, 'state.json'), join(dir, 'kept'))
    const [, holding = 0] = firsts(dir)
    const second = await open(dir)
    for (const event of filledSlot(2_001)) await second.journal.append(event)
    const left = copyOf(second.journal.state)
    await second.close()
    cpSync(join(dir, 'kept'), join(dir, 'state.json'))
    writeFileSync(segmentOf(dir), 'invalid\n')
    expect(firsts(dir).filter((each) => each > holding).length).toBeGreaterThan(0)
    expect((await open(dir)).journal.state).toEqual(left)
  })
})

describe('a damaged journal of several files is rejected', () => {
  /** Creates a journal with only the first snapshot, so that a start reads all of it. */
  async function unsnapshotted(): Promise<string> {
    const dir = temporaryDirectory()
    await (await open(dir)).close()
    cpSync(join(dir, 'state.json'), join(dir, 'kept'))
    const { journal, close } = await open(dir)
    await journal.append(OWN, scheduled())
    for (let slot = 2_000; slot < 2_004; slot += 1)
      for (const event of filledSlot(slot)) await journal.append(event)
    await close()
    cpSync(join(dir, 'kept'), join(dir, 'state.json'))
    return dir
  }

  test('if a file in the middle is gone', async () => {
    const dir = await unsnapshotted()
    const [, second = 0, third = 0] = firsts(dir)
    rmSync(segmentOf(dir, second))
    await expect(open(dir)).rejects.toThrow(`records ${second} to ${third - 1} are missing`)
  })

  test('if a file before the last is truncated', async () => {
    const dir = await unsnapshotted()
    const [, second = 0] = firsts(dir)
    const file = segmentOf(dir, second)
    truncateSync(file, readFileSync(file).length - 5)
    await expect(open(dir)).rejects.toThrow('it ends in the middle of the append after line')
  })

  test('if whole lines are missing at the end of a file before the last', async () => {
    const dir = await unsnapshotted()
    const [, second = 0] = firsts(dir)
    const file = segmentOf(dir, second)
    const lines = readFileSync(file, 'utf8').split('\n')
    writeFileSync(file, `${lines.slice(0, 2).join('\n')}\n`)
    await expect(open(dir)).rejects.toThrow(/the file before it is not here|are missing/)
  })

  test('if the last file is gone and the snapshot covers it', async () => {
    const dir = await traded()
    rmSync(segmentOf(dir, firsts(dir).at(-1)))
    await expect(open(dir)).rejects.toThrow(
      /ends after record \d+, but state.json goes up to record 62/,
    )
  })

  test('if a record in a later file was changed, with its line and number', async () => {
    const dir = await unsnapshotted()
    const [, second = 0] = firsts(dir)
    const file = segmentOf(dir, second)
    writeFileSync(file, readFileSync(file, 'utf8').replace('"atMs":1', '"atMs":2'))
    await expect(open(dir)).rejects.toThrow(`${file}: line 1 (record ${second}) was altered`)
  })
})

describe('archived files', () => {
  async function archived() {
    const dir = await traded()
    const archive = join(dir, 'archive')
    mkdirSync(archive)
    const moved = names(dir).slice(0, -2)
    for (const name of moved) renameSync(join(dir, 'journal', name), join(archive, name))
    const [first = 0] = firsts(dir)
    return { dir, archive, first, moved }
  }

  test('are not needed at a start', async () => {
    const { dir, first } = await archived()
    const { journal, warnings } = await open(dir)
    expect(warnings).toEqual([])
    const records = await collect(journal.records())
    expect([records[0]?.seq, records.at(-1)?.seq]).toEqual([first, 62])
  })

  test('complete the proof, which is also sound for the remaining files alone', async () => {
    const { dir, archive, first, moved } = await archived()
    const part = await proveState(dir, { key: KEY })
    expect([isSound(part), part.missing]).toEqual([true, { from: 1, to: first - 1 }])
    const whole = await proveState(dir, { key: KEY, archive })
    expect([isSound(whole), whole.missing, whole.records, whole.archived]).toEqual([
      true,
      undefined,
      62,
      moved.length,
    ])
  })

  test('are reported if one of them was altered, truncated or lost', async () => {
    const { dir, archive, moved } = await archived()
    const [one = '', two = ''] = moved
    const file = join(archive, one)
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace('"fromSeconds":1000', '"fromSeconds":1001'))
    expect((await proveState(dir, { archive })).journalFault?.detail).toMatch(/line 2 was altered/)
    writeFileSync(file, text)
    rmSync(join(archive, two))
    expect((await proveState(dir, { archive })).journalFault?.detail).toMatch(/are missing/)
  })

  test('are required to rebuild a snapshot', async () => {
    const { dir, first } = await archived()
    writeFileSync(join(dir, 'state.json'), '')
    await expect(open(dir)).rejects.toThrow(
      new RegExp(`1 to ${first - 1} are not in .*state rebuild --archive DIR`),
    )
  })

  test('are reported once as a gap, and the later slots are still described', async () => {
    const { dir, first } = await archived()
    const view = await readJournal(dir)
    const missing: unknown[] = []
    const described = []
    for await (const each of describeAll(
      view.records((gap) => missing.push(gap)),
      view.state,
    ))
      described.push(each)
    expect(missing).toEqual([{ from: 1, to: first - 1 }])
    expect(described).toHaveLength(62 - first + 1)
    const closed = described.filter(({ event }) => event.type === 'slot-closed')
    const filled = described.filter(
      ({ event, context }) => event.type === 'fill-proven' && context !== undefined,
    )
    expect(closed.length).toBeGreaterThan(0)
    expect(filled.length).toBeGreaterThan(0)
    await expect(collect(view.records())).rejects.toThrow(`records 1 to ${first - 1} are missing`)
  })
})

test('a kill at any point of writing and rotation loses no acknowledged record and leaves no partial append', async () => {
  const dir = temporaryDirectory()
  const copies = temporaryDirectory()
  const states: { readonly copy: string; readonly acknowledged: number }[] = []
  let acknowledged = 0
  /** Copies the files as a power cut would leave them now. */
  const kill = (): void => {
    const copy = join(copies, `${states.length}`)
    // A temporary file may be renamed during the copy.
    cpSync(dir, copy, { recursive: true, filter: (name) => !name.endsWith('.tmp') })
    states.push({ copy, acknowledged })
  }
  const openLog = async (file: string): Promise<LogFile> => {
    kill()
    const log = await openLogFile(file)
    const write: LogFile['write'] = async (data, offset) => {
      kill()
      const half = data.subarray(0, offset + Math.ceil((data.length - offset) / 2))
      const taken = await log.write(half, offset)
      kill()
      return taken
    }
    return { ...log, write }
  }
  const { journal, close } = await open(dir, { openLog, segmentBytes: 500, snapshotEvery: 4 })
  const events = [OWN, scheduled(), ...filledSlot(2_000)]
  for (let at = 0; at < events.length; at += 2) {
    await journal.append(...events.slice(at, at + 2))
    acknowledged += 2
    kill()
  }
  await close()
  expect(firsts(dir).length).toBeGreaterThan(2)
  for (const state of states) {
    const opened = await open(state.copy)
    const records = await collect(opened.journal.records())
    expect(records.length).toBeGreaterThanOrEqual(state.acknowledged)
    expect(records.length % 2).toBe(0)
    await opened.journal.append(scheduled('after'), scheduled('wards'))
    await opened.close()
    const proof = await proveState(state.copy, { key: KEY })
    expect([isSound(proof), proof.records]).toEqual([true, records.length + 2])
  }
})
