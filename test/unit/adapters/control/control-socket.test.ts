import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  askControl,
  controlPath,
  serveControl,
} from '../../../../src/adapters/control/control-socket.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'

test('a state directory whose path is too long for a socket has its socket all the same', async () => {
  const dir = join(temporaryDirectory(), 'long'.repeat(30), 'state')
  mkdirSync(dir, { recursive: true })
  const path = controlPath(dir)
  expect(Buffer.byteLength(path)).toBeGreaterThan(120)
  const before = readdirSync(tmpdir()).filter((name) => /^tranched-\w{6}$/.test(name))
  const server = await serveControl(path, async ({ command }) => ({ ok: true, result: command }))
  try {
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(await askControl(path, { command: 'halt' }, 2_000)).toEqual({
      tag: 'answered',
      answer: { ok: true, result: 'halt' },
    })
  } finally {
    await server.close()
  }
  expect(existsSync(path)).toBe(false)
  expect(await askControl(path, { command: 'halt' }, 2_000)).toEqual({ tag: 'absent' })
  const after = readdirSync(tmpdir()).filter((name) => /^tranched-\w{6}$/.test(name))
  expect(after.filter((name) => !before.includes(name))).toEqual([])
})
