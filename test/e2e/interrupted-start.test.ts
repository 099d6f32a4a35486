import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { run } from '../support/process/cli.ts'
import { freePort } from '../support/process/programs.ts'
import { serve } from '../support/process/serve.ts'
import { waitFor } from '../support/wait-for.ts'
import { everySecond, redirect, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

test('SIGHUP during the start reloads once the daemon is ready, and never ends it', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const daemon = rehearsal.daemon()
  // At the first sign of life, its lock, long before it is ready.
  await daemon.sees(/state in/)
  daemon.signal('SIGHUP')
  await daemon.sees(/SIGHUP: reading config and strategy files/)
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
})

test('SIGTERM ends the daemon cleanly as soon as it holds its directory, also after a SIGHUP', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const lock = join(rehearsal.stateDir, 'lock')
  const daemon = rehearsal.daemon()
  await waitFor('a lock', () => existsSync(lock))
  daemon.signal('SIGHUP')
  daemon.signal('SIGTERM')
  const { code, signal, stderr } = await daemon.ended()
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  expect(existsSync(lock)).toBe(false)
})

test('a start that waits for the service keeps its lock and its anchor', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { config, report } = rehearsal
  const before = rehearsal.daemon()
  await before.sees(/filled buy-weth/)
  expect((await before.stop()).code).toBe(0)
  redirect(config, { gaslessUrl: await serve(async () => undefined), rpcUrl: report.rpcUrl })
  const port = await freePort()
  rehearsal.daemon(['--http-port', `${port}`])
  const bars = async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    return [...text.matchAll(/^tranched_barred\{what="([\w-]+)"\} (\d)$/gm)].map(
      ([, what, is]) => `${what} ${is}`,
    )
  }
  const first = await waitFor('three bars', bars, ({ length }) => length === 3)
  expect(first).toEqual(['lock 0', 'anchor 0', 'halt-file 0'])
})

test('a start without a node is told by status and doctor, with the node as its reason', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { config, report } = rehearsal
  const port = await freePort()
  const dead = `http://127.0.0.1:${await freePort()}`
  redirect(config, { gaslessUrl: report.gaslessUrl, rpcUrl: dead })
  writeFileSync(config, stringify({ ...parse(readFileSync(config, 'utf8')), http: { port } }))
  const daemon = rehearsal.daemon(['--http-port', `${port}`])
  await daemon.sees(/chain failure while identifying the chain/)
  const told = async (command: string) => (await run([command, '--config', config])).stdout
  const status = await waitFor(
    'a status',
    () => told('status'),
    (text) => text.includes('NOT READY'),
  )
  expect(status).toContain('NOT READY: starting\n')
  expect(status).toContain('NOT READY: a node of chain base did not answer (connection failed)\n')
  expect(status).not.toContain('hung')
  expect(await told('doctor')).toMatch(
    /warn {2}process \d+ runs and is not ready: starting; a node of chain base did not answer \(connection failed\)/,
  )
})

test('a slot that waits for a silent node is shown by status since it was due', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { config, report } = rehearsal
  let isSilent = false
  const rpcUrl = await serve(async (request, response) => {
    const body = await text(request)
    if (isSilent) return void request.socket.destroy()
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(report.rpcUrl, { method: 'POST', headers, body })
    response.writeHead(200, headers).end(await reply.text())
  })
  redirect(config, { gaslessUrl: report.gaslessUrl, rpcUrl })
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  isSilent = true
  const told = async () => (await run(['status', '--config', config])).stdout
  const status = await waitFor('a waiting slot', told, (shown) => shown.includes('waits, due'))
  expect(status).toContain('NOT READY: a node of chain base did not answer (connection failed)')
  isSilent = false
  await waitFor('no waiting slot', told, (shown) => /buy-weth .* in \ds /.test(shown))
  expect((await daemon.stop()).code).toBe(0)
})

/** Mounts a file system of this many bytes for the rest of the test; false where this user may mount none. */
function smallDisk(dir: string, bytes: number): boolean {
  mkdirSync(dir, { recursive: true })
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=700`, 'tmpfs', dir])
  if (mounted.status !== 0) return false
  onTestFinished(() => void spawnSync('umount', ['-l', dir]))
  return true
}

test('a full disk ends the daemon with the full path and a remedy, without a stack trace', async ({
  skip,
}) => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { stateDir } = rehearsal
  if (!smallDisk(stateDir, 512 * 1024)) return skip('no file system can be mounted here')
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  fill(join(stateDir, 'filler'))
  const { code, stdout, stderr } = await daemon.ended()
  expect(code).toBe(1)
  expect(stderr).toContain('journal: the disk is full (ENOSPC')
  expect(stderr).toMatch(/Nothing was signed without a record on disk.*make room on the file/)
  expect(stderr).not.toMatch(/^\s+at /m)
  expect(stdout).toMatch(/"event":"disk-failed"/)
  // The kill switch needs no disk space beyond a name.
  const halted = await run(['halt', '--state-dir', stateDir])
  expect(halted.code).toBe(0)
  expect(halted.stdout).toContain(`${join(stateDir, 'HALT')} is in place`)
})

/** A disk with space for a lock but not for the journal. */
const FULL = `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
const { open } = fs.promises
fs.promises.open = async (file, ...given) => {
  const handle = await open(file, ...given)
  const write = async () => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC', syscall: 'write' })
  }
  return String(file).endsWith('.jsonl') ? Object.assign(handle, { write }) : handle
}
syncBuiltinESMExports()
`

test('a command on a full disk prints the full path and a remedy, without a stack trace', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { dir, config, stateDir } = rehearsal
  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  expect((await daemon.stop()).code).toBe(0)
  const full = join(dir, 'full.mjs')
  writeFileSync(full, FULL)
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(full)}` }
  const paused = await run(['pause', 'buy-weth', '--config', config], { env })
  expect(paused.stderr).toContain('journal: the disk is full (ENOSPC')
  expect(paused.stderr).not.toMatch(/^\s+at /m)
  expect(paused.code).toBe(1)
  expect(existsSync(join(stateDir, 'lock'))).toBe(false)
})

/** Writes until the disk is full. */
function fill(file: string): void {
  expect(() => {
    for (;;) appendFileSync(file, Buffer.alloc(4_096))
  }).toThrow('ENOSPC')
}
