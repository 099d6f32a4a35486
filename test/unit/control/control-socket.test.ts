import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { askControl, controlPath } from '../../../src/control/ask-control.ts'
import { type ControlRequest, serveControl } from '../../../src/control/control-socket.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

test('a state directory with a path too long for a socket still gets its socket', async () => {
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

const INTENT = 'weekly-eth:1893488400:0'
const TX: `0x${string}` = `0x${'7e'.repeat(32)}`

/** The parsed form of each request, as the daemon receives it. */
async function parsed(requests: readonly object[]): Promise<readonly unknown[]> {
  const path = controlPath(temporaryDirectory())
  const server = await serveControl(path, async (request) => ({ ok: true, result: request }))
  const answers: unknown[] = []
  try {
    for (const request of requests) {
      const reply = await askControl(path, request as ControlRequest, 2_000)
      if (reply.tag !== 'answered') throw new Error('no answer')
      answers.push(reply.answer.ok ? reply.answer.result : reply.answer.detail)
    }
  } finally {
    await server.close()
  }
  return answers
}

test('a complete request arrives unchanged', async () => {
  const requests: readonly ControlRequest[] = [
    { command: 'pause' },
    { command: 'pause', strategy: 'weekly-eth' },
    { command: 'trigger', strategy: 'weekly-eth' },
    { command: 'approve', name: 'weekly-eth' },
    { command: 'inspect', intent: INTENT },
    { command: 'inspect', intent: INTENT, tx: TX },
    { command: 'settle', intent: INTENT, attempt: 2, as: 'dead' },
    { command: 'settle', intent: INTENT, attempt: 2, as: 'executed', tx: TX },
  ]
  expect(await parsed(requests)).toEqual(requests)
})

test('an incomplete or mixed request is rejected', async () => {
  const settle = { command: 'settle', intent: INTENT, attempt: 2, as: 'dead' }
  const requests = [
    {},
    { command: 'stop' },
    { command: 'toString' },
    { command: 'halt', strategy: 'weekly-eth' },
    { command: 'trigger' },
    { command: 'pause', strategy: 7 },
    { command: 'pause', intent: INTENT },
    { command: 'approve' },
    { command: 'approve', strategy: 'weekly-eth' },
    { command: 'inspect' },
    { command: 'inspect', intent: INTENT, tx: '0x7e' },
    { ...settle, attempt: undefined },
    { ...settle, attempt: '2' },
    { ...settle, as: undefined },
    { ...settle, as: 'lost' },
    { ...settle, tx: 'unknown' },
    { ...settle, strategy: 'weekly-eth' },
  ]
  const unread = 'the request could not be read'
  expect(await parsed(requests)).toEqual(requests.map(() => unread))
})
