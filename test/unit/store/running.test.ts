import { fork, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { controlPath } from '../../../src/control/ask-control.ts'
import { serveControl } from '../../../src/control/control-socket.ts'
import { boundSockets, heldDirectories, lsofLocks } from '../../../src/control/running-daemons.ts'
import { acquireLock } from '../../../src/store/lock/state-lock.ts'
import { childScript, killHard, messageFrom } from '../../support/process/child-script.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const HOLDER = { pid: process.pid, command: 'tranched run', startedAtMs: 1_800_000_000_000 }
afterEach(() => void vi.unstubAllEnvs())

const heldIn = (dir: string) => heldDirectories().filter((each) => each.dir === dir)

test("a held directory is listed with its holder's details until it is released", async () => {
  const dir = temporaryDirectory()
  const details = { ...HOLDER, config: '/etc/tranched/live.yaml', mode: 'live' } as const
  const lock = await acquireLock(dir, details)
  expect(heldIn(dir)).toMatchObject([details])
  lock.release()
  expect(heldIn(dir)).toEqual([])
})

test('a directory whose holder was killed is not listed, even with its claim left', async () => {
  const dir = temporaryDirectory()
  const script = await childScript('test/support/process/lock-contender.ts')
  const child = script(dir)
  expect(await messageFrom(child)).toBe('ready')
  child.send(0)
  expect(await messageFrom(child)).toBe('held')
  expect(heldIn(dir)).toMatchObject([{ pid: child.pid }])
  await killHard(child)
  expect(existsSync(join(dir, 'lock'))).toBe(true)
  expect(heldIn(dir)).toEqual([])
})

test('a directory of another container is listed by its open lock, not by a leftover claim or socket', async () => {
  const dir = temporaryDirectory()
  const file = join(dir, 'lock')
  const lock = await acquireLock(dir, HOLDER)
  const claim = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, `\n${JSON.stringify({ ...claim, namespace: 'pid:[1]' })}\n`)
  expect(heldIn(dir)).toMatchObject([{ status: 'unknown' }])
  lock.release()
  writeFileSync(file, `\n${JSON.stringify({ ...claim, namespace: 'pid:[1]' })}\n`)
  const socket = await serveControl(controlPath(dir), async () => ({ ok: true, result: {} }))
  expect(heldIn(dir)).toEqual([])
  writeFileSync(file, `\n${JSON.stringify(claim)}\n`)
  expect(heldIn(dir)).toMatchObject([{ status: 'alive' }])
  await socket.close()
  expect(heldIn(dir)).toEqual([])
})

test('lock files of other programs are ignored, and a pipe does not block the search', async () => {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'other'))
  writeFileSync(join(dir, 'other/lock'), 'not json\n')
  expect(spawnSync('mkfifo', [join(dir, 'lock')]).status).toBe(0)
  const file = join(dir, 'holds.cjs')
  writeFileSync(
    file,
    `const fs = require('node:fs')
    for (const each of ['lock', 'other/lock']) fs.openSync(process.argv[2] + '/' + each, 'r+')
    process.send('open')
    setInterval(() => undefined, 1000)`,
  )
  const child = fork(file, [dir], { execArgv: [] })
  onTestFinished(() => void child.kill('SIGKILL'))
  expect(await messageFrom(child)).toBe('open')
  const found = heldDirectories().map((each) => each.dir)
  expect(found.filter((each) => each.startsWith(dir))).toEqual([])
})

test('a control socket is found through the network namespace', async () => {
  const dir = temporaryDirectory()
  const socket = await serveControl(controlPath(dir), async () => ({ ok: true, result: {} }))
  expect(boundSockets()).toContain(controlPath(dir))
  await socket.close()
  expect(boundSockets()).not.toContain(controlPath(dir))
})

test('without /proc open files come from lsof, and a failing lsof is an error', () => {
  const bin = temporaryDirectory()
  const held = join(temporaryDirectory(), 'lock')
  const fields = ['p4711', 'f3', `n${held}`, 'f4', 'n/var/log/other', 'f5', 'nTCP 127.0.0.1:9464']
  writeFileSync(join(bin, 'lsof'), `#!/bin/sh\nprintf '%s\\n' '${fields.join("' '")}'\n`, {
    mode: 0o755,
  })
  vi.stubEnv('PATH', bin)
  expect(lsofLocks()).toEqual([held])
  writeFileSync(join(bin, 'lsof'), '#!/bin/sh\nexit 1\n')
  expect(() => lsofLocks()).toThrow('cannot be listed: lsof names no file')
  vi.stubEnv('PATH', temporaryDirectory())
  expect(() => lsofLocks()).toThrow(/^the open files cannot be listed: .*lsof/)
})

test('a link to a directory is resolved to the directory', async () => {
  const dir = temporaryDirectory()
  symlinkSync(dir, `${dir}-link`)
  onTestFinished(() => void spawnSync('rm', [`${dir}-link`]))
  const lock = await acquireLock(`${dir}-link`, HOLDER)
  expect(heldIn(dir)).toHaveLength(1)
  lock.release()
})
