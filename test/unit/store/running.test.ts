import { fork, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { controlPath, serveControl } from '../../../src/control/control-socket.ts'
import { boundSockets, heldDirectories, lsofLocks } from '../../../src/control/running-daemons.ts'
import { acquireLock } from '../../../src/store/lock/state-lock.ts'
import { childScript, killHard, messageFrom } from '../../support/process/child-script.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const HOLDER = { pid: process.pid, command: 'tranched run', startedAtMs: 1_800_000_000_000 }
afterEach(() => void vi.unstubAllEnvs())

const heldIn = (dir: string) => heldDirectories().filter((each) => each.dir === dir)

test('a directory that is held is known for as long as it is, with what its holder says of itself', async () => {
  const dir = temporaryDirectory()
  const said = { ...HOLDER, config: '/etc/tranched/live.yaml', mode: 'live' } as const
  const lock = await acquireLock(dir, said)
  expect(heldIn(dir)).toMatchObject([said])
  lock.release()
  expect(heldIn(dir)).toEqual([])
})

test('one whose holder was killed is not, though its claim is still there', async () => {
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

test('one of another container is known by its open lock, and not by a claim or a socket that is left', async () => {
  const dir = temporaryDirectory()
  const file = join(dir, 'lock')
  const lock = await acquireLock(dir, HOLDER)
  const claim = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, `\n${JSON.stringify({ ...claim, namespace: 'pid:[1]' })}\n`)
  expect(heldIn(dir)).toMatchObject([{ standing: 'unknown' }])
  lock.release()
  writeFileSync(file, `\n${JSON.stringify({ ...claim, namespace: 'pid:[1]' })}\n`)
  const socket = await serveControl(controlPath(dir), async () => ({ ok: true, result: {} }))
  expect(heldIn(dir)).toEqual([])
  writeFileSync(file, `\n${JSON.stringify(claim)}\n`)
  expect(heldIn(dir)).toMatchObject([{ standing: 'alive' }])
  await socket.close()
  expect(heldIn(dir)).toEqual([])
})

test('files of that name that other programs hold open are none, nor is a pipe waited for', async () => {
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

test('a control socket is known to the network namespace, whoever may look at the files of its process', async () => {
  const dir = temporaryDirectory()
  const socket = await serveControl(controlPath(dir), async () => ({ ok: true, result: {} }))
  expect(boundSockets()).toContain(controlPath(dir))
  await socket.close()
  expect(boundSockets()).not.toContain(controlPath(dir))
})

test('without /proc the open files are those that lsof names, and without that it is said', () => {
  const bin = temporaryDirectory()
  const held = join(temporaryDirectory(), 'lock')
  const fields = ['p4711', 'f3', `n${held}`, 'f4', 'n/var/log/other', 'f5', 'nTCP 127.0.0.1:9464']
  writeFileSync(join(bin, 'lsof'), `#!/bin/sh\nprintf '%s\\n' '${fields.join("' '")}'\n`, {
    mode: 0o755,
  })
  vi.stubEnv('PATH', bin)
  expect(lsofLocks()).toEqual([held])
  writeFileSync(join(bin, 'lsof'), '#!/bin/sh\nexit 1\n')
  expect(() => lsofLocks()).toThrow('cannot be asked: lsof names no file')
  vi.stubEnv('PATH', temporaryDirectory())
  expect(() => lsofLocks()).toThrow(/^which files are open cannot be asked: .*lsof/)
})

test('a link to a directory is the directory', async () => {
  const dir = temporaryDirectory()
  symlinkSync(dir, `${dir}-link`)
  onTestFinished(() => void spawnSync('rm', [`${dir}-link`]))
  const lock = await acquireLock(`${dir}-link`, HOLDER)
  expect(heldIn(dir)).toHaveLength(1)
  lock.release()
})
