import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/journal/events/registry.ts'
import { emptyState, imageOf } from '../../../src/journal/state/state-image.ts'
import { deriveJournalKey } from '../../../src/signing/keys/journal-key.ts'
import { encodeRecords, type JournalHead } from '../../../src/store/file/journal-codec.ts'
import { readJournal } from '../../../src/store/file/journal-snapshot.ts'
import { SnapshotFile } from '../../../src/store/file/snapshot.ts'
import { backUp, temporaryBeside } from '../../../src/store/maintenance/backup.ts'
import { rebuildSnapshot } from '../../../src/store/maintenance/rebuild.ts'
import { restoreState } from '../../../src/store/maintenance/restore.ts'
import { isSound, proveState } from '../../../src/store/maintenance/state-proof.ts'
import { BOUND, filledSlot, scheduled } from '../../support/state/journal-events.ts'
import { openForTest, segmentOf, temporaryDirectory } from '../../support/state/state-directory.ts'

const KEY = deriveJournalKey(new Uint8Array(32).fill(7))
const OWN: JournalEvent = { ...BOUND, mode: 'live', owner: KEY.address }
const NOW_MS = Date.UTC(2027, 0, 2, 3, 4, 5)
const MADE = { madeBy: '1', valueToken: undefined }

let dir = ''
const snapshot = (): string => join(dir, 'state.json')
const open = (more = {}) => openForTest(dir, { key: KEY, segmentBytes: 2_000, ...more })

async function trade(slot: number): Promise<void> {
  const { journal, close } = await open()
  for (const event of filledSlot(slot)) await journal.append(event)
  await close()
}

/** Eight records in a state directory. */
beforeEach(async () => {
  dir = join(temporaryDirectory(), 'state')
  const { journal, close } = await open()
  await journal.append(OWN, scheduled())
  await close()
  await trade(2_000)
})

function everything(of = dir): Record<string, string> {
  const names = readdirSync(of, { recursive: true, encoding: 'utf8' }).sort()
  const files = names.filter((name) => statSync(join(of, name)).isFile())
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(of, name), 'utf8')]))
}

/** A signal that aborts at the given number of checks. */
function stoppingAt(count: number): AbortSignal {
  let checks = 0
  const throwIfAborted = (): void => {
    checks += 1
    if (checks === count) throw new Error('stopped')
  }
  return { throwIfAborted } as AbortSignal
}

function lastHead(): JournalHead {
  const text = readdirSync(join(dir, 'journal'))
    .sort()
    .map((name) => readFileSync(join(dir, 'journal', name), 'utf8'))
    .join('')
  const { seq, hash } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')
  return { seq, hash }
}

describe('a proof', () => {
  test('of sound state reports its length and writes nothing', async () => {
    const before = everything()
    const proof = await proveState(dir, { key: KEY })
    expect(proof).toMatchObject({
      format: 2,
      records: 8,
      macs: 'right',
      snapshotSeq: 8,
      tornBytes: 0,
    })
    expect(proof.last).toMatchObject({ seq: 8, atMs: 1_800_000_000_000 })
    expect(isSound(proof)).toBe(true)
    expect(await proveState(dir)).toMatchObject({ macs: 'unchecked', journalFault: undefined })
    expect(everything()).toEqual(before)
  })

  test('finds a resealed snapshot with missing entries, even without the key', async () => {
    const { state } = await readJournal(dir)
    state.spent.clear()
    await new SnapshotFile(snapshot()).write({ ...lastHead(), atMs: 1, state: imageOf(state) })
    writeFileSync(
      snapshot(),
      readFileSync(snapshot(), 'utf8').replace(/\}\n$/, `,"mac":"${'0'.repeat(64)}"}\n`),
    )
    expect((await proveState(dir)).snapshotFault?.detail).toContain(
      'it does not hold what the records up to 8 come to',
    )
    expect((await proveState(dir, { key: KEY })).snapshotFault?.detail).toContain(
      'was not written by',
    )
  })

  test('distinguishes a partial append from a fault', async () => {
    const [last = ''] = readdirSync(join(dir, 'journal')).sort().slice(-1)
    appendFileSync(join(dir, 'journal', last), '{"seq":9,"atMs":18000')
    const proof = await proveState(dir, { key: KEY })
    expect([isSound(proof), proof.tornBytes, proof.records]).toEqual([true, 21, 8])
  })

  test('locates a forged line by file and line', async () => {
    const { seq, hash } = lastHead()
    const [last = ''] = readdirSync(join(dir, 'journal')).sort().slice(-1)
    const file = join(dir, 'journal', last)
    const forged = { ...KEY, macOf: () => 'f'.repeat(64) }
    appendFileSync(file, encodeRecords({ seq, hash }, [scheduled('x')], 1, forged).text)
    const { journalFault } = await proveState(dir, { key: KEY })
    expect(journalFault?.file).toBe(file)
    expect(journalFault?.detail).toMatch(
      /^line \d+ \(record 9\) was not written by this wallet's daemon/,
    )
    expect(isSound(await proveState(dir))).toBe(true)
  })
})

