import {
  appendFileSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Recorded } from '../../../src/journal/events/registry.ts'
import type { RuntimeEvent } from '../../../src/journal/runtime-event.ts'
import { emptyState } from '../../../src/journal/state/state-image.ts'
import { openLogFile } from '../../../src/store/file/group-commit.ts'
import { readJournal } from '../../../src/store/file/journal-snapshot.ts'
import { copyOf } from '../../support/state/copy-of.ts'
import {
  BOUND,
  filledSlot,
  intentOf,
  opened,
  scheduled,
} from '../../support/state/journal-events.ts'
import {
  collect,
  openForTest,
  segmentOf,
  temporaryDirectory,
} from '../../support/state/state-directory.ts'
import { waitFor } from '../../support/wait-for.ts'

const seqOf = (dir: string): number => JSON.parse(readFileSync(join(dir, 'state.json'), 'utf8')).seq

const untilSnapshot = (dir: string, seq: number) => waitFor('a snapshot', () => seqOf(dir), seq)

describe('a first start', () => {
  test('creates a private directory with a private, empty journal and its snapshot', async () => {
    const dir = join(temporaryDirectory(), 'deep', 'state')
    const { firstStart, warnings } = await openForTest(dir)
    expect({ firstStart, warnings }).toEqual({ firstStart: true, warnings: [] })
    const modes = [dir, join(dir, 'journal'), segmentOf(dir), join(dir, 'state.json')].map(
      (file) => statSync(file).mode & 0o777,
    )
    expect(modes).toEqual([0o700, 0o700, 0o600, 0o600])
    expect(seqOf(dir)).toBe(0)
  })

  test('interrupted between its two files starts again', async () => {
    const dir = temporaryDirectory()
    mkdirSync(join(dir, 'journal'))
    writeFileSync(segmentOf(dir), '')
    const { firstStart } = await openForTest(dir)
    expect(firstStart).toBe(true)
  })

  test('interrupted before the first complete record is still a first start', async () => {
    const dir = temporaryDirectory()
    const first = await openForTest(dir)
    await first.close()
    appendFileSync(segmentOf(dir), '{"seq":1,"at')
    const { firstStart, warnings } = await openForTest(dir)
    expect(firstStart).toBe(true)
    expect(warnings).toHaveLength(1)
  })
})

describe('a later start', () => {
  test('restores the state, from the snapshot only or from the journal after it', async () => {
    const dir = temporaryDirectory()
    const first = await openForTest(dir)
    await first.journal.append(BOUND, scheduled(), ...filledSlot(2_000))
    await first.journal.append(opened(intentOf(3_000)))
    const left = copyOf(first.journal.state)
    expect(seqOf(dir)).toBeLessThan(9)
    expect((await readJournal(dir)).state).toEqual(left)
    await first.close()
    expect(seqOf(dir)).toBe(9)
    const second = await openForTest(dir)
    expect(second.firstStart).toBe(false)
    expect(second.journal.state).toEqual(left)
  })

  test('knows when the last run wrote its last record, or its last snapshot at a stop', async () => {
    const dir = temporaryDirectory()
    let nowMs = 1_000
    const clock = { now: () => nowMs }
    const killed = await openForTest(dir, { clock })
    expect(killed.lastSeenMs).toBeUndefined()
    nowMs = 2_000
    await killed.journal.append(BOUND)
    nowMs = 3_000
    await killed.journal.append(scheduled())
    // What a kill leaves; the run itself may still be writing a snapshot.
    const left = temporaryDirectory()
    cpSync(dir, left, { recursive: true, filter: (from) => !from.endsWith('.tmp') })
    nowMs = 4_000
    await killed.close()
    const second = await openForTest(left, { clock })
    expect(second.lastSeenMs).toBe(3_000)
    nowMs = 5_000
    await second.close()
    const third = await openForTest(left, { clock })
    expect(third.lastSeenMs).toBe(5_000)
    await third.close()
  })

  test('continues the numbers and hashes of the last run', async () => {
    const dir = temporaryDirectory()
    const first = await openForTest(dir)
    await first.journal.append(BOUND)
    await first.close()
    const second = await openForTest(dir)
    await second.journal.append(scheduled())
    const records = await collect(second.journal.records())
    expect(records.map(({ seq }) => seq)).toEqual([1, 2])
    expect(records[1]?.prev).toBe(records[0]?.hash)
  })

  test('removes the temporary file of a killed snapshot and no other file', async () => {
    const dir = temporaryDirectory()
    writeFileSync(join(dir, 'state.json.0a1b2c.tmp'), '{"ver')
    writeFileSync(join(dir, 'notes.tmp'), 'mine')
    await openForTest(dir)
    expect(readdirSync(dir).sort()).toEqual(['journal', 'notes.tmp', 'state.json'])
  })
})

