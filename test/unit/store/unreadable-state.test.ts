import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readAnchor } from '../../../src/store/anchor/anchor-file.ts'
import { readRecords } from '../../../src/store/file/journal-reader.ts'
import { SnapshotFile } from '../../../src/store/file/snapshot.ts'
import { unreadableState } from '../../../src/store/file/state-faults.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const MADE: Readonly<Record<string, (file: string) => void>> = {
  'a directory': (file) => mkdirSync(file),
  'a pipe without a writer': (file) => void execFileSync('mkfifo', [file]),
}

describe.each(Object.entries(MADE))('%s in place of a state file', (_, make) => {
  test('is reported with its name and remedy, without waiting', async () => {
    const file = join(temporaryDirectory(), 'state.json')
    make(file)
    await expect(new SnapshotFile(file).read()).rejects.toThrow(
      `${file}: this is not a regular file. Put what is there aside`,
    )
    const segments = [{ file, firstSeq: 1 }]
    const options = { start: { seq: 0, hash: undefined }, bytes: 10 }
    await expect(readRecords(segments, options).next()).rejects.toThrow(
      `${file}: this is not a regular file. Put what is there aside`,
    )
    await expect(readAnchor(file)).rejects.toThrow(/^(?:EISDIR|ENOTREG)/)
  })
})

test('a failing disk is reported with the unreadable file', () => {
  const error = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
  expect(`${unreadableState('/state/state.json', error)}`).toMatch(
    /\/state\/state\.json: it cannot be read \(EIO\)\. Repair the disk first/,
  )
})
