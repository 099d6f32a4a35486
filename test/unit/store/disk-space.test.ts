import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { inspectDisk } from '../../../src/system/disk-space.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

test('a disk is measured with test writes that leave no file', async () => {
  const dir = temporaryDirectory()
  let nowMs = 0
  const times = [1, 1, 9]
  const clock = () => {
    nowMs += times[nowMs % times.length] ?? 0
    return nowMs
  }
  const { freeBytes, writes } = await inspectDisk(dir, clock)
  expect(freeBytes).toBeGreaterThan(0)
  expect(writes).toMatchObject({ ok: true })
  if (writes?.ok) expect(writes.worstMs).toBeGreaterThanOrEqual(writes.medianMs)
  expect(readdirSync(dir)).toEqual([])
})

test('a missing directory is not created, and the free space of its parent is returned', async () => {
  const dir = temporaryDirectory()
  const { freeBytes, writes } = await inspectDisk(join(dir, 'not/there'), () => 0)
  expect([writes, freeBytes > 0]).toEqual([undefined, true])
  expect(readdirSync(dir)).toEqual([])
})