describe('snapshots', () => {
  test('are taken after the first record, then after every `snapshotEvery` records', async () => {
    const dir = temporaryDirectory()
    const { journal } = await openForTest(dir, { snapshotEvery: 10 })
    await journal.append(scheduled('a-0'))
    await untilSnapshot(dir, 1)
    for (let n = 1; n < 10; n += 1) await journal.append(scheduled(`a-${n}`))
    expect(seqOf(dir)).toBe(1)
    await journal.append(scheduled('a-10'))
    await untilSnapshot(dir, 11)
  })

  test('of a large state wait until the journal has grown by four times their size', async () => {
    const dir = temporaryDirectory()
    const { journal } = await openForTest(dir, { snapshotEvery: 10 })
    await journal.append(...Array.from({ length: 1_200 }, (_, n) => scheduled(`a-${n}`)))
    await untilSnapshot(dir, 1_200)
    const snapshotBytes = statSync(join(dir, 'state.json')).size
    const journalBytes = (): number => statSync(segmentOf(dir)).size
    const before = journalBytes()
    while (journalBytes() - before < 3.9 * snapshotBytes)
      await journal.append(...Array.from({ length: 50 }, () => scheduled('a-0')))
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(seqOf(dir)).toBe(1_200)
    while (journalBytes() - before < 4 * snapshotBytes)
      await journal.append(...Array.from({ length: 50 }, () => scheduled('a-0')))
    await waitFor('the next snapshot', () => seqOf(dir) > 1_200)
  })

  test('of the largest state wait for at most two journal files', async () => {
    const dir = temporaryDirectory()
    const segmentBytes = 60_000
    const { journal } = await openForTest(dir, { snapshotEvery: 10, segmentBytes })
    await journal.append(...Array.from({ length: 1_200 }, (_, n) => scheduled(`a-${n}`)))
    await untilSnapshot(dir, 1_200)
    expect(4 * statSync(join(dir, 'state.json')).size).toBeGreaterThan(3 * segmentBytes)
    let bytes = 0
    for (; bytes < 2 * segmentBytes; bytes += 200) await journal.append(scheduled('a-0'))
    await waitFor('the next snapshot', () => seqOf(dir) > 1_200)
  })

  test('hold the state of their record even if appends continue', async () => {
    const dir = temporaryDirectory()
    const { journal, close } = await openForTest(dir, { snapshotEvery: 3 })
    const written: Promise<void>[] = [journal.append(scheduled())]
    for (let slot = 2_000; slot < 2_200; slot += 1)
      written.push(journal.append(...filledSlot(slot)))
    await Promise.all(written)
    await close()
    expect((await readJournal(dir)).state).toEqual(journal.state)
    const replayed = await openForTest(dir)
    expect(replayed.journal.state).toEqual(journal.state)
  })

  test('are written only once their records are on disk', async () => {
    const dir = temporaryDirectory()
    let release = () => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const { journal } = await openForTest(dir, {
      openLog: async (file) => {
        const log = await openLogFile(file)
        return { ...log, datasync: () => gate.then(log.datasync) }
      },
    })
    const written = journal.append(scheduled())
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(seqOf(dir)).toBe(0)
    release()
    await written
    await untilSnapshot(dir, 1)
  })

  test('never overlap', async () => {
    const dir = temporaryDirectory()
    let most = 0
    const { journal } = await openForTest(dir, {
      snapshotEvery: 1,
      observe: () => {
        const running = readdirSync(dir).filter((name) => name.endsWith('.tmp')).length
        most = Math.max(most, running)
      },
    })
    for (let n = 0; n < 300; n += 1) await journal.append(scheduled(`a-${n}`))
    expect(most).toBe(1)
  })

  test('of a large state are written in parts and read back completely', async () => {
    const dir = temporaryDirectory()
    const { journal, close } = await openForTest(dir)
    const names = Array.from({ length: 450 }, (_, n) => `a-${n}`)
    await journal.append(BOUND, ...names.map((name) => scheduled(name)))
    await journal.append(...names.flatMap((name) => filledSlot(2_000, name)))
    const left = copyOf(journal.state)
    await close()
    expect(seqOf(dir)).toBe(451 + 2_700)
    expect((await readJournal(dir)).state).toEqual(left)
  })

  test('taken at close are not overtaken by a running snapshot', async () => {
    const dir = temporaryDirectory()
    const { journal, close } = await openForTest(dir, { snapshotEvery: 1 })
    const written = [scheduled('a'), scheduled('b'), scheduled('c')].map((event) =>
      journal.append(event),
    )
    await Promise.all([...written, close(), close()])
    expect(seqOf(dir)).toBe(3)
    expect(readdirSync(dir).sort()).toEqual(['journal', 'state.json'])
  })
})