describe('rebuilding state.json', () => {
  const rebuild = () => rebuildSnapshot(dir, { key: KEY, nowMs: NOW_MS, ...MADE })

  test.each([
    ['is missing', () => rmSync(snapshot())],
    ['is damaged', () => truncateSync(snapshot(), 40)],
    [
      'is forged',
      () =>
        new SnapshotFile(snapshot()).write({
          ...lastHead(),
          atMs: 1,
          state: imageOf(emptyState()),
        }),
    ],
  ])('uses all records if it %s', async (_, damage) => {
    const whole = (await readJournal(dir)).state
    await damage()
    const there = existsSync(snapshot()) ? readFileSync(snapshot(), 'utf8') : undefined
    const { records, kept } = await rebuild()
    expect(records).toBe(8)
    expect(kept && readFileSync(kept, 'utf8')).toBe(there)
    const { journal, warnings } = await open()
    expect(warnings).toEqual([])
    expect(journal.state).toEqual(whole)
  })

  test('refuses a truncated journal, which would lose records of a sound snapshot', async () => {
    const [last = ''] = readdirSync(join(dir, 'journal')).sort().slice(-1)
    const file = join(dir, 'journal', last)
    const lines = readFileSync(file, 'utf8').split('\n')
    writeFileSync(file, `${lines.slice(0, -2).join('\n')}\n`.trimStart())
    const before = everything()
    await expect(rebuild()).rejects.toThrow(
      /ends after record 7, but state.json goes up to record 8/,
    )
    expect(everything()).toEqual(before)
  })

  test('refuses a journal with a foreign line', async () => {
    const [last = ''] = readdirSync(join(dir, 'journal')).sort().slice(-1)
    appendFileSync(join(dir, 'journal', last), encodeRecords(lastHead(), [scheduled('x')], 1).text)
    rmSync(snapshot())
    await expect(rebuild()).rejects.toThrow(/was not written by this wallet's daemon/)
    expect(existsSync(snapshot())).toBe(false)
  })
})

describe('a backup', () => {
  const target = (name = 'backup'): string => join(dir, '..', 'elsewhere', name)

  test('is a private, sound copy, as a directory or as a tar file', async () => {
    await backUp(dir, target(), KEY)
    expect(everything(target())).toEqual(everything())
    const modes = readdirSync(target(), { recursive: true, encoding: 'utf8' }).map(
      (name) => statSync(join(target(), name)).mode & 0o077,
    )
    expect(new Set(modes)).toEqual(new Set([0]))
    await backUp(dir, target('backup.tar'), KEY)
    expect(statSync(target('backup.tar')).mode & 0o777).toBe(0o600)
    mkdirSync(target('unpacked'))
    execFileSync('tar', ['-xf', target('backup.tar'), '-C', target('unpacked')])
    expect(everything(target('unpacked'))).toEqual(everything())
    expect(readdirSync(target('..')).sort()).toEqual(['elsewhere', 'state'])
    expect(readdirSync(target('.')).sort()).toEqual(['backup', 'backup.tar', 'unpacked'])
  })

  test('overwrites nothing', async () => {
    for (const name of ['backup', 'backup.tar']) {
      await backUp(dir, target(name))
      await expect(backUp(dir, target(name))).rejects.toThrow(
        /is there already and is not overwritten/,
      )
    }
  })

  test('removes the temporary files of killed backups, but not those of running backups', async () => {
    const beside = temporaryDirectory()
    const gone = spawnSync('true').pid
    const [running, killed] = [
      temporaryBeside(join(beside, 'a')),
      temporaryBeside(join(beside, 'b')),
    ]
    const left = killed.replace(`-${process.pid}-`, `-${gone}-`)
    const older = join(beside, 'c.0123456789ab.tmp')
    const recent = join(beside, 'd.0123456789ab.tmp')
    for (const name of [running, left, older, recent]) mkdirSync(name)
    writeFileSync(`${left}.tar`, 'begun')
    writeFileSync(join(beside, 'notes.tmp'), 'mine')
    const longAgo = new Date(Date.now() - 2 * 86_400_000)
    utimesSync(older, longAgo, longAgo)
    await backUp(dir, join(beside, 'monday'), KEY)
    expect(readdirSync(beside).sort()).toEqual(
      [basename(running), basename(recent), 'monday', 'notes.tmp'].sort(),
    )
  })

  test.each(['monday', 'monday.tar'])(
    'stopped at any point leaves nothing behind: %s',
    async (name) => {
      const beside = temporaryDirectory()
      let stops = 0
      for (let at = 1; ; at += 1) {
        const signal = stoppingAt(at)
        const made = await backUp(dir, join(beside, name), KEY, signal).catch(String)
        if (made !== 'Error: stopped') break
        stops += 1
        expect(readdirSync(beside)).toEqual([])
      }
      expect(stops).toBeGreaterThan(4)
      expect(readdirSync(beside)).toEqual([name])
    },
  )

  test('of unsound state is refused, with the location of the fault', async () => {
    writeFileSync(segmentOf(dir), readFileSync(segmentOf(dir), 'utf8').replace('1000', '1001'))
    await expect(backUp(dir, target())).rejects.toThrow(`${segmentOf(dir)}: line 2 was altered`)
    expect(existsSync(target())).toBe(false)
    expect(readdirSync(target('.'))).toEqual([])
  })

  test('taken while a daemon writes and rotates is sound, without partial appends', async () => {
    const { journal } = await open({ snapshotEvery: 3, segmentBytes: 1_000 })
    let isDone = false
    const writing = (async () => {
      for (let n = 0; !isDone; n += 1)
        await journal.append(scheduled(`a-${n}`), scheduled(`b-${n}`))
    })()
    let records = 0
    for (let n = 0; n < 5; n += 1) {
      const proof = await backUp(dir, target(`live-${n}`), KEY)
      expect(proof.records).toBeGreaterThan(records)
      records = proof.records
      const copied = await proveState(target(`live-${n}`), { key: KEY })
      expect([isSound(copied), copied.tornBytes, copied.records % 2]).toEqual([true, 0, 0])
    }
    isDone = true
    await writing
  })
})

describe('restoring', () => {
  const backup = (): string => join(dir, '..', 'backup.tar')
  const restore = (more: { replace?: boolean } = {}) =>
    restoreState(backup(), dir, { key: KEY, replace: false, nowMs: NOW_MS, ...more })

  beforeEach(async () => {
    await backUp(dir, backup(), KEY)
  })

  test('stopped at any point leaves the state unchanged', async () => {
    const backup = join(temporaryDirectory(), 'monday.tar')
    await backUp(dir, backup, KEY)
    await trade(3_000)
    const before = everything()
    let stops = 0
    for (let at = 1; ; at += 1) {
      const options = { key: KEY, replace: true, nowMs: NOW_MS, signal: stoppingAt(at) }
      const made = await restoreState(backup, dir, options).catch(String)
      if (made !== 'Error: stopped') break
      stops += 1
      expect(everything()).toEqual(before)
      expect(readdirSync(dir).sort()).toEqual(['journal', 'state.json'])
    }
    expect(stops).toBeGreaterThan(4)
    expect((await proveState(dir, { key: KEY })).records).toBe(8)
  })

  test('that was killed leaves only files that the next start removes', async () => {
    mkdirSync(join(dir, 'restore.tmp/state'), { recursive: true })
    writeFileSync(join(dir, 'restore.tmp/state/state.json'), '{"begun')
    const { close } = await open()
    await close()
    expect(readdirSync(dir).sort()).toEqual(['journal', 'state.json'])
  })

  test('into an empty directory copies the backup', async () => {
    const before = everything()
    rmSync(dir, { recursive: true })
    mkdirSync(dir)
    const { movedTo, loss, objection } = await restore()
    expect([movedTo, loss, objection]).toEqual([undefined, undefined, undefined])
    expect(everything()).toEqual(before)
    expect((await open()).warnings).toEqual([])
  })

  test('refuses to replace sound state, newer or not, and reports the loss', async () => {
    expect((await restore()).objection).toContain('what is here is sound and goes up to record 8')
    await trade(2_600)
    const before = everything()
    const { objection, loss, movedTo } = await restore()
    expect(objection).toContain('what is here is sound, and newer: the backup goes up to record 8')
    expect(loss).toMatchObject({ from: 9, to: 14, authorizations: 1 })
    expect(movedTo).toBeUndefined()
    expect(everything()).toEqual(before)
  })

  test('with `replace` replaces the state and keeps the old files', async () => {
    await trade(2_600)
    const before = everything()
    const { movedTo = '' } = await restore({ replace: true })
    expect(movedTo).toBe(join(dir, 'before-restore-20270102T030405Z'))
    expect(everything(movedTo)).toEqual(before)
    expect(await proveState(dir, { key: KEY })).toMatchObject({ records: 8, snapshotSeq: 8 })
    expect((await open()).warnings).toEqual([])
  })

  test('suggests a rebuild if state.json is damaged and the journal intact', async () => {
    await trade(2_600)
    writeFileSync(snapshot(), '')
    expect((await restore()).objection).toContain('`tranched state rebuild` loses nothing')
  })

  test('refuses to replace a damaged journal that is newer', async () => {
    await trade(2_600)
    const [last = ''] = readdirSync(join(dir, 'journal')).sort().slice(-1)
    appendFileSync(join(dir, 'journal', last), 'invalid\n')
    expect(await restore()).toMatchObject({
      objection: expect.stringContaining('what is here is damaged and yet newer'),
      loss: { from: 9, to: 14 },
    })
  })

  test('replaces a journal that lost the backed-up records without confirmation', async () => {
    rmSync(join(dir, 'journal'), { recursive: true })
    const { objection, movedTo } = await restore()
    expect([objection, movedTo]).toEqual([undefined, join(dir, 'before-restore-20270102T030405Z')])
    expect(isSound(await proveState(dir, { key: KEY }))).toBe(true)
  })

  test.each([
    [
      'is cut short',
      (file: string) => truncateSync(file, 1_500),
      /it is cut short|use another backup/,
    ],
    [
      'is not a backup',
      (file: string) => writeFileSync(file, 'x'.repeat(2_000)),
      /it is no backup/,
    ],
    ['does not exist', (file: string) => rmSync(file), /there is no such backup/],
  ])('refuses a backup that %s', async (_, damage, says) => {
    await trade(2_600)
    const before = everything()
    damage(backup())
    await expect(restore({ replace: true })).rejects.toThrow(says)
    expect(everything()).toEqual(before)
  })

  test('refuses a backup of another wallet, and an archive with other files', async () => {
    const other = deriveJournalKey(new Uint8Array(32).fill(8))
    await expect(
      restoreState(backup(), dir, { key: other, replace: true, nowMs: NOW_MS }),
    ).rejects.toThrow(/belongs to wallet|was not written by/)
    const evil = join(dir, '..', 'evil')
    mkdirSync(evil)
    writeFileSync(join(evil, 'lock'), 'x')
    execFileSync('tar', ['--format=ustar', '-cf', `${evil}.tar`, '-C', evil, 'lock'])
    await expect(
      restoreState(`${evil}.tar`, dir, { key: KEY, replace: true, nowMs: NOW_MS }),
    ).rejects.toThrow(/it holds "lock", which is no part of a state/)
  })

  test('interrupted by a crash never looks like a first start', async () => {
    await trade(2_600)
    const whole = everything()
    // In the order of the steps: the backup's snapshot, no journal, then its journal.
    const steps = [
      () => cpSync(join(dir, '..', 'made/state.json'), snapshot()),
      () => rmSync(join(dir, 'journal'), { recursive: true }),
    ]
    mkdirSync(join(dir, '..', 'made'))
    execFileSync('tar', ['-xf', backup(), '-C', join(dir, '..', 'made')])
    steps[0]?.()
    const first = await open()
    expect(first.firstStart).toBe(false)
    expect((await readJournal(dir)).state.strategies.get('weekly-eth')?.fills).toBe(2)
    await first.close()
    steps[1]?.()
    await expect(open()).rejects.toThrow(/journal: it is missing although there is a state.json/)
    expect(Object.keys(whole).length).toBeGreaterThan(1)
  })
})
