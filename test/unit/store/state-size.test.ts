import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stateSize } from '../../../src/store/maintenance/state-size.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

test('the sizes of journal, snapshot and other files are separate', async () => {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'journal'))
  writeFileSync(join(dir, 'journal', '000000000001.jsonl'), 'x'.repeat(30))
  writeFileSync(join(dir, 'journal', '000000000002.jsonl'), 'x'.repeat(12))
  writeFileSync(join(dir, 'state.json'), 'x'.repeat(7))
  writeFileSync(join(dir, 'lock'), 'x'.repeat(5))
  expect(await stateSize(dir)).toEqual({ journal: 42, snapshot: 7, other: 5 })
})

test('a missing directory has size zero, and an unreadable one no size', async () => {
  const dir = temporaryDirectory()
  expect(await stateSize(join(dir, 'nowhere'))).toEqual({ journal: 0, snapshot: 0, other: 0 })
  writeFileSync(join(dir, 'file'), '')
  await expect(stateSize(join(dir, 'file'))).rejects.toThrow()
})