describe('reading next to a running daemon', () => {
  test('returns the state and records on disk without touching the files', async () => {
    const dir = temporaryDirectory()
    const { journal } = await openForTest(dir)
    await journal.append(scheduled(), ...filledSlot(2_000))
    const file = segmentOf(dir)
    appendFileSync(file, '{"seq":8,"atMs":18000')
    const before = statSync(file).size
    const view = await readJournal(dir)
    expect(view.state).toEqual(journal.state)
    expect(await collect(view.records())).toHaveLength(7)
    expect(view.warnings).toEqual([expect.stringContaining('after line 7 was cut short (21 bytes')])
    expect(statSync(file).size).toBe(before)
  })

  test('returns an empty state if no daemon ever ran, and creates no files', async () => {
    const dir = temporaryDirectory()
    const view = await readJournal(join(dir, 'absent'))
    expect(view.state).toEqual(emptyState())
    expect(await collect(view.records())).toEqual([])
    expect(readdirSync(dir)).toEqual([])
  })
})

test('a closed journal rejects appends', async () => {
  const { journal, close } = await openForTest(temporaryDirectory())
  await close()
  await expect(journal.append(scheduled())).rejects.toThrow(/journal: is closed/)
  expect(journal.state).toEqual(emptyState())
})

test('appends that wait together share one write, which is observed once', async () => {
  const seen: RuntimeEvent[] = []
  const recorded: Recorded[] = []
  const { journal } = await openForTest(temporaryDirectory(), {
    observe: (event) => seen.push(event),
    recorded: (entry) => recorded.push(entry),
  })
  await Promise.all(Array.from({ length: 20 }, (_, n) => journal.append(scheduled(`a-${n}`))))
  expect(recorded.map(({ record }) => record.seq)).toEqual(
    Array.from({ length: 20 }, (_, n) => n + 1),
  )
  expect(seen).toEqual([{ type: 'journal-appended', records: 20, durationMs: expect.any(Number) }])
})

describe('damage to a journal under a running daemon is detected before the next append', () => {
  const kept = 'elsewhere'
  const damages: readonly (readonly [string, (dir: string) => void, string])[] = [
    ['removed', (dir) => rmSync(segmentOf(dir)), 'it was moved away or removed'],
    ['moved away', (dir) => renameSync(segmentOf(dir), join(dir, kept)), 'it was moved away'],
    [
      'moved away with its directory',
      (dir) => renameSync(join(dir, 'journal'), join(dir, kept)),
      'it was moved away or removed',
    ],
    [
      'replaced by a copy of itself',
      (dir) => {
        copyFileSync(segmentOf(dir), join(dir, kept))
        renameSync(join(dir, kept), segmentOf(dir))
      },
      'it was replaced by another file',
    ],
    ['cut', (dir) => truncateSync(segmentOf(dir), 10), 'it was cut to 10 of'],
    [
      'written by another',
      (dir) => appendFileSync(segmentOf(dir), '{}\n'),
      'somebody else wrote 3 bytes into it',
    ],
  ]

  test.each(damages)('if it is %s', async (_, damage, says) => {
    const dir = temporaryDirectory()
    const faults: Error[] = []
    const { journal } = await openForTest(dir, { onFatal: (error) => faults.push(error) })
    await journal.append(scheduled('a'))
    await untilSnapshot(dir, 1)
    damage(dir)
    await expect(journal.append(scheduled('b'))).rejects.toThrow(says)
    expect(faults.map(({ message }) => message)).toEqual([
      expect.stringContaining('while the daemon is running'),
    ])
    await expect(journal.append(scheduled('c'))).rejects.toThrow(/Nothing more is recorded/)
    const texts = readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .map((name) => join(dir, name))
      .filter((file) => statSync(file).isFile())
      .map((file) => readFileSync(file, 'utf8'))
    expect(texts.filter((text) => text.includes('"strategy":"b"'))).toEqual([])
  })
})
