import { appendFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSweepFile } from '../../../src/backtest/sweep/sweep-file.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const DIGEST = 'ab'.repeat(32)
const figures = (key: string) => {
  return { key, returnPercent: -1.5, drawdownPercent: null, fills: 3, fault: null }
}
const nowMs = Date.now()

test('kept figures survive reopening, except a truncated line', () => {
  const dir = join(temporaryDirectory(), 'deep/sweeps')
  const first = openSweepFile(dir, DIGEST, nowMs)
  expect(first.kept.size).toBe(0)
  first.keep(figures('a'))
  first.keep(figures('b'))
  const file = join(dir, `${DIGEST}.jsonl`)
  appendFileSync(file, '{"key":"c","returnPer')
  const second = openSweepFile(dir, DIGEST, nowMs)
  expect([...second.kept.values()]).toEqual([figures('a'), figures('b')])
  second.keep(figures('c'))
  expect([...openSweepFile(dir, DIGEST, nowMs).kept.keys()]).toEqual(['a', 'b', 'c'])
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(openSweepFile(dir, 'cd'.repeat(32), nowMs).kept.size).toBe(0)
})

test('a finished sweep leaves no file, and an abandoned sweep expires after 30 days', () => {
  const dir = temporaryDirectory()
  const kept = openSweepFile(dir, DIGEST, nowMs)
  kept.keep(figures('a'))
  writeFileSync(join(dir, 'mine.txt'), 'not of a sweep')
  const monthsAgo = (nowMs - 40 * 86_400_000) / 1000
  utimesSync(join(dir, 'mine.txt'), monthsAgo, monthsAgo)
  utimesSync(join(dir, `${DIGEST}.jsonl`), monthsAgo, monthsAgo)
  const other = openSweepFile(dir, 'cd'.repeat(32), nowMs)
  expect(readdirSync(dir).toSorted()).toEqual([`${'cd'.repeat(32)}.jsonl`, 'mine.txt'])
  other.remove()
  expect(readdirSync(dir)).toEqual(['mine.txt'])
})
